package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
	"memento/backend"
)

// Get implements [memento.Backend].
//
// Further errors: memento.ErrDecrypt.
func (b *Backend) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	k, err := b.keysForReading(ctx, op, store)
	if err != nil {
		return memento.Memory{}, err
	}
	kept := ref
	kept.Path = k.encryptPathForLookup(ref.Path)
	clears := b.texts.Clears()
	m, err := b.inner.Get(ctx, store, kept)
	if err != nil {
		return memento.Memory{}, b.fail(k, err)
	}
	clear, err := b.decryptMemory(ctx, op, &k, m, clears)
	return clear, b.fail(k, err)
}

// GetCached implements [memento.CachedReader], for backends below that do.
func (b *Backend) GetCached(store memento.StoreID, ref memento.Ref) (m memento.Memory, known bool) {
	cachedReader, ok := b.inner.(memento.CachedReader)
	e, cached := b.keyCache.get(store)
	if !ok || !cached || time.Since(e.checked) >= maxKeyAge {
		return m, false
	}
	ref.Path = e.keys.encryptPathForLookup(ref.Path)
	clears := b.texts.Clears()
	if m, known = cachedReader.GetCached(store, ref); !known {
		return m, false
	}
	text, hash, by, err := b.cachedDecryptText(e.keys, m.ID, m.Content, m.Digest, m.Size, clears)
	if err != nil || by != m.Version { // the memory may have been renamed, which Get checks
		return memento.Memory{}, false
	}
	m, err = e.keys.memoryWithContents(m, text, hash)
	return m, err == nil
}

// decryptMemory returns a memory with decrypted contents. If that needs newer keys than k,
// k is set to those. clears is that of the text cache before the storage was read.
func (b *Backend) decryptMemory(ctx context.Context, op string, k **keys, m memento.Memory, clears int64) (memento.Memory, error) {
	text, hash, by, err := b.cachedDecryptText(*k, m.ID, m.Content, m.Digest, m.Size, clears)
	if errors.Is(err, memento.ErrDecrypt) {
		if fresh, other := b.reloadKeys(ctx, op, *k); other {
			*k = fresh
			text, hash, by, err = b.cachedDecryptText(fresh, m.ID, m.Content, m.Digest, m.Size, clears)
		}
	}
	if err == nil && by != m.Version {
		err = b.checkMoved(ctx, *k, &m, by)
	}
	if err != nil {
		return memento.Memory{}, &memento.Error{Op: op, Path: m.Path, Err: err}
	}
	return (*k).memoryWithContents(m, text, hash)
}

// memoryWithContents returns a memory as users see it, with its contents.
func (k *keys) memoryWithContents(m memento.Memory, text, hash string) (_ memento.Memory, err error) {
	m.Content, m.SHA256, m.Digest = text, hash, ""
	m.Path, err = k.decryptPath(m.Path)
	return m, err
}

// memoryWithoutContents returns a memory without contents as users see it.
func (k *keys) memoryWithoutContents(m memento.Memory) (_ memento.Memory, err error) {
	if m.Digest != "" {
		m.SHA256, m.Digest = k.hash(m.Digest), ""
	}
	m.Path, err = k.decryptPath(m.Path)
	return m, err
}

// Apply implements [memento.Backend].
func (b *Backend) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	const op = "apply"
	for {
		k, err := b.keysForWriting(ctx, op, store)
		if err != nil {
			return memento.Applied{}, err
		}
		done, err := b.applyWithKeys(ctx, k, by, changes)
		if errors.Is(err, memento.ErrConflict) {
			if _, other := b.reloadKeys(ctx, op, k); other { // the store has other keys now
				continue
			}
		}
		return done, err
	}
}

// applyWithKeys is Apply with the keys that the store is expected to have.
func (b *Backend) applyWithKeys(ctx context.Context, k *keys, by memento.Actor, changes []memento.Change) (_ memento.Applied, err error) {
	seal := make([]sealer, len(changes))
	given := make([]memento.Change, len(changes))
	for i, c := range changes {
		seal[i].keys = k
		if given[i], err = k.sealChange(c, &seal[i]); err != nil {
			return memento.Applied{}, err
		}
	}
	clears := b.texts.Clears()
	done, err := b.inner.Apply(ctx, k.store, by, given)
	if err != nil {
		return memento.Applied{}, b.fail(k, err)
	}
	for i, v := range done.Versions {
		bare, err := k.versionWithoutContents(v)
		if err != nil {
			return memento.Applied{}, b.fail(k, err)
		}
		done.Versions[i] = bare
		// Versions are in the order of the changes. Not every change has encrypted
		// something.
		for len(seal) > 0 && seal[0].last.version == "" {
			seal = seal[1:]
		}
		if len(seal) > 0 && seal[0].last.version == v.ID {
			b.cacheWritten(k, &seal[0].last, &v, bare.SHA256, clears)
			seal = seal[1:]
		}
	}
	return done, nil
}

// sealChange returns a change for the inner backend.
func (k *keys) sealChange(c memento.Change, by *sealer) (_ memento.Change, err error) {
	switch is := c.(type) {
	case memento.Put:
		is.Path, err = k.encryptPath(is.Path)
		c = is
	case memento.Remove:
		is.Path = k.encryptPathForLookup(is.Path)
		c = is
	case memento.Move:
		is.From = k.encryptPathForLookup(is.From)
		is.To, err = k.encryptPath(is.To)
		c = is
	case backend.Sealed:
		return nil, &memento.Error{Op: "apply", Err: fmt.Errorf("%w: the contents are encrypted by another wrapper", memento.ErrUnsupported)}
	default:
		return c, nil // the inner backend refuses it
	}
	return backend.Sealed{Change: c, Sealing: backend.Sealing{By: by, Envelope: k.envelope}}, err
}
