package cryptstore

import (
	"context"
	"errors"
	"fmt"

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
	m, err := b.inner.Get(ctx, store, kept)
	if err != nil {
		return memento.Memory{}, b.fail(k, err)
	}
	clear, err := b.openMemory(ctx, op, &k, m)
	return clear, b.fail(k, err)
}

// openMemory returns a memory with the contents that it has, sealed. If it takes
// newer keys than k, k becomes those.
func (b *Backend) openMemory(ctx context.Context, op string, k **keys, m memento.Memory) (memento.Memory, error) {
	text, hash, by, err := b.open(*k, m.ID, m.Content, m.SHA256, m.Digest, m.Size)
	if errors.Is(err, memento.ErrDecrypt) {
		if fresh, other := b.reread(ctx, op, *k); other {
			*k = fresh
			text, hash, by, err = b.open(fresh, m.ID, m.Content, m.SHA256, m.Digest, m.Size)
		}
	}
	if err == nil && by != m.Version {
		err = b.checkMoved(ctx, *k, &m, by)
	}
	if err != nil {
		return memento.Memory{}, &memento.Error{Op: op, Path: m.Path, Err: err}
	}
	m.Content, m.SHA256, m.Digest = text, hash, ""
	m.Path, err = (*k).clear(m.Path)
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
	sealed := make([]memento.Change, len(changes))
	for i, c := range changes {
		if sealed[i], err = k.sealed(c); err != nil {
			return memento.Applied{}, err
		}
	}
	done, err := b.inner.Apply(ctx, k.store, by, sealed)
	if err != nil {
		return memento.Applied{}, b.fail(k, err)
	}
	for i, v := range done.Versions {
		if done.Versions[i], err = k.bareVersion(v); err != nil {
			return memento.Applied{}, b.fail(k, err)
		}
	}
	return done, nil
}

// sealed returns a change as the backend below is given it.
func (k *keys) sealed(c memento.Change) (_ memento.Change, err error) {
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
	return memento.Sealed{Change: c, By: sealer{k}, Envelope: k.envelope}, err
}
