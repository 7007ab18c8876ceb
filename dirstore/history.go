package dirstore

import (
	"context"
	"errors"
	"iter"

	"memento"
)

// GetVersion implements [memento.Backend].
func (b *Backend) GetVersion(ctx context.Context, store memento.StoreID, id memento.VersionID) (memento.Version, error) {
	return b.books.GetVersion(ctx, store, id)
}

// ListVersions implements [memento.Backend].
func (b *Backend) ListVersions(ctx context.Context, store memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) {
		if _, err := b.look(ctx, store, memento.Root); err != nil {
			yield(memento.Version{}, fail("list versions", err))
			return
		}
		b.books.ListVersions(ctx, store, opts)(yield)
	}
}

// Redact implements [memento.Backend]. The file of a memory has the contents of
// its newest version only, which cannot be redacted.
func (b *Backend) Redact(ctx context.Context, store memento.StoreID, id memento.VersionID, by memento.Actor) (memento.Version, error) {
	// Whether it is the newest may be for a change by hand to say.
	if v, err := b.books.GetVersion(ctx, store, id); err == nil {
		if _, err := b.Get(ctx, store, memento.ByID(v.Memory)); isGone(err) {
			return memento.Version{}, fail("redact", err)
		}
	}
	return b.books.Redact(ctx, store, id, by)
}

func isGone(err error) bool {
	return errors.Is(err, memento.ErrNoStore) || errors.Is(err, memento.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Prune implements [memento.Backend].
func (b *Backend) Prune(ctx context.Context, store memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	return b.books.Prune(ctx, store, opts)
}
