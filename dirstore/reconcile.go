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

// reconcile brings files, index and database together: what was changed by hand
// goes into the database, what the database is ahead goes to the files. full looks at
// what the database has of every path; otherwise only at paths where the files are
// other than the index says. The caller has the lock, and is caught up but for this.
func (f *folder) reconcile(ctx context.Context, full bool) error {
	const tries = 3 // someone may be at the files just now
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

// reconcileOnce is one try of reconcile. again says that another may be needed,
// and vague that some folders were being replaced, so that not everything was seen.
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
		return false, false, err // its folder may be another's by now
	}
	s, err := f.scan(ctx, w.heads)
	if err != nil {
		return false, false, err
	}
	rows := map[memento.Path]*row{} // as the index has them
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

// heads returns all that the database has at present, by path.
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

// work is what a reconciliation finds to be done.
type work struct {
	f      *folder
	heads  map[memento.Path]*memento.Memory // nil if they are asked for one by one
	limits *memento.Limits                  // nil until asked for
	texts  int64                            // bytes of what was read to be taken over

	longest int64 // bytes in the longest file of a memory: what is sealed is longer than it may be, and can be renamed

	changes  changes               // for the index
	tasks    []task                // for settle
	emptied  map[memento.Path]bool // folders from which a file was taken
	toFlush  map[memento.Path]bool // folders of files that someone did not live to record, nor perhaps to flush
	findings []finding             // of changes by hand

	pastTexts map[memento.Path]*pathHistory // see leftover; nil until asked for
	leftovers []*row                        // what the index should have said of files that it does not know
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
	status  fileStatus // why the text cannot be a memory's, if it cannot
}

// paths returns the paths to be judged, in order.
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

// head returns what the database has at a path, or nil.
func (w *work) head(ctx context.Context, p memento.Path) (*memento.Memory, error) {
	if w.heads != nil {
		return w.heads[p], nil
	}
	m, err := w.f.b.db.Get(ctx, w.f.store, memento.ByPath(p))
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrIsDir):
		return nil, nil
	case errors.Is(err, memento.ErrDamaged): // where it is, and of which version, is known all the same
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

// judge decides about one path and notes what is to be done.
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
	if sit.disk == file && !sit.same && !sit.lost && w.heads != nil {
		left, err := w.leftover(ctx, &x, s, hash)
		if err != nil {
			return err
		}
		if left != nil {
			r, x.row, sit.row, sit.same = left, left, left, true
			w.leftovers = append(w.leftovers, left)
		}
	}
	if sit.disk == file && r == nil && head == nil && hidden(p) {
		sit.disk = special // not ours
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
		return nil // the next access sees what has become of it
	case readErr != nil:
		return readErr
	}
	if v == add || v == edit { // which is kept in memory until it is written
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
			return // it still is
		}
		w.f.setStale(x.path, false)
		w.flushParents(x.path)
		w.changes.put = append(w.changes.put, x.managedRow(x.head.ID, x.head.Version))
	case leave:
		// No version: when the thing is gone, the file is written again.
		w.changes.put = append(w.changes.put, &row{
			path: x.path, memory: x.head.ID, print: printOf(x.found.info), checked: now(),
			status: fileStatus{notRegular, kindReason(x.found.info)},
		})
	case add, edit, drop:
		w.findings = append(w.findings, x)
	}
}

// flushParents notes that the names on the way to a file are to be flushed: who changed
// them last did not live to note that they are.
func (w *work) flushParents(p memento.Path) {
	w.toFlush[memento.Root] = true
	for dir := range p.Ancestors() {
		w.toFlush[dir] = true
	}
}

// there returns a row that says what is at the path now, or nil if nothing is.
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

// settled returns the row of a file that has the text of a version.
func (x *finding) managedRow(id memento.MemoryID, v memento.VersionID) *row {
	return &row{path: x.path, memory: id, version: v, sha256: x.hash, print: x.print, checked: x.checked}
}

// unsettled returns the row of a file that cannot be a memory.
func (x *finding) unmanagedRow(s fileStatus) *row {
	r := &row{path: x.path, print: x.print, checked: x.checked, status: s}
	if x.head != nil {
		r.memory, r.version = x.head.ID, x.head.Version
	}
	return r
}

// read reads the file that was found, as far as it could be a memory's.
func (w *work) read(ctx context.Context, x *finding) error {
	if w.limits == nil {
		asked, err := w.f.b.db.Apply(ctx, w.f.store, handActor, nil) // which changes nothing
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
		most = max(most, size) // a limit that was lowered
	}
	x.checked = now()
	var err error
	x.text, x.print, err = readFile(w.f.opened.Load().root, x.found.name, x.found.info, most)
	switch {
	case errors.Is(err, errTooLong):
		x.status = tooLong(x.print.size, w.limits.MemoryBytes)
	case errors.Is(err, fs.ErrPermission):
		x.print = printOf(x.found.info)
		x.status = fileStatus{unreadable, "it may not be read by this program"}
	case errors.Is(err, errChanging), isAbsent(err), errors.Is(err, fs.ErrClosed):
		return err
	case err != nil: // a fault of the disk, of which the other files know nothing
		x.print = printOf(x.found.info)
		x.status = fileStatus{ioFault, "it cannot be read: " + bare(err).Error()}
	case !isText(x.text):
		x.status = fileStatus{unreadable, "it is not valid UTF-8 text"}
	default:
		x.hash = memento.HashContent(x.text)
	}
	return nil
}

// sizeOf returns how long the file of a memory is.
func (w *work) sizeOf(ctx context.Context, head *memento.Memory) (int64, error) {
	if head.Digest == "" {
		return head.Size, nil
	}
	v, err := w.f.b.db.GetVersion(ctx, w.f.store, head.Version)
	if errors.Is(err, memento.ErrDamaged) {
		return w.longest, nil // nobody knows: no longer than what there is
	}
	return int64(len(v.Content)), err
}

// lost reports whether the database knows nothing of the version that the index has
// of a file: they were replaced by older ones.
func (w *work) lost(ctx context.Context, r *row, head *memento.Memory) (bool, error) {
	if r == nil || r.status.kind != managed || head != nil && head.Version == r.version {
		return false, nil
	}
	_, err := w.f.b.db.GetVersion(ctx, w.f.store, r.version)
	if errors.Is(err, memento.ErrNotExist) {
		return true, nil
	}
	if errors.Is(err, memento.ErrDamaged) { // there it is
		return false, nil
	}
	return false, err
}

// older reports whether a version before the head had contents of this hash.
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

// execute does what was found to be done.
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
	case isFull(err) && len(w.tasks) == 0: // nothing happens to files and database
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
		f.dirty.scanIncomplete = true // the mark stays
	case err != nil:
		return false, err
	}
	again = f.writeBack(context.WithoutCancel(ctx), w.tasks, hints{emptied: w.emptied, toFlush: w.toFlush}, &w.changes)
	f.delayRetry()
	return again, f.end(&w.changes)
}
