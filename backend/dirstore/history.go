package dirstore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"memento"
)

// GetVersion implements [memento.Backend].
func (b *Backend) GetVersion(ctx context.Context, store memento.StoreID, id memento.VersionID) (memento.Version, error) {
	return b.db.GetVersion(ctx, store, id)
}

// ListVersions implements [memento.Backend].
func (b *Backend) ListVersions(ctx context.Context, store memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) {
		if _, err := b.refresh(ctx, store, memento.Root); err != nil {
			yield(memento.Version{}, fail("list versions", err))
			return
		}
		b.db.ListVersions(ctx, store, opts)(yield)
	}
}

// Redact implements [memento.Backend]. The file of a memory has the contents of its
// newest version only, which cannot be redacted.
//
// Further errors: memento.ErrReadOnly if the memory's file could not be brought up to
// date, so that it still has the contents.
func (b *Backend) Redact(ctx context.Context, store memento.StoreID, id memento.VersionID, by memento.Actor) (memento.Version, error) {
	const op = "redact"
	// A change by hand may have made this version one that is not the newest.
	v, err := b.db.GetVersion(ctx, store, id)
	if damage, ok := errors.AsType[*memento.DamageError](err); ok { // a damaged version can be redacted
		v, err = memento.Version{ID: id, Memory: damage.Memory}, nil
	}
	if err != nil {
		return b.db.Redact(ctx, store, id, by) // it returns the right error
	}
	if _, err := b.Get(ctx, store, memento.ByID(v.Memory)); isGone(err) {
		return memento.Version{}, fail(op, err)
	}
	if err := b.enter(ctx); err != nil {
		return memento.Version{}, fail(op, err)
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return memento.Version{}, fail(op, err)
	}
	defer b.releaseFolder(f)
	var done memento.Version
	err = f.locked(ctx, func() error {
		if f.holds(ctx, v) {
			if err := f.reconcile(ctx, true); err != nil {
				return err
			}
			if f.holds(ctx, v) {
				return fmt.Errorf("%w: the file of the memory still has these contents", memento.ErrReadOnly)
			}
		}
		if err := f.scrub(); err != nil {
			return err
		}
		done, err = b.db.Redact(ctx, store, id, by)
		return err
	})
	return done, fail(op, err)
}

// holds reports whether a stale file could still have the contents of a version of its
// memory, or whether a power failure could bring such a file back. The caller has the
// lock.
func (f *folder) holds(ctx context.Context, v memento.Version) bool {
	if len(f.unflushed) > 0 {
		return true
	}
	if len(f.dirty.stale) == 0 {
		return false
	}
	// The memory may have a new file elsewhere by now.
	for p := range f.dirty.stale {
		if r := f.row(p); r != nil && r.memory == v.Memory && (v.SHA256 == "" || r.sha256 == v.SHA256) {
			return true
		}
	}
	if f.rowOf(v.Memory) != nil {
		return false
	}
	m, err := f.b.db.Get(ctx, f.store, memento.ByID(v.Memory))
	_, is := f.dirty.stale[m.Path]
	return err == nil && is
}

func isGone(err error) bool {
	return errors.Is(err, memento.ErrNoStore) || errors.Is(err, memento.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Prune implements [memento.Backend].
//
// Further errors: memento.ErrUnavailable while a folder of memories cannot be flushed. A
// power failure could bring removed files back, and only the history shows that they were
// removed.
func (b *Backend) Prune(ctx context.Context, store memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	if !opts.DryRun {
		if err := b.flushed(ctx, store); err != nil {
			return memento.Pruned{}, fail("prune", err)
		}
	}
	return b.db.Prune(ctx, store, opts)
}

// flushed returns an error while a folder of a store cannot be flushed. It removes from
// the index the paths of files that are gone.
func (b *Backend) flushed(ctx context.Context, store memento.StoreID) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return err
	}
	defer b.releaseFolder(f)
	return f.locked(ctx, func() error {
		if len(f.unflushed) > 0 {
			if err := f.reconcile(ctx, true); err != nil {
				return err
			}
		}
		if len(f.unflushed) > 0 {
			return fmt.Errorf("%w: a folder of memories cannot be flushed to disk; the history is needed until it is", memento.ErrUnavailable)
		}
		return f.scrub()
	})
}
