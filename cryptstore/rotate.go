package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"memento"
)

// RotateOptions are the options of [Backend.Rotate]; nil means all defaults.
type RotateOptions struct {
	// Workspace is whose stores are rotated; all if it is "".
	Workspace memento.Workspace

	// DataKeys gives every store a new key for what is written from then on. What
	// was written before stays as it is, and so do the keys that read it.
	DataKeys bool

	// Before leaves out, with DataKeys, stores whose newest key was made at this time
	// or later, so that a rotation that was cut off does not begin anew; zero is none.
	Before time.Time

	// Progress, if it is not nil, is told after each store how many of how many are done.
	Progress func(done, total int)
}

// Rotated is what a rotation did.
type Rotated struct {
	Stores    int // that were looked at
	Rewrapped int // whose keys were wrapped by the primary key, and were not before
	DataKeys  int // that have a new key for contents
}

// Rotate has the keys of all stores wrapped by the ring's primary key, while others
// read and write. Contents are not touched. Stores that are done already are left
// as they are, once their keys were seen to open, so a rotation that was cut off is simply called again. Once it returns
// without an error, and no process uses a ring with another primary key, the keys that
// were primary before can be removed from the ring.
//
// A store that cannot be done, because its key is not in the ring, does not keep it
// from doing the others; the error then names each.
func (b *Backend) Rotate(ctx context.Context, opts *RotateOptions) (done Rotated, err error) {
	var o RotateOptions
	if opts != nil {
		o = *opts
	}
	stores, err := b.stores(ctx, o.Workspace)
	if err != nil {
		return done, fmt.Errorf("rotate keys: %w", err)
	}
	var failed []error
	for i, info := range stores {
		if err := b.rotate(ctx, info, &o, &done); err != nil {
			if ctx.Err() != nil {
				return done, fmt.Errorf("rotate keys: %w", ctx.Err())
			}
			failed = append(failed, err)
		}
		done.Stores++
		if o.Progress != nil {
			o.Progress(i+1, len(stores))
		}
	}
	if len(failed) > 0 {
		return done, fmt.Errorf("rotate keys: %d of %d stores were not done: %w", len(failed), len(stores), errors.Join(failed[:min(len(failed), 10)]...))
	}
	return done, nil
}

// KeysInUse returns how many stores, in all workspaces, each key of the ring has
// wrapped the keys of, by its ID; "" counts stores without encryption.
func (b *Backend) KeysInUse(ctx context.Context) (map[string]int, error) {
	stores, err := b.stores(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list keys in use: %w", err)
	}
	use := map[string]int{}
	for _, info := range stores {
		e, err := parseEnvelope(info.Envelope)
		if err != nil && info.Envelope != "" {
			return nil, &storeError{info.ID, err}
		}
		use[e.Key]++
	}
	return use, nil
}

// stores returns all stores, archived ones too.
func (b *Backend) stores(ctx context.Context, ws memento.Workspace) ([]memento.StoreInfo, error) {
	workspaces := []memento.Workspace{ws}
	if ws == "" {
		var err error
		if workspaces, err = b.Workspaces(ctx); err != nil {
			return nil, err
		}
	}
	found := map[memento.StoreID]memento.StoreInfo{}
	for _, ws := range workspaces {
		for info, err := range b.inner.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return nil, err
			}
			found[info.ID] = info
		}
	}
	return slices.SortedFunc(maps.Values(found), func(x, y memento.StoreInfo) int { return x.CreatedAt.Compare(y.CreatedAt) }), nil
}

// rotate does one store. Whoever else changes its envelope at the same time, comes first.
func (b *Backend) rotate(ctx context.Context, info memento.StoreInfo, o *RotateOptions, done *Rotated) error {
	for {
		e, err := parseEnvelope(info.Envelope)
		if err != nil {
			return &storeError{info.ID, err}
		}
		wrapped := e.Key != b.ring.Primary()
		// Also what seems to be done must open, before older keys are removed.
		k, err := b.unwrap(ctx, info.Workspace, info.ID, info.Envelope)
		if err != nil {
			return err
		}
		s, keyed := k.secrets, o.DataKeys && (o.Before.IsZero() || k.secrets.NewestAt.Before(o.Before))
		if !wrapped && !keyed {
			return nil
		}
		if keyed {
			if s, err = s.withNewKey(b.opts.Now()); err != nil {
				return &storeError{info.ID, fmt.Errorf("%w: its keys are damaged", memento.ErrDecrypt)}
			}
		}
		_, err = b.rewrap(ctx, k, s)
		switch {
		case err == nil:
			if wrapped {
				done.Rewrapped++
			}
			if keyed {
				done.DataKeys++
			}
			return nil
		case errors.Is(err, memento.ErrNoStore): // it was deleted meanwhile
			return nil
		case !errors.Is(err, memento.ErrConflict):
			return &storeError{info.ID, err}
		}
		switch info, err = b.inner.GetStore(ctx, k.ws, k.store); {
		case errors.Is(err, memento.ErrNoStore):
			return nil
		case err != nil:
			return &storeError{k.store, err}
		}
	}
}

// rewrap replaces a store's envelope by one with these secrets, unless it is another
// by now.
//
// Errors: memento.ErrConflict.
func (b *Backend) rewrap(ctx context.Context, k *keys, s secrets) (*keys, error) {
	text, err := wrap(ctx, b.ring, k.ws, k.store, s)
	if err != nil {
		return nil, err
	}
	at := time.Now()
	info, err := b.inner.UpdateStore(ctx, k.ws, k.store, memento.StoreUpdate{Envelope: &text, IfEnvelope: &k.envelope})
	if err != nil {
		return nil, err
	}
	again, err := b.unwrap(ctx, k.ws, k.store, info.Envelope)
	if err != nil {
		return nil, err
	}
	b.keyCache.put(again, at)
	return again, nil
}
