package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"memento"
	"memento/backend"
)

// Import implements [memento.Backend]. Versions are encrypted under the IDs that they have.
func (b *Backend) Import(ctx context.Context, store memento.StoreID, versions []memento.Version) error {
	const op = "import"
	for {
		k, err := b.keysForWriting(ctx, op, store)
		if err != nil {
			return err
		}
		err = b.importWithKeys(ctx, op, k, versions)
		if errors.Is(err, memento.ErrConflict) {
			if _, other := b.reloadKeys(ctx, op, k); other { // the store has other keys now
				continue
			}
		}
		return err
	}
}

// importWithKeys is Import with the keys that the store is expected to have.
func (b *Backend) importWithKeys(ctx context.Context, op string, k *keys, versions []memento.Version) (err error) {
	sealed := make([]memento.Version, len(versions))
	for i, v := range versions {
		if sealed[i], err = k.sealVersion(v); err != nil {
			return &memento.Error{Op: op, Path: v.Path, Err: err}
		}
	}
	return b.fail(k, b.importer.ImportSealed(ctx, k.store, sealed, backend.Sealing{By: &sealer{keys: k}, Envelope: k.envelope}))
}

// sealVersion returns a version for the inner backend. If the version is invalid, it
// returns another invalid one without plaintext, so that the inner backend reports the
// error.
func (k *keys) sealVersion(v memento.Version) (_ memento.Version, err error) {
	if v.Digest != "" {
		return v, fmt.Errorf("%w: the contents are encrypted by another wrapper", memento.ErrUnsupported)
	}
	text := v.Content
	v.Content = "" // no plaintext is passed on
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
	v.Path, err = k.encryptPath(v.Path)
	return v, err
}
