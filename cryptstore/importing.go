package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"memento"
)

// Import implements [memento.Backend]. Versions are sealed under the IDs that they have.
func (b *Backend) Import(ctx context.Context, store memento.StoreID, versions []memento.Version) error {
	const op = "import"
	// No envelope is compared below, so nothing is left to what was known a moment ago.
	k, err := b.toWriteNow(ctx, op, store)
	if err != nil {
		return err
	}
	if k.names != nil {
		if err := b.checkRules(ctx, k, versions); err != nil {
			return err
		}
	}
	sealed := make([]memento.Version, len(versions))
	for i, v := range versions {
		if sealed[i], err = k.sealVersion(v); err != nil {
			return &memento.Error{Op: op, Path: v.Path, Err: err}
		}
	}
	return b.fail(k, b.inner.Import(ctx, store, sealed))
}

// sealVersion returns a version as it is kept. What is wrong with it is for the
// backend below to say, which does so of what it is given instead.
func (k *keys) sealVersion(v memento.Version) (_ memento.Version, err error) {
	if v.Digest != "" {
		return v, fmt.Errorf("%w: contents that another wrapper has sealed", memento.ErrUnsupported)
	}
	text := v.Content
	v.Content = "" // no plaintext goes further
	switch {
	case v.Redacted():
		v.Path = ""
		return v, nil
	case v.Operation != memento.Deleted:
		switch {
		case !utf8.ValidString(text):
			v.Content = "\xff"
		case v.SHA256 != memento.HashContent(text):
			v.SHA256 = "another"
		default:
			if v.Content, err = k.seal(v.Memory, v.ID, text); err != nil {
				return v, err
			}
			v.Digest, v.Size, v.SHA256 = k.digest(v.SHA256), int64(len(text)), memento.HashContent(v.Content)
		}
	}
	v.Path, err = k.keep(v.Path)
	return v, err
}

// checkRules checks what a store whose names are encrypted must not be told by its
// backend: which paths are protected, and how long and deep they may be. Settings
// that change at the same moment are not seen.
func (b *Backend) checkRules(ctx context.Context, k *keys, versions []memento.Version) error {
	const op = "import"
	_, now, err := b.describe(ctx, k.store)
	if err != nil {
		return b.fail(k, err)
	}
	at := map[memento.MemoryID]memento.Path{}
	for _, v := range versions {
		before, known := at[v.Memory]
		if !known && len(now.Settings.ReadOnly) > 0 {
			m, err := b.inner.Get(ctx, k.store, memento.Ref{ID: v.Memory})
			if err != nil && !errors.Is(err, memento.ErrNotExist) {
				return b.fail(k, err)
			}
			if before, err = k.clear(m.Path); err != nil {
				return err
			}
		}
		after := v.Path
		if v.Redacted() || v.Operation == memento.Deleted {
			after = ""
		}
		at[v.Memory] = after
		for _, p := range []memento.Path{before, after} {
			for _, g := range now.Settings.ReadOnly {
				if p != "" && g.Match(p) {
					return &memento.Error{Op: op, Path: p, Err: memento.ErrProtected}
				}
			}
		}
		if err := limited(now.Limits, after); after != "" && after != before && err != nil {
			return &memento.Error{Op: op, Path: after, Err: err}
		}
	}
	return nil
}

func limited(l memento.Limits, p memento.Path) error {
	if n := int64(len(p)); n > l.PathBytes {
		return &memento.LimitError{Limit: memento.LimitPathBytes, Max: l.PathBytes, Want: n}
	}
	if n := int64(p.Depth()); n > l.PathDepth {
		return &memento.LimitError{Limit: memento.LimitPathDepth, Max: l.PathDepth, Want: n}
	}
	return nil
}
