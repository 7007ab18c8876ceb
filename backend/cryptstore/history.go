package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"memento"
)

// versionWithoutContents returns a version without contents as users see it.
func (k *keys) versionWithoutContents(v memento.Version) (_ memento.Version, err error) {
	if v.Digest != "" {
		v.SHA256, v.Digest = k.hash(v.Digest), ""
	}
	if v.Path, err = k.decryptPath(v.Path); err != nil { // the error names the version, so that it can be redacted
		return v, &memento.Error{Op: "decrypt name", Path: v.Path, Err: fmt.Errorf("version %s: %w", v.ID, errForeignName)}
	}
	return v, nil
}

// decryptVersion returns a version with decrypted contents. If that needs newer keys than
// k, k is set to those.
func (b *Backend) decryptVersion(ctx context.Context, op string, k **keys, v memento.Version) (memento.Version, error) {
	if v.Redacted() || v.Operation == memento.Deleted {
		if v.Content != "" {
			return memento.Version{}, &memento.Error{Op: op, Path: v.Path, Err: tampered("it should have no contents")}
		}
		return (*k).versionWithoutContents(v)
	}
	text, hash, by, err := (*k).decryptText(v.Memory, v.Content, v.Digest, v.Size)
	if errors.Is(err, memento.ErrDecrypt) {
		if fresh, other := b.reloadKeys(ctx, op, *k); other {
			*k = fresh
			text, hash, by, err = fresh.decryptText(v.Memory, v.Content, v.Digest, v.Size)
		}
	}
	if err == nil && by != v.ID {
		err = b.checkWriter(ctx, *k, &v, by)
	}
	if err != nil {
		return memento.Version{}, &memento.Error{Op: op, Path: v.Path, Err: err}
	}
	v.Content, v.SHA256, v.Digest = text, hash, ""
	v.Path, err = (*k).decryptPath(v.Path)
	return v, err
}

// GetVersion implements [memento.Backend].
//
// Further errors: memento.ErrDecrypt.
func (b *Backend) GetVersion(ctx context.Context, store memento.StoreID, id memento.VersionID) (memento.Version, error) {
	const op = "get version"
	k, err := b.keysForReading(ctx, op, store)
	if err != nil {
		return memento.Version{}, err
	}
	v, err := b.inner.GetVersion(ctx, store, id)
	if err != nil {
		return memento.Version{}, b.fail(k, err)
	}
	v, err = b.decryptVersion(ctx, op, &k, v)
	return v, b.fail(k, err)
}

// ListVersions implements [memento.Backend].
//
// Further errors: memento.ErrDecrypt.
func (b *Backend) ListVersions(ctx context.Context, store memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	const op = "list versions"
	return func(yield func(memento.Version, error) bool) {
		k, err := b.keysForReading(ctx, op, store)
		if err != nil {
			yield(memento.Version{}, err)
			return
		}
		opts.Path = k.encryptPathForLookup(opts.Path)
		for v, err := range b.inner.ListVersions(ctx, store, opts) {
			switch {
			case err != nil:
			case opts.Contents:
				v, err = b.decryptVersion(ctx, op, &k, v)
			default:
				v, err = k.versionWithoutContents(v)
			}
			if err != nil {
				yield(memento.Version{}, b.fail(k, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Redact implements [memento.Backend].
func (b *Backend) Redact(ctx context.Context, store memento.StoreID, id memento.VersionID, by memento.Actor) (memento.Version, error) {
	const op = "redact"
	k, err := b.keysForReading(ctx, op, store)
	if err != nil {
		return memento.Version{}, err
	}
	defer b.texts.Clear() // also if the result is unknown
	v, err := b.inner.Redact(ctx, store, id, by)
	if err != nil {
		return memento.Version{}, b.fail(k, err)
	}
	v, err = k.versionWithoutContents(v)
	return v, b.fail(k, err)
}

// Prune implements [memento.Backend].
func (b *Backend) Prune(ctx context.Context, store memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	if !opts.DryRun {
		defer b.texts.Clear()
	}
	return b.inner.Prune(ctx, store, opts)
}

// After a rename, the stored contents still name the version that wrote them, which is not
// the memory's newest. So a different version is only accepted if the history shows a
// rename. Otherwise an attacker who can write to the storage but not to its history could
// show an older text of the same memory. Checked renames are cached, so that a renamed
// directory is not checked again with every listing.
type moveCache struct {
	mu    sync.Mutex
	known map[move]struct{}
}

type move struct {
	store   memento.StoreID
	version memento.VersionID
	writer  memento.VersionID
	digest  string
}

const maxMoves = 1 << 16

func (s *moveCache) has(m move) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[m]
	return ok
}

func (s *moveCache) add(m move) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxMoves {
		s.known = map[move]struct{}{}
	}
	s.known[m] = struct{}{}
}

var errNotNewestText = tampered("it was not written by the newest version")

// checkMoved checks that a memory whose contents were written by an older version than its
// newest was really renamed since.
func (b *Backend) checkMoved(ctx context.Context, k *keys, m *memento.Memory, writer memento.VersionID) error {
	this := move{k.store, m.Version, writer, m.Digest}
	if b.checkedMoves.has(this) {
		return nil
	}
	v, err := b.inner.GetVersion(ctx, k.store, m.Version)
	switch {
	case errors.Is(err, memento.ErrNotExist), err == nil && v.Redacted():
		// Only a version that is no longer the newest can be missing or redacted.
		now, err := b.inner.Get(ctx, k.store, memento.ByID(m.ID))
		if err == nil && now.Version == m.Version {
			return errNotNewestText
		}
		if errors.Is(err, memento.ErrNotExist) {
			err = nil
		}
		return err
	case err != nil:
		return err
	case v.Memory != m.ID || v.Digest != m.Digest || v.SHA256 != m.SHA256:
		return errNotNewestText
	}
	if err := b.checkWriter(ctx, k, &v, writer); err != nil {
		return err
	}
	b.checkedMoves.add(this)
	return nil
}

// checkWriter checks that a version has the contents of an older version of its memory. The
// older version may have been removed.
func (b *Backend) checkWriter(ctx context.Context, k *keys, v *memento.Version, writer memento.VersionID) error {
	this := move{k.store, v.ID, writer, v.Digest}
	if b.checkedMoves.has(this) {
		return nil
	}
	if v.Operation != memento.Modified {
		return errNotNewestText
	}
	w, err := b.inner.GetVersion(ctx, k.store, writer)
	switch {
	case errors.Is(err, memento.ErrNotExist), err == nil && w.Redacted():
		return nil
	case err != nil:
		return err
	case w.Memory != v.Memory || w.Digest != v.Digest || w.SHA256 != v.SHA256 || w.Seq >= v.Seq:
		return errNotNewestText
	}
	b.checkedMoves.add(this)
	return nil
}
