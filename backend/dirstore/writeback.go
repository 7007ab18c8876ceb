package dirstore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"memento"
)

// A task is a file to be brought to the state of the database.
//
// durable.go has the order of operations that makes a write durable.
type task struct {
	path memento.Path
	head *memento.Memory // what has to be there, without contents; nil for nothing
	row  *row            // what is there, as far as memento knows; nil for nothing
}

// hints are what a caller of writeBack knows already.
type hints struct {
	texts   map[string]string     // contents by hash
	emptied map[memento.Path]bool // folders from which files were removed, so that they may be empty
	toFlush map[memento.Path]bool // folders that were perhaps not flushed
}

// writeBack carries out tasks, and adds to c the rows that the files then have. The
// database has all of it already. A file that cannot be written now is recorded as stale,
// and written later.
//
// again says that some files were not as their rows say: another program has just changed
// them, and they were not touched.
func (f *folder) writeBack(ctx context.Context, tasks []task, h hints, c *changes) (again bool) {
	if len(tasks) == 0 && len(h.emptied) == 0 && len(h.toFlush) == 0 {
		return false
	}
	if h.emptied == nil {
		h.emptied = map[memento.Path]bool{}
	}
	s := &writer{f: f, ctx: ctx, hints: h, changes: c, dirs: map[memento.Path]*os.Root{}, changedDirs: map[memento.Path]bool{}}
	maps.Copy(s.changedDirs, h.toFlush)
	defer s.closeDirs()
	if len(tasks) == 0 && f.opened.Load() == nil { // there is nothing to flush
		clear(f.unflushed)
		return false
	}
	if _, err := f.ensure(); err != nil {
		s.failed(tasks...)
		return false
	}
	writes := s.removeOld(tasks)
	s.removeEmptied()
	for chunk := range slices.Chunk(writes, writesAtOnce) {
		s.write(chunk)
	}
	s.sync()
	return s.again
}

const (
	writesAtOnce = 64  // files that are open at the same time
	dirsAtOnce   = 128 // folders that are open at the same time
)

// A writer is one run of writeBack.
type writer struct {
	hints
	f       *folder
	ctx     context.Context
	changes *changes

	dirs        map[memento.Path]*os.Root // open folders, except the store's own
	changedDirs map[memento.Path]bool     // folders in which names have changed since the last flush
	relinked    map[uint64]bool           // inodes of files of which one of several names was removed or changed: that changes their times
	again       bool
}

// isAsIn reports whether a file is still the one in a row: no other program has changed it.
func (s *writer) isAsIn(r *row, info fs.FileInfo) bool {
	now := printOf(info)
	if s.relinked[now.inode] {
		now.changed = r.print.changed
	}
	return r.print == now
}

// noteRelinked records that a name of a file is removed or changed.
func (s *writer) noteRelinked(info fs.FileInfo) {
	if inode, _, links := inodeOf(info); links > 1 {
		if s.relinked == nil {
			s.relinked = map[uint64]bool{}
		}
		s.relinked[inode] = true
	}
}

func (s *writer) failed(tasks ...task) {
	for _, t := range tasks {
		s.f.setStale(t.path, true)
	}
	s.f.delayRetry()
}

func (s *writer) done(p memento.Path, r *row) {
	s.f.setStale(p, false)
	if r == nil {
		s.changes.gone = append(s.changes.gone, p)
	} else {
		s.changes.put = append(s.changes.put, r)
	}
}

// dir opens the folder at a path, and makes it with create.
func (s *writer) dir(p memento.Path, create bool) (*os.Root, error) {
	if p.IsRoot() {
		return s.f.opened.Load().root, nil
	}
	if dir := s.dirs[p]; dir != nil {
		return dir, nil
	}
	parent, err := s.dir(p.Parent(), create)
	if err != nil {
		return nil, err
	}
	name := s.f.b.traits.diskName(p.Base())
	if create && s.f.b.traits.merges() {
		if err := s.respell(p.Parent(), parent, name); err != nil {
			return nil, err
		}
	}
	dir, err := openFolder(parent, name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if _, err := mkdir(parent, name); err != nil {
			return nil, err
		}
		s.changedDirs[p.Parent()] = true
		dir, err = openFolder(parent, name)
	}
	if err != nil {
		return nil, err
	}
	s.dirs[p] = dir
	return dir, nil
}

// respell renames a folder in parent to name if it has another name that the file system
// does not tell apart from it: the directory of the old name is gone, and the new one
// uses its folder. at is the path of parent.
func (s *writer) respell(at memento.Path, parent *os.Root, name string) error {
	other, exact, err := s.f.b.spelling(parent, name)
	if err != nil || exact || other == "" {
		return err
	}
	s.changedDirs[at] = true
	return parent.Rename(other, name)
}

// closeDirs closes the folders that are open.
func (s *writer) closeDirs() {
	for p, dir := range s.dirs {
		_ = dir.Close()
		delete(s.dirs, p)
	}
}

// limitOpenDirs flushes and closes folders if too many are open.
func (s *writer) limitOpenDirs() {
	if len(s.dirs) > dirsAtOnce {
		s.sync()
		s.closeDirs()
	}
}

// sync flushes the folders in which names have changed, and those that could not be
// flushed before.
func (s *writer) sync() {
	for p := range s.f.unflushed {
		s.changedDirs[p] = true
	}
	if len(s.changedDirs) == 0 {
		return
	}
	s.f.b.step("before-dirsync")
	flushed := map[memento.Path]bool{}
	for p := range s.changedDirs {
		at, err := s.syncNearest(p, flushed)
		delete(s.f.unflushed, p)
		if err != nil {
			s.flushFailed(at)
		}
		if len(s.dirs) > dirsAtOnce {
			s.closeDirs()
		}
	}
	clear(s.changedDirs)
	s.f.b.step("dirsynced")
}

// syncNearest flushes the folder at a path, unless flushed has it. If it no longer
// exists, syncNearest flushes the nearest one above that does, since a name was removed
// from it. It returns the path of the folder.
func (s *writer) syncNearest(p memento.Path, flushed map[memento.Path]bool) (at memento.Path, err error) {
	if p == ownLocation {
		return p, s.f.flushLocation()
	}
	for at = p; ; at = at.Parent() {
		dir, err := s.dir(at, false)
		if !at.IsRoot() && (isAbsent(err) || errors.Is(err, errNoFolder)) {
			continue
		}
		if err == nil && !flushed[at] {
			err = s.f.b.syncer.syncFolder(dir)
		}
		flushed[at] = err == nil
		return at, err
	}
}

// flushFailed takes back the rows of files below a folder that could not be flushed, and
// marks the files as stale: a power failure could still undo the changes of their names.
func (s *writer) flushFailed(dir memento.Path) {
	s.f.unflushed[dir] = struct{}{}
	s.f.delayRetry()
	stale := func(p memento.Path) bool {
		below := dir == ownLocation || dir.Contains(p)
		if below {
			s.f.setStale(p, true)
		}
		return below
	}
	s.changes.put = slices.DeleteFunc(s.changes.put, func(r *row) bool { return stale(r.path) })
	s.changes.gone = slices.DeleteFunc(s.changes.gone, stale)
}

// removeOld carries out the tasks in which a file leaves its path: it is removed, or
// renamed to the path to which its memory was moved. It returns the remaining tasks:
// files to be written.
func (s *writer) removeOld(tasks []task) (writes []task) {
	leaving := map[memento.Path]*task{} // tasks whose present file belongs to another memory
	for i := range tasks {
		if t := &tasks[i]; t.row != nil && (t.head == nil || t.head.ID != t.row.memory) {
			leaving[t.path] = t
		}
	}
	sources := map[memento.Path]*task{} // by the path to which the file is renamed
	for _, t := range tasks {
		if t.head == nil || t.row != nil && leaving[t.path] == nil {
			continue
		}
		from := s.f.rowOf(t.head.ID)
		if from == nil || from.path == t.path || from.sha256 != t.head.SHA256 {
			continue
		}
		if source := leaving[from.path]; source != nil && source.row.status.kind == managed {
			sources[t.path] = source
			delete(leaving, from.path)
		}
	}
	for _, t := range tasks { // removals first, to free paths for the others
		if leaving[t.path] != nil && t.head == nil {
			s.unlink(t)
		}
	}
	for _, t := range tasks {
		source := sources[t.path]
		switch {
		case t.head == nil:
		case source != nil && s.rename(t, *source):
		default:
			if source != nil && source.head == nil {
				s.unlink(*source)
			}
			writes = append(writes, t)
		}
		s.limitOpenDirs()
	}
	return writes
}

// intact opens the folder of a task, and reports whether the file in it is still the one
// in the row: no other program has changed it.
func (s *writer) intact(t task) (dir *os.Root, info fs.FileInfo, ok bool) {
	dir, err := s.dir(t.path.Parent(), false)
	if err == nil {
		info, err = dir.Lstat(s.f.b.traits.diskName(t.path.Base()))
	}
	switch {
	case err == nil && t.row != nil && s.isAsIn(t.row, info):
		return dir, info, true
	case isAbsent(err), err == nil, errors.Is(err, errNoFolder):
		s.again = true
	default:
		s.failed(t)
	}
	return nil, nil, false
}

// unlink removes the file of a task.
func (s *writer) unlink(t task) {
	dir, info, ok := s.intact(t)
	if !ok {
		return
	}
	s.noteRelinked(info)
	s.f.b.step("before-unlink")
	if err := dir.Remove(s.f.b.traits.diskName(t.path.Base())); err != nil {
		s.failed(t)
		return
	}
	s.f.b.step("unlinked")
	s.noteEmptied(t.path)
	s.done(t.path, nil)
}

// noteEmptied records that a file was removed from its folder.
func (s *writer) noteEmptied(p memento.Path) {
	s.changedDirs[p.Parent()] = true
	s.emptied[p.Parent()] = true
}

// rename moves the file of source to the path of t if that is free. It does not wait for
// a file that is still there but about to be moved.
func (s *writer) rename(t, source task) bool {
	if t.row != nil {
		return false
	}
	_, info, ok := s.intact(source)
	if !ok {
		return false
	}
	// The source itself may be in the way of the folder: a memory can become a directory.
	dir, err := s.dir(t.path.Parent(), true)
	if err != nil {
		return false
	}
	switch other, err := dir.Lstat(s.f.b.traits.diskName(t.path.Base())); {
	case err == nil && !os.SameFile(other, info): // a SameFile is the source under a name that differs in case, for example
		return false
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false
	}
	s.noteRelinked(info)
	s.f.b.step("before-rename")
	root := s.f.opened.Load().root
	if err := root.Rename(s.f.b.traits.diskPath(source.path), s.f.b.traits.diskPath(t.path)); err != nil {
		return false
	}
	s.f.b.step("renamed")
	s.noteEmptied(source.path)
	s.changedDirs[t.path.Parent()] = true
	moved := *source.row
	moved.path, moved.version = t.path, t.head.Version
	if info, err := dir.Lstat(s.f.b.traits.diskName(t.path.Base())); err == nil {
		moved.print = printOf(info)
		if !source.row.racy() && moved.print.mtime == source.row.print.mtime {
			moved.checked = moved.print.changed + int64(tick) // only the rename has changed it
		}
	}
	if source.head == nil {
		s.done(source.path, nil)
	}
	s.done(t.path, &moved)
	return true
}

// removeEmptied removes folders that are empty because files were removed from them, and
// then their parents if those are empty too.
func (s *writer) removeEmptied() {
	byDepth := func(a, b memento.Path) int { return cmp.Compare(b.Depth(), a.Depth()) }
	var paths []memento.Path
	for p := range s.emptied {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, byDepth)
	for _, p := range paths {
		for ; !p.IsRoot() && s.removeFolder(p); p = p.Parent() {
			s.changedDirs[p.Parent()] = true
			delete(s.changedDirs, p)
		}
		s.limitOpenDirs()
	}
}

// removeFolder removes a folder if it is empty.
func (s *writer) removeFolder(p memento.Path) bool {
	parent, err := s.dir(p.Parent(), false)
	if err != nil || removeFolder(parent, s.f.b.traits.diskName(p.Base())) != nil {
		return false
	}
	if dir := s.dirs[p]; dir != nil {
		_ = dir.Close()
		delete(s.dirs, p)
	}
	return true
}

// A tempFile is a file that is written, but not yet renamed to its final name.
type tempFile struct {
	task
	dir  *os.Root
	temp string
	file *os.File
	err  error
}

// write writes temporary files, flushes them, and renames them to their final names.
func (s *writer) write(tasks []task) {
	temps := make([]*tempFile, 0, len(tasks))
	for _, t := range tasks {
		d, err := s.writeTemp(t)
		if err != nil {
			s.failed(t)
			continue
		}
		temps = append(temps, d)
	}
	s.f.b.step("written")
	s.flush(temps)
	s.f.b.step("flushed")
	for _, d := range temps {
		if !s.install(d) {
			_ = d.dir.Remove(d.temp)
		}
	}
	s.limitOpenDirs()
}

// writeTemp writes the contents for a task to a temporary file beside its path.
func (s *writer) writeTemp(t task) (*tempFile, error) {
	text, known := s.texts[t.head.SHA256]
	if !known {
		m, err := s.f.b.db.Get(s.ctx, s.f.store, memento.ByPath(t.path))
		if err != nil {
			return nil, err
		}
		if text = m.Content; m.Version != t.head.Version {
			return nil, errChanging
		}
	}
	dir, err := s.dir(t.path.Parent(), true)
	if err != nil {
		return nil, err
	}
	d := &tempFile{task: t, dir: dir, temp: tempName()}
	d.file, err = dir.OpenFile(d.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownMode)
	if err != nil {
		return nil, err
	}
	_, err = d.file.WriteString(text)
	if err == nil {
		err = d.file.Chmod(ownMode) // regardless of the umask
	}
	if err != nil {
		return nil, errors.Join(err, d.file.Close(), dir.Remove(d.temp))
	}
	return d, nil
}

// flush flushes and closes files, several at the same time.
func (s *writer) flush(temps []*tempFile) {
	atOnce(temps, func(d *tempFile) { d.err = errors.Join(s.f.b.syncer.syncFile(d.file), d.file.Close()) })
}

// install renames a temporary file to its final name, unless another program has changed
// what is there.
func (s *writer) install(d *tempFile) bool {
	if d.err != nil {
		s.failed(d.task)
		return false
	}
	name := s.f.b.traits.diskName(d.path.Base())
	info, err := d.dir.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		s.changedDirs[d.path.Parent()] = true
		if !removeEmpty(d.dir, info) {
			s.failed(d.task)
			return false
		}
	case err == nil && (d.row == nil || !s.isAsIn(d.row, info)), err != nil && !errors.Is(err, fs.ErrNotExist):
		s.again = true
		s.failed(d.task)
		return false
	case err != nil && d.row != nil && d.row.status.kind == managed && d.row.memory == d.head.ID:
		s.again = true // just removed by hand
		s.failed(d.task)
		return false
	}
	if err == nil {
		s.noteRelinked(info)
	}
	s.f.b.step("before-install")
	if err := d.dir.Rename(d.temp, name); err != nil {
		s.failed(d.task)
		return false
	}
	s.f.b.step("installed")
	s.changedDirs[d.path.Parent()] = true
	checked := now() // taken before Lstat: the times of a change in between are later
	info, err = d.dir.Lstat(name)
	if err != nil {
		s.again = true
		s.failed(d.task)
		return true
	}
	s.done(d.path, &row{
		path: d.path, memory: d.head.ID, version: d.head.Version, sha256: d.head.SHA256, print: printOf(info), checked: checked,
	})
	return true
}

// removeEmpty removes a folder that contains nothing but folders that are empty in the
// same sense.
func removeEmpty(parent *os.Root, info fs.FileInfo) bool {
	dir, err := enter(parent, info)
	if err != nil {
		return false
	}
	defer dir.Close()
	inner, err := readFolder(dir)
	if err != nil {
		return false
	}
	for _, i := range inner {
		if !i.IsDir() || !removeEmpty(dir, i) {
			return false
		}
	}
	return removeFolder(parent, info.Name()) == nil
}
