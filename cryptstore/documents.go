package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
)

// Get implements [memento.Backend].
//
// Further errors: memento.ErrDecrypt.
func (b *Backend) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	k, err := b.toRead(ctx, op, store)
	if err != nil {
		return memento.Memory{}, err
	}
	kept := ref
	kept.Path = k.find(ref.Path)
	age := b.texts.age()
	m, err := b.inner.Get(ctx, store, kept)
	if err != nil {
		return memento.Memory{}, b.fail(k, err)
	}
	clear, err := b.openMemory(ctx, op, &k, m, age)
	return clear, b.fail(k, err)
}

// Recall implements [memento.Recaller], for backends below that do.
func (b *Backend) Recall(store memento.StoreID, ref memento.Ref) (m memento.Memory, known bool) {
	recaller, ok := b.inner.(memento.Recaller)
	e, cached := b.cache.get(store)
	if !ok || !cached || time.Since(e.checked) >= keysFor {
		return m, false
	}
	ref.Path = e.keys.find(ref.Path)
	age := b.texts.age()
	if m, known = recaller.Recall(store, ref); !known {
		return m, false
	}
	text, hash, by, err := b.open(e.keys, m.ID, m.Content, m.Digest, m.Size, age)
	if err != nil || by != m.Version { // one that was moved: Get looks whether it was
		return memento.Memory{}, false
	}
	m, err = e.keys.openedMemory(m, text, hash)
	return m, err == nil
}

// openMemory returns a memory with the contents that it has, sealed. If it takes
// newer keys than k, k becomes those. age is that of texts, from before the storage was
// asked.
func (b *Backend) openMemory(ctx context.Context, op string, k **keys, m memento.Memory, age int64) (memento.Memory, error) {
	text, hash, by, err := b.open(*k, m.ID, m.Content, m.Digest, m.Size, age)
	if errors.Is(err, memento.ErrDecrypt) {
		if fresh, other := b.reread(ctx, op, *k); other {
			*k = fresh
			text, hash, by, err = b.open(fresh, m.ID, m.Content, m.Digest, m.Size, age)
		}
	}
	if err == nil && by != m.Version {
		err = b.checkMoved(ctx, *k, &m, by)
	}
	if err != nil {
		return memento.Memory{}, &memento.Error{Op: op, Path: m.Path, Err: err}
	}
	return (*k).openedMemory(m, text, hash)
}

// openedMemory returns a memory as users see it, with its contents.
func (k *keys) openedMemory(m memento.Memory, text, hash string) (_ memento.Memory, err error) {
	m.Content, m.SHA256, m.Digest = text, hash, ""
	m.Path, err = k.clear(m.Path)
	return m, err
}

// bareMemory returns a memory that has no contents as users see it.
func (k *keys) bareMemory(m memento.Memory) (_ memento.Memory, err error) {
	if m.Digest != "" {
		m.SHA256, m.Digest = k.hash(m.Digest), ""
	}
	m.Path, err = k.clear(m.Path)
	return m, err
}

// Apply implements [memento.Backend].
func (b *Backend) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	const op = "apply"
	for {
		k, err := b.toWrite(ctx, op, store)
		if err != nil {
			return memento.Applied{}, err
		}
		done, err := b.applyBy(ctx, k, by, changes)
		if errors.Is(err, memento.ErrConflict) {
			if _, other := b.reread(ctx, op, k); other { // the store has other keys by now
				continue
			}
		}
		return done, err
	}
}

// applyBy is Apply with the keys that the store should have.
func (b *Backend) applyBy(ctx context.Context, k *keys, by memento.Actor, changes []memento.Change) (_ memento.Applied, err error) {
	seal := make([]sealer, len(changes))
	given := make([]memento.Change, len(changes))
	for i, c := range changes {
		seal[i].keys = k
		if given[i], err = k.sealed(c, &seal[i]); err != nil {
			return memento.Applied{}, err
		}
	}
	age := b.texts.age()
	done, err := b.inner.Apply(ctx, k.store, by, given)
	if err != nil {
		return memento.Applied{}, b.fail(k, err)
	}
	for i, v := range done.Versions {
		bare, err := k.bareVersion(v)
		if err != nil {
			return memento.Applied{}, b.fail(k, err)
		}
		done.Versions[i] = bare
		// Versions come in the order of the changes, of which not all seal something.
		for len(seal) > 0 && seal[0].last.version == "" {
			seal = seal[1:]
		}
		if len(seal) > 0 && seal[0].last.version == v.ID {
			b.written(k, &seal[0].last, &v, bare.SHA256, age)
			seal = seal[1:]
		}
	}
	return done, nil
}

// sealed returns a change as the backend below is given it.
func (k *keys) sealed(c memento.Change, by *sealer) (_ memento.Change, err error) {
	switch is := c.(type) {
	case memento.Put:
		is.Path, err = k.keep(is.Path)
		c = is
	case memento.Remove:
		is.Path = k.find(is.Path)
		c = is
	case memento.Move:
		is.From = k.find(is.From)
		is.To, err = k.keep(is.To)
		c = is
	case memento.Sealed:
		return nil, &memento.Error{Op: "apply", Err: fmt.Errorf("%w: contents that another wrapper has sealed", memento.ErrUnsupported)}
	default:
		return c, nil // refused below
	}
	return memento.Sealed{Change: c, By: by, Envelope: k.envelope}, err
}
