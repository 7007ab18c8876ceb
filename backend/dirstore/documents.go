package dirstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"memento"
	"memento/backend"
)

// Get implements [memento.Backend].
//
// Further errors: ErrForeign if the file cannot be a memory's.
func (b *Backend) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	if err := b.enter(ctx); err != nil {
		return memento.Memory{}, fail(op, err)
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return memento.Memory{}, fail(op, err)
	}
	defer b.releaseFolder(f)
	m, sure, err := f.get(ctx, ref)
	if !sure {
		err = f.locked(ctx, func() error {
			if _, sure, _ := f.get(ctx, ref); sure {
				return nil // another process was writing
			}
			return f.reconcile(ctx, false)
		})
		if err == nil {
			m, _, err = f.get(ctx, ref)
		}
	}
	return m, fail(op, err)
}

// get is Get without the lock. sure says that file, index and database agree, so that the
// result is final.
func (f *folder) get(ctx context.Context, ref memento.Ref) (m memento.Memory, sure bool, err error) {
	if !f.caughtUp.Load() {
		return m, false, nil
	}
	m, err = f.b.db.Get(ctx, f.store, ref)
	p := ref.Path
	at, isError := errors.AsType[*memento.Error](err)
	switch {
	case err == nil:
		p = m.Path
	case errors.Is(err, memento.ErrDamaged) && isError: // the file may have been changed by hand since
		r := f.row(at.Path)
		root, ok := f.present()
		return m, ok && (r == nil || f.unchanged(root, at.Path, r)), err
	case !errors.Is(err, memento.ErrNotExist) && !errors.Is(err, memento.ErrIsDir):
		return m, true, err
	case p == "": // no such ID: a file added by hand has none yet
		return m, true, err
	default:
		if _, invalid := memento.ParsePath(string(p)); invalid != nil {
			return m, true, err
		}
	}
	root, ok := f.present()
	if !ok {
		return m, false, err
	}
	r := f.row(p)
	if !f.unchanged(root, p, r) {
		return m, false, err
	}
	switch {
	case r != nil && r.listed():
		return memento.Memory{}, true, foreign("get", p, r.status.reason)
	case err == nil && r == nil,
		err == nil && r.status.kind == managed && r.version != m.Version:
		return m, f.waitsForRetry(p), nil
	case err == nil:
		return m, true, nil
	case r != nil && r.status.kind == managed: // of a memory that was just removed
		return m, false, err
	}
	// There is no memory at p, but p may be a directory that only the database or only
	// the disk has.
	if differs, lookErr := f.differsBelow(ctx, p); lookErr != nil || differs {
		return m, false, errors.Join(err, lookErr)
	}
	if errors.Is(err, memento.ErrNotExist) && f.hasListedBelow(p) {
		err = &memento.Error{Op: "get", Path: p, Err: memento.ErrIsDir}
	}
	return m, true, err
}

// List implements [memento.Backend]. Unmanaged files are listed without ID, version, hash
// and contents.
func (b *Backend) List(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	const op = "list"
	return func(yield func(memento.Entry, error) bool) {
		if opts.Dir == "" {
			opts.Dir = memento.Root
		}
		unmanaged, err := b.refresh(ctx, store, opts.Dir)
		switch {
		case err != nil:
			yield(memento.Entry{}, fail(op, err))
		case len(unmanaged) == 0:
			b.db.List(ctx, store, opts)(yield)
		default:
			b.listMerged(ctx, store, opts, unmanaged, yield)
		}
	}
}

// refresh makes versions from changes by hand below dir, and returns the unmanaged files
// that are listed there, ordered by path.
func (b *Backend) refresh(ctx context.Context, store memento.StoreID, dir memento.Path) (unmanaged []*row, err error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return nil, err
	}
	defer b.releaseFolder(f)
	if err := f.refresh(ctx, dir); err != nil {
		return nil, err
	}
	return f.listedBelow(dir), nil
}

// Apply implements [memento.Backend]. Once the database has the changes they are made and
// durable. The files are written before Apply returns, or as soon as the disk allows it.
func (b *Backend) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	const op = "apply"
	if err := b.enter(ctx); err != nil {
		return memento.Applied{}, fail(op, err)
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return memento.Applied{}, fail(op, err)
	}
	defer b.releaseFolder(f)
	var done memento.Applied
	err = f.locked(ctx, func() error {
		if err := f.checkVisible(writtenPaths(changes)...); err != nil {
			return err
		}
		if err := f.prepare(ctx, unsealed(changes)); err != nil {
			return err
		}
		if err := b.checkSpace(ctx, changes); err != nil {
			return err
		}
		if err := f.begin(); err != nil {
			return err
		}
		b.step("marked")
		done, err = b.db.Apply(ctx, store, by, changes)
		if err != nil {
			return f.undone(err)
		}
		b.step("committed")
		f.follow(context.WithoutCancel(ctx), done.Versions, hints{texts: textsOf(changes)})
		return nil
	})
	if err != nil {
		return memento.Applied{}, fail(op, err)
	}
	return done, nil
}

// undone clears the dirty mark if err says that nothing was changed. Otherwise the
// outcome is unknown, and the next holder of the lock compares all files.
func (f *folder) undone(err error) error {
	if refused(err) || errors.Is(err, memento.ErrNoStore) {
		return errors.Join(err, f.end(&changes{}))
	}
	return err
}

// unsealed returns changes without their Sealed wrappers, for code that needs only the
// paths.
func unsealed(list []memento.Change) []memento.Change {
	plain := slices.Clone(list)
	for i, c := range plain {
		if sealed, ok := c.(backend.Sealed); ok {
			plain[i] = sealed.Change
		}
	}
	return plain
}

// textsOf returns the texts that changes write, by hash. Those of sealed changes are
// missing: only the database knows how they are kept.
func textsOf(list []memento.Change) map[string]string {
	texts := map[string]string{}
	for _, c := range list {
		switch c := c.(type) {
		case memento.Put:
			texts[memento.HashContent(c.Content)] = c.Content
		case memento.Move:
			if c.Content != nil {
				texts[memento.HashContent(*c.Content)] = *c.Content
			}
		}
	}
	return texts
}

// follow brings the files up to date after versions were made in the database. What fails
// now is done later.
func (f *folder) follow(ctx context.Context, versions []memento.Version, h hints) {
	var c changes
	again := f.writeBack(ctx, f.tasksOf(versions), h, &c)
	_ = f.end(&c) // then the mark stays
	for _, v := range versions {
		if v.Operation == memento.Deleted && f.hasUnmanaged() {
			_ = f.tryAgain(blocked)
			break
		}
	}
	if again {
		_ = f.reconcile(ctx, false)
	}
}

// tasksOf returns the tasks for versions that were just made: for every path that they
// name, and for every path at which the memories were before.
func (f *folder) tasksOf(versions []memento.Version) []task {
	newest := map[memento.MemoryID]*memento.Version{}
	for i := range versions {
		newest[versions[i].Memory] = &versions[i]
	}
	heads := map[memento.Path]*memento.Memory{}
	for _, v := range newest {
		if v.Operation != memento.Deleted {
			heads[v.Path] = &memento.Memory{ID: v.Memory, Path: v.Path, Version: v.ID, SHA256: v.SHA256, Digest: v.Digest, Size: v.Size}
		}
	}
	var tasks []task
	seen := map[memento.Path]bool{}
	touch := func(p memento.Path) {
		r := f.row(p)
		if !seen[p] && (r != nil || heads[p] != nil) {
			tasks = append(tasks, task{path: p, head: heads[p], row: r})
		}
		seen[p] = true
	}
	for _, v := range versions {
		if before := f.rowOf(v.Memory); before != nil {
			touch(before.path)
		}
		touch(v.Path)
	}
	return tasks
}

// Import implements [memento.Backend].
func (b *Backend) Import(ctx context.Context, store memento.StoreID, versions []memento.Version) error {
	return b.importVersions(ctx, store, versions, func() error { return b.db.Import(ctx, store, versions) })
}

// ImportSealed implements [backend.SealedImporter].
func (b *Backend) ImportSealed(ctx context.Context, store memento.StoreID, versions []memento.Version, by backend.Sealing) error {
	return b.importVersions(ctx, store, versions, func() error { return b.db.ImportSealed(ctx, store, versions, by) })
}

// importVersions imports versions into the database, which load does, and then writes
// the files.
func (b *Backend) importVersions(ctx context.Context, store memento.StoreID, versions []memento.Version, load func() error) error {
	const op = "import"
	if err := b.enter(ctx); err != nil {
		return fail(op, err)
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return fail(op, err)
	}
	defer b.releaseFolder(f)
	return fail(op, f.locked(ctx, func() error {
		if err := f.checkVisible(importedPaths(versions)...); err != nil {
			return err
		}
		if err := f.prepare(ctx, imported(versions)); err != nil {
			return err
		}
		if err := f.begin(); err != nil {
			return err
		}
		if err := load(); err != nil {
			return f.undone(err)
		}
		b.step("committed")
		_ = f.reconcile(context.WithoutCancel(ctx), true) // then the mark stays
		return nil
	}))
}

// imported returns changes that stand for versions where only paths on disk matter: one
// Put for each path at which a memory finally is.
func imported(versions []memento.Version) (list []memento.Change) {
	last := map[memento.MemoryID]int{}
	for i, v := range versions {
		last[v.Memory] = i
	}
	for i, v := range versions {
		_, err := memento.ParsePath(string(v.Path)) // the database refuses invalid ones
		if last[v.Memory] == i && v.Operation != memento.Deleted && err == nil {
			list = append(list, memento.Put{Path: v.Path})
		}
	}
	return list
}

// Search implements [memento.Searcher].
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	if opts.Dir == "" {
		opts.Dir = memento.Root
	}
	unmanaged, err := b.refresh(ctx, store, opts.Dir)
	if err != nil {
		return nil, fail(op, err)
	}
	if len(unmanaged) == 0 {
		return b.db.Search(ctx, store, opts)
	}
	most := min(cmp.Or(max(0, opts.Limit), defaultMatches), math.MaxInt-len(unmanaged))
	opts.Limit = most + len(unmanaged)
	matches, err := b.db.Search(ctx, store, opts)
	if err != nil {
		return nil, err
	}
	hidden := map[memento.Path]bool{}
	for _, r := range unmanaged {
		hidden[r.path] = true
	}
	var seen []memento.Match
	for _, m := range matches {
		if !hidden[m.Memory.Path] {
			seen = append(seen, m)
		}
	}
	return seen[:min(most, len(seen))], nil
}

// defaultMatches is the default for the maximum number of matches of a search.
const defaultMatches = 20

// MarkRead implements [memento.ReadMarker].
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) { b.db.MarkRead(store, id) }

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error { return b.db.SyncReads(ctx) }

// errSame says that the file system would keep two memories in one file.
func errSame(op string, p, other memento.Path) error {
	return &memento.Error{Op: op, Path: other, Err: fmt.Errorf("%w: this file system does not distinguish it from %s", memento.ErrExist, p)}
}
