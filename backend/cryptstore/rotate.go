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
	// Workspace limits the rotation to the stores of a workspace; "" means all.
	Workspace memento.Workspace

	// DataKeys also gives every store a new key for new contents. Existing contents and the
	// keys that decrypt them are not changed.
	DataKeys bool

	// Before, with DataKeys, skips stores whose newest key was made at this time or later,
	// so that an interrupted rotation can be continued; zero skips none.
	Before time.Time

	// Progress, if it is not nil, is called after each store.
	Progress func(done, total int)
}

// Rotated is the result of a rotation.
type Rotated struct {
	Stores    int // stores that were checked
	Rewrapped int // stores whose keys are now wrapped with the primary key, and were not before
	DataKeys  int // stores that have a new key for contents
}

// Rotate wraps the keys of all stores with the ring's primary key, while others read and
// write. Contents are not changed. Stores whose keys are wrapped with it already are only
// checked, so an interrupted rotation can simply be called again. When it has returned
// without an error, and no process uses a ring with another primary key, the former primary
// keys can be removed from the ring.
//
// If a store cannot be rotated, because its key is not in the ring, the others still are.
// The error names the stores that failed.
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
		return done, fmt.Errorf("rotate keys: %d of %d stores failed: %w", len(failed), len(stores), errors.Join(failed[:min(len(failed), 10)]...))
	}
	return done, nil
}

// KeysInUse returns, for each ID of a ring's key, the number of stores in all workspaces
// whose keys it has wrapped; "" counts stores without encryption.
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

// stores returns all stores, including archived ones.
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

// rotate rotates one store. If another process changes its envelope at the same time,
// rotate starts again with that.
func (b *Backend) rotate(ctx context.Context, info memento.StoreInfo, o *RotateOptions, done *Rotated) error {
	for {
		e, err := parseEnvelope(info.Envelope)
		if err != nil {
			return &storeError{info.ID, err}
		}
		wrapped := e.Key != b.ring.Primary()
		// Check that the envelope can be opened, even if it is wrapped with the primary
		// key, before older keys are removed.
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
		case errors.Is(err, memento.ErrNoStore): // it was deleted in the meantime
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

// rewrap replaces a store's envelope by one with the given secrets, unless the envelope has
// changed.
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
