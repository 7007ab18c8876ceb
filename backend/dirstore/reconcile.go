package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"memento"
)

// reconcile brings files, index and database into agreement: changes by hand go to the
// database, newer contents of the database go to the files. With full it compares every
// path that the database has; otherwise only those whose files differ from the index. The
// caller has the lock, and has done the rest of catchUp.
func (f *folder) reconcile(ctx context.Context, full bool) error {
	const tries = 3 // another program may be writing to the files
	for try := 1; ; try++ {
		again, incomplete, err := f.reconcileOnce(ctx, full)
		if err != nil {
			return err
		}
		if try == tries || !again && !incomplete {
			f.caughtUp.Store(true)
			return nil
		}
		full = full && incomplete
		if err := f.reopen(); err != nil {
			return err
		}
	}
}

// reconcileOnce is one attempt of reconcile. again says that another may be needed.
// incomplete says that some folders were being replaced, so that their contents could not
// be seen.
func (f *folder) reconcileOnce(ctx context.Context, full bool) (again, incomplete bool, err error) {
	w := &work{f: f, toFlush: map[memento.Path]bool{}}
	for p := range f.unflushed {
		w.toFlush[p] = true
	}
	if full {
		if w.heads, err = f.heads(ctx); err != nil {
			return false, false, err
		}
	} else if err := f.b.exists(ctx, f.store); err != nil {
		return false, false, err // the store was deleted, and its folder may belong to another by now
	}
	s, err := f.scan(ctx, w.heads)
	if err != nil {
		return false, false, err
	}
	rows := map[memento.Path]*row{} // from the index
	for _, r := range f.rowsBelow(memento.Root) {
		rows[r.path] = r
		if r.status.kind == managed {
			w.longest = max(w.longest, r.print.size)
		}
	}
	for _, p := range w.paths(s, rows) {
		if err := w.examine(ctx, p, s, rows[p]); err != nil {
			return false, false, err
		}
	}
	if full {
		f.dirty.scanIncomplete = s.incomplete
	}
	again, err = w.execute(ctx)
	return again, s.incomplete, err
}

// heads returns all memories that the database has at present, by path.
func (f *folder) heads(ctx context.Context) (map[memento.Path]*memento.Memory, error) {
	heads := map[memento.Path]*memento.Memory{}
	for e, err := range f.b.db.List(ctx, f.store, memento.ListOptions{Dir: memento.Root}) {
		if err != nil {
			return nil, err
		}
		heads[e.Path] = &e.Memory
	}
	return heads, nil
}

// work is what one reconciliation has to do.
type work struct {
	f      *folder
	heads  map[memento.Path]*memento.Memory // nil if they are read one by one
	limits *memento.Limits                  // nil until needed
	texts  int64                            // bytes of the texts that were read to become versions

	longest int64 // bytes of the longest managed file; a sealed text is longer than the limit for memories, and its file can be renamed

	changes  changes               // for the index
	tasks    []task                // for writeBack
	emptied  map[memento.Path]bool // folders from which a file was removed
	toFlush  map[memento.Path]bool // folders of files that a process changed, but perhaps did not flush before it died
	findings []finding             // changes by hand

	pastTexts map[memento.Path]*pathHistory // see leftover; nil until needed
	names     map[uint64][]memento.Path     // likewise: of files with several names, by inode
	leftovers []*row                        // rows that the index should have had for files that it does not know
	unflushed map[memento.Path]bool         // files of findings that could not be flushed
}

// A finding is a change by hand.
type finding struct {
	action  action // add, edit or drop
	path    memento.Path
	row     *row
	head    *memento.Memory
	found   found
	text    string
	hash    string // of text
	print   fingerprint
	checked int64
	status  fileStatus // why the text cannot be a memory's, if so
}

// paths returns the paths to examine, in order.
func (w *work) paths(s *scan, rows map[memento.Path]*row) []memento.Path {
	judged := map[memento.Path]struct{}{}
	for p, at := range s.found {
		if r := rows[p]; w.heads != nil || r == nil || r.print != printOf(at.info) || r.status.kind == managed && r.racy() {
			judged[p] = struct{}{}
		}
	}
	for p := range rows {
		if _, there := s.found[p]; w.heads != nil || !there {
			judged[p] = struct{}{}
		}
	}
	for p := range w.heads {
		judged[p] = struct{}{}
	}
	for p := range w.f.dirty.stale {
		judged[p] = struct{}{}
	}
	maps.DeleteFunc(judged, func(p memento.Path, _ struct{}) bool { return !s.sees(p) })
	return slices.Sorted(maps.Keys(judged))
}

// head returns the memory that the database has at a path, or nil.
func (w *work) head(ctx context.Context, p memento.Path) (*memento.Memory, error) {
	if w.heads != nil {
		return w.heads[p], nil
	}
	m, err := w.f.b.db.Get(ctx, w.f.store, memento.ByPath(p))
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrIsDir):
		return nil, nil
	case errors.Is(err, memento.ErrDamaged): // the listing has its path and version
		return w.damagedHead(ctx, p)
	case err != nil:
		return nil, err
	}
	return &m, nil
}

// damagedHead is head for a memory whose contents cannot be read.
func (w *work) damagedHead(ctx context.Context, p memento.Path) (*memento.Memory, error) {
	for e, err := range w.f.b.db.List(ctx, w.f.store, memento.ListOptions{Dir: p.Parent(), Depth: 1}) {
		if err != nil || e.Path == p && !e.Dir {
			return &e.Memory, err
		}
	}
	return nil, nil
}

// examine decides about one path, and records what has to be done.
func (w *work) examine(ctx context.Context, p memento.Path, s *scan, r *row) error {
	head, err := w.head(ctx, p)
	if err != nil {
		return err
	}
	x := finding{path: p, row: r, head: head}
	sit := situation{row: r, head: head}
	at, there := s.found[p]
	if there {
		sit.disk = classify(at.info, r)
		x.found = at
		sit.same = r != nil && r.print == printOf(at.info) && !(r.status.kind == ioFault && w.heads != nil)
		if sit.lost, err = w.lost(ctx, r, head); err != nil {
			return err
		}
	}
	var readErr error
	read := false
	hash := func() string {
		if !read {
			read = true
			readErr = w.read(ctx, &x)
		}
		return x.hash
	}
	if (sit.disk == file || sit.disk == linked) && !sit.same && !sit.lost && w.heads != nil {
		left, err := w.leftover(ctx, &x, s, hash)
		if err != nil {
			return err
		}
		if left != nil {
			r, x.row, sit.row, sit.same, sit.disk = left, left, left, true, file
			w.leftovers = append(w.leftovers, left)
		}
	}
	if sit.disk == file && r == nil && head == nil && p.IsHidden() {
		sit.disk = special // a hidden file of another program
	}
	if sit.same && r.status.kind == managed && r.racy() {
		if sit.same = hash() == r.sha256; sit.same {
			sure := *r
			sure.checked = x.checked
			w.changes.put = append(w.changes.put, &sure)
		}
	}
	v := decide(sit, hash, func(hash string) bool { return w.older(ctx, head, hash) })
	if (v == add || v == edit) && !read {
		hash()
	}
	switch {
	case errors.Is(readErr, errChanging), isAbsent(readErr):
		return nil // the next access examines it again
	case readErr != nil:
		return readErr
	}
	if v == add || v == edit { // the text is kept in memory until it is written
		if w.texts += int64(len(x.text)); w.texts > w.limits.Bytes && x.status.kind == managed {
			w.texts -= int64(len(x.text))
			x.text, x.status = "", fileStatus{blocked, fmt.Sprintf("the store takes no more than %d bytes", w.limits.Bytes)}
		}
	}
	x.action = v
	w.note(x)
	return nil
}

func (w *work) note(x finding) {
	switch x.action {
	case keep:
		w.f.setStale(x.path, false)
	case forget:
		w.f.setStale(x.path, false)
		w.flushParents(x.path)
		w.changes.gone = append(w.changes.gone, x.path)
		if w.emptied == nil {
			w.emptied = map[memento.Path]bool{}
		}
		w.emptied[x.path.Parent()] = true
	case write:
		w.flushParents(x.path)
		w.tasks = append(w.tasks, task{path: x.path, head: x.head, row: x.rowOnDisk()})
	case unlink:
		w.flushParents(x.path)
		w.tasks = append(w.tasks, task{path: x.path, row: x.rowOnDisk()})
	case refresh:
		if w.f.isStale(x.path) && w.f.flushFile(w.f.opened.Load().root, x.found.name) != nil {
			return // it stays stale
		}
		w.f.setStale(x.path, false)
		w.flushParents(x.path)
		w.changes.put = append(w.changes.put, x.managedRow(x.head.ID, x.head.Version))
	case leave:
		// The row has no version: when this is gone, the file is written again.
		w.changes.put = append(w.changes.put, &row{
			path: x.path, memory: x.head.ID, print: printOf(x.found.info), checked: now(),
			status: fileStatus{notRegular, kindReason(x.found.info)},
		})
	case add, edit, drop:
		w.findings = append(w.findings, x)
	}
}

// flushParents records that the folders of a file have to be flushed: the process that
// last changed names in them may have died before it flushed them.
func (w *work) flushParents(p memento.Path) {
	w.toFlush[memento.Root] = true
	for dir := range p.Ancestors() {
		w.toFlush[dir] = true
	}
}

// rowOnDisk returns a row for what is at the path now, or nil if nothing is.
func (x *finding) rowOnDisk() *row {
	if x.found.info == nil {
		return nil
	}
	r := row{path: x.path}
	if x.row != nil {
		r = *x.row
	}
	r.print = printOf(x.found.info)
	return &r
}

// managedRow returns a row that says that the file has the text of a version.
func (x *finding) managedRow(id memento.MemoryID, v memento.VersionID) *row {
	return &row{path: x.path, memory: id, version: v, sha256: x.hash, print: x.print, checked: x.checked}
}

// unmanagedRow returns a row that says that the file is not a memory.
func (x *finding) unmanagedRow(s fileStatus) *row {
	r := &row{path: x.path, print: x.print, checked: x.checked, status: s}
	if x.head != nil {
		r.memory, r.version = x.head.ID, x.head.Version
	}
	return r
}

// read reads the file of a finding, as far as it can be a memory's.
func (w *work) read(ctx context.Context, x *finding) error {
	if w.limits == nil {
		asked, err := w.f.b.db.Apply(ctx, w.f.store, handActor, nil) // without changes it only returns the limits
		if err != nil {
			return err
		}
		w.limits = &asked.Limits
	}
	most := max(w.limits.MemoryBytes, w.longest)
	if x.head != nil {
		size, err := w.sizeOf(ctx, x.head)
		if err != nil {
			return err
		}
		most = max(most, size) // the limit may have been lowered
	}
	x.checked = now()
	var err error
	x.text, x.print, err = readFile(w.f.opened.Load().root, x.found.name, x.found.info, most)
	switch {
	case errors.Is(err, errTooLong):
		x.status = tooLong(x.print.size, w.limits.MemoryBytes)
	case errors.Is(err, fs.ErrPermission):
		x.print = printOf(x.found.info)
		x.status = fileStatus{unreadable, "this program is not permitted to read it"}
	case errors.Is(err, errChanging), isAbsent(err), errors.Is(err, fs.ErrClosed):
		return err
	case err != nil: // an I/O error of this file, which must not stop the others
		x.print = printOf(x.found.info)
		x.status = fileStatus{ioFault, "it cannot be read: " + bare(err).Error()}
	case !isText(x.text):
		x.status = fileStatus{unreadable, "it is not valid UTF-8 text"}
	default:
		x.hash = memento.HashContent(x.text)
	}
	return nil
}

// sizeOf returns the size of the file of a memory.
func (w *work) sizeOf(ctx context.Context, head *memento.Memory) (int64, error) {
	if head.Digest == "" {
		return head.Size, nil
	}
	v, err := w.f.b.db.GetVersion(ctx, w.f.store, head.Version)
	if errors.Is(err, memento.ErrDamaged) {
		return w.longest, nil // unknown, but not longer than any of the files
	}
	return int64(len(v.Content)), err
}

// lost reports whether the version that the index has for a file is not in the database,
// because that was replaced by an older one.
func (w *work) lost(ctx context.Context, r *row, head *memento.Memory) (bool, error) {
	if r == nil || r.status.kind != managed || head != nil && head.Version == r.version {
		return false, nil
	}
	_, err := w.f.b.db.GetVersion(ctx, w.f.store, r.version)
	if errors.Is(err, memento.ErrNotExist) {
		return true, nil
	}
	if errors.Is(err, memento.ErrDamaged) { // the version is there
		return false, nil
	}
	return false, err
}

// older reports whether an earlier version of the head's memory had contents with this
// hash.
func (w *work) older(ctx context.Context, head *memento.Memory, hash string) bool {
	if hash == "" {
		return false
	}
	for v, err := range w.f.b.db.ListVersions(ctx, w.f.store, memento.VersionListOptions{Memory: head.ID}) {
		if err == nil && v.SHA256 == hash {
			return true
		}
	}
	return false
}

// execute carries out what was found to be necessary.
func (w *work) execute(ctx context.Context) (again bool, err error) {
	f := w.f
	if w.changes.isEmpty() && len(w.tasks)+len(w.findings)+len(w.toFlush) == 0 {
		if f.dirty.mark != 0 {
			return false, f.end(&w.changes)
		}
		return false, nil
	}
	f.postponed = nil
	switch err := f.begin(); {
	case isFull(err) && len(w.tasks) == 0: // neither files nor database are changed
		f.dirty.cancel()
		w.postpone(f.b.explainFull(err))
		f.unindexed.merge(&w.changes)
		f.mu.Lock()
		f.apply(&w.changes)
		f.mu.Unlock()
		return false, nil
	case err != nil:
		return false, err
	}
	f.addRows(w.leftovers)
	switch err := w.adopt(ctx); {
	case errors.Is(err, memento.ErrNoSpace):
		w.postpone(err)
		f.dirty.scanIncomplete = true // so that the mark stays
	case err != nil:
		return false, err
	}
	again = f.writeBack(context.WithoutCancel(ctx), w.tasks, hints{emptied: w.emptied, toFlush: w.toFlush}, &w.changes)
	f.delayRetry()
	return again, f.end(&w.changes)
}
