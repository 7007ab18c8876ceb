package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"memento"
	"memento/backend"
)

// The file system shows a change by a file's size and times. Damage below the file
// system, on the disk, shows only when the file is read, so all files are read here.
// Contents are served from the database, which checks them: a damaged file is never
// served. But a person who opens it sees it, and touching it would turn the damage into a
// change by hand.

var (
	_ backend.Verifier = (*Backend)(nil)
	_ backend.Repairer = (*Backend)(nil)
	_ backend.Salvager = (*Backend)(nil)
)

// Verify implements [backend.Verifier]: it reads every file whose size and times are
// unchanged, and compares it with its hash. Like a listing, it first makes versions from
// changes by hand.
func (b *Backend) Verify(ctx context.Context) (faults []string, err error) {
	err = b.eachFolder(ctx, func(f *folder) error {
		damaged, err := f.damagedFiles(ctx)
		for _, r := range damaged {
			faults = append(faults, fmt.Sprintf("store %s: the file of memory %s is damaged below the file system: it has the size and times of version %s, but other contents", f.store, r.memory, r.version))
		}
		return err
	})
	return faults, fail("verify", err)
}

// Repair implements [backend.Repairer]: it writes files that are damaged below the file
// system again from the database, if that has their contents.
func (b *Backend) Repair(ctx context.Context, dryRun bool) (repaired []string, err error) {
	err = b.eachFolder(ctx, func(f *folder) error {
		return f.locked(ctx, func() error {
			rows, err := f.repair(ctx, dryRun)
			for _, r := range rows {
				repaired = append(repaired, fmt.Sprintf("store %s: the file of memory %s has the contents of version %s again", f.store, r.memory, r.version))
			}
			return err
		})
	})
	return repaired, fail("repair", err)
}

// repair writes damaged files again, and returns their rows. The caller has the lock.
func (f *folder) repair(ctx context.Context, dryRun bool) (repaired []*row, err error) {
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
		if !dryRun && f.isDamaged(f.row(t.path)) { // the disk did not allow it
			continue
		}
		repaired = append(repaired, t.row)
	}
	return repaired, nil
}

// Salvage implements [backend.Salvager]: the newest version of a memory is also in the
// memory's file.
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

// eachFolder calls do with the folder of every store, after bringing it up to date.
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

// damagedFiles returns the rows whose files have the row's size and times, but other
// contents.
func (f *folder) damagedFiles(ctx context.Context) (damaged []*row, err error) {
	for _, r := range f.rowsBelow(memento.Root) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// If a file was checked too soon after it was written, it may have been changed
		// by hand.
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

// textOf reads the file of a row. same says that its size and times are the row's. err is
// set only if same is true and the file cannot be read.
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
