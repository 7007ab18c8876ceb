package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"memento"
)

// The file system tells of a change by a file's size and times. What changes below it, on
// the disk, shows only when the file is read, so the whole of it is read here. What is
// served comes from the database, which checks it: a damaged file is never shown, but who
// opens it by hand sees it, and to touch it would make an edit of it.

var (
	_ memento.Verifier = (*Backend)(nil)
	_ memento.Repairer = (*Backend)(nil)
	_ memento.Salvager = (*Backend)(nil)
)

// Verify implements [memento.Verifier]: it reads every file that is unchanged by its size
// and its times, and compares it with its hash. As any listing, it takes over first what
// was changed by hand.
func (b *Backend) Verify(ctx context.Context) (faults []string, err error) {
	err = b.eachFolder(ctx, func(f *folder) error {
		damaged, err := f.damagedFiles(ctx)
		for _, r := range damaged {
			faults = append(faults, fmt.Sprintf("store %s: the file of memory %s is damaged below the file system: its size and times are those of version %s, and its contents are not", f.store, r.memory, r.version))
		}
		return err
	})
	return faults, fail("verify", err)
}

// Repair implements [memento.Repairer]: it writes files that are damaged below the file
// system from the database, if that is whole.
func (b *Backend) Repair(ctx context.Context, dryRun bool) (repaired []string, err error) {
	err = b.eachFolder(ctx, func(f *folder) error {
		return f.locked(ctx, func() error {
			mended, err := f.repair(ctx, dryRun)
			for _, r := range mended {
				repaired = append(repaired, fmt.Sprintf("store %s: the file of memory %s has again what version %s wrote", f.store, r.memory, r.version))
			}
			return err
		})
	})
	return repaired, fail("repair", err)
}

// repair writes damaged files again, and returns their rows. The caller has the lock.
func (f *folder) repair(ctx context.Context, dryRun bool) (mended []*row, err error) {
	damaged, err := f.damagedFiles(ctx)
	if err != nil || len(damaged) == 0 {
		return nil, err
	}
	var tasks []task
	for _, r := range damaged {
		m, err := f.b.db.Get(ctx, f.store, memento.ByPath(r.path))
		switch {
		case err == nil && m.Version == r.version && m.SHA256 == r.sha256:
			tasks = append(tasks, task{path: r.path, head: &m, row: r})
		case err != nil && !errors.Is(err, memento.ErrDamaged) && !errors.Is(err, memento.ErrNotExist):
			return nil, err
		}
	}
	if !dryRun && len(tasks) > 0 {
		if err := f.begin(); err != nil {
			return nil, err
		}
		var c changes
		f.writeBack(context.WithoutCancel(ctx), tasks, hints{}, &c)
		if err := f.end(&c); err != nil {
			return nil, err
		}
	}
	for _, t := range tasks {
		if !dryRun && f.isDamaged(f.row(t.path)) { // the disk does not let it
			continue
		}
		mended = append(mended, t.row)
	}
	return mended, nil
}

// Salvage implements [memento.Salvager]: a version that is the newest of its memory is
// also in the memory's file.
func (b *Backend) Salvage(ctx context.Context, store memento.StoreID, id memento.VersionID) (text string, err error) {
	const op = "salvage"
	if err := b.enter(ctx); err != nil {
		return "", fail(op, err)
	}
	defer b.leave()
	f, err := b.folder(ctx, store)
	if err != nil {
		return "", fail(op, err)
	}
	defer b.releaseFolder(f)
	if err := f.refresh(ctx, memento.Root); err != nil {
		return "", fail(op, err)
	}
	for _, r := range f.rowsBelow(memento.Root) {
		if r.version != id || r.status.kind != managed {
			continue
		}
		if text, same, err := f.textOf(r); err == nil && same && memento.HashContent(text) == r.sha256 {
			return text, nil
		}
	}
	return "", &memento.Error{Op: op, Err: memento.ErrNotExist}
}

// eachFolder calls do with the folder of every store, brought up to date.
func (b *Backend) eachFolder(ctx context.Context, do func(*folder) error) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.leave()
	spaces, err := b.db.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, ws := range spaces {
		for info, err := range b.db.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return err
			}
			f, err := b.folder(ctx, info.ID)
			if err == nil {
				if err = f.refresh(ctx, memento.Root); err == nil {
					err = do(f)
				}
				b.releaseFolder(f)
			}
			if err != nil && !errors.Is(err, memento.ErrNoStore) { // deleted meanwhile
				return err
			}
		}
	}
	return nil
}

// damagedFiles returns the rows whose files have the size and the times of the row, and
// other contents.
func (f *folder) damagedFiles(ctx context.Context) (damaged []*row, err error) {
	for _, r := range f.rowsBelow(memento.Root) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// A file that was looked at too soon after it was written may have been edited.
		if r.status.kind == managed && !r.racy() && f.isDamaged(r) {
			damaged = append(damaged, r)
		}
	}
	return damaged, nil
}

func (f *folder) isDamaged(r *row) bool {
	if r == nil {
		return false
	}
	text, same, err := f.textOf(r)
	return same && (err != nil || memento.HashContent(text) != r.sha256)
}

// textOf reads the file of a row. same says that it is the file that the row is about, by
// its size and its times; only then an error says that it cannot be read.
func (f *folder) textOf(r *row) (text string, same bool, err error) {
	root, ok := f.present()
	if !ok || root == nil {
		return "", false, nil
	}
	name := f.b.traits.diskPath(r.path)
	info, err := root.Lstat(name)
	if err != nil || r.print != printOf(info) {
		return "", false, nil
	}
	text, print, err := readFile(root, name, info, r.print.size)
	switch {
	case errors.Is(err, errChanging), errors.Is(err, fs.ErrPermission), errors.Is(err, os.ErrClosed), isAbsent(err), err == nil && print != r.print:
		return "", false, nil
	}
	return text, true, err
}
