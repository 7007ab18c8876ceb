package dirstore

import (
	"os"
	"sync"

	"memento"
)

// What makes a change durable. The promise: when a change is reported as done, a crash of
// the process or of the machine does not take it back. The database keeps it; the files
// follow, and what is missing of them is written when the store is used next.
//
// An Apply does the following, holding the store's lock:
//
//  1. it examines the files that the changes are about, and makes versions from
//     changes by hand;
//  2. it sets a dirty mark, which other processes see if this one dies;
//  3. it commits the changes to the database, which flushes them: from here on they
//     are made, and the database has the contents;
//  4. it removes the files of removed memories, renames those of moved memories, and
//     removes folders that are empty by that: writer.removeOld in writeback.go, as all that
//     follows;
//  5. it writes each new text to a temporary file in the same folder, mode 0600, and
//     flushes it: writeTemp, flush;
//  6. it checks again that no other program has changed the target, and renames the
//     temporary file to it: install;
//  7. it flushes every folder in which names have changed: sync;
//  8. it updates the index, and clears the mark.
//
// If a process dies in between, the mark stays, and the next process to use the store
// compares all files and completes the work. After a power failure the same happens when
// the folder is opened. If the disk does not allow a file to be written, the change is
// made nevertheless: the file is written as soon as possible.

// A syncer flushes files and folders. Every flush of a file or folder of memories goes
// through the Backend's syncer. Tests use one that records the flushes, or fails.
type syncer interface {
	syncFile(*os.File) error   // its contents
	syncFolder(*os.Root) error // the names in it
}

// osSyncer flushes with the operating system's calls.
type osSyncer struct{}

func (osSyncer) syncFile(f *os.File) error     { return f.Sync() }
func (osSyncer) syncFolder(dir *os.Root) error { return syncFolder(dir) }

// syncsAtOnce is how many files are flushed at the same time. File systems combine
// concurrent flushes.
const syncsAtOnce = 16

// atOnce calls do for each item, for several at the same time.
func atOnce[T any](items []T, do func(T)) {
	if len(items) == 1 {
		do(items[0])
		return
	}
	turns := make(chan struct{}, syncsAtOnce)
	var wg sync.WaitGroup
	for _, item := range items {
		turns <- struct{}{}
		wg.Go(func() {
			do(item)
			<-turns
		})
	}
	wg.Wait()
}

// flushFound flushes the files that were found, and their names, before the database
// takes over their contents. Their author may not have flushed them: if a power failure
// then took back their contents, that would look like a change by hand. A file that
// cannot be flushed is taken over nevertheless, but not entered in the index: it counts
// as stale until it is flushed.
func (w *work) flushFound() {
	root := w.f.opened.Load()
	if root == nil {
		return
	}
	type file struct {
		name string
		path memento.Path
	}
	var files []file
	dirs := map[memento.Path]bool{}
	var mu sync.Mutex // for what follows
	w.unflushed = map[memento.Path]bool{}
	for _, x := range w.findings {
		if x.action == drop {
			continue
		}
		files = append(files, file{x.found.name, x.path})
		for dir := x.path.Parent(); !dirs[dir]; dir = dir.Parent() {
			dirs[dir] = true
		}
	}
	atOnce(files, func(x file) {
		if w.f.flushFile(root.root, x.name) != nil {
			mu.Lock()
			defer mu.Unlock()
			w.unflushed[x.path] = true
		}
	})
	for p := range dirs {
		if w.f.flushFolder(root.root, p) != nil {
			w.f.unflushed[p] = struct{}{}
			for _, x := range files {
				if p.Contains(x.path) {
					w.unflushed[x.path] = true
				}
			}
		}
	}
	w.f.b.step("flushed-found")
}

// flushFile flushes a file that another program wrote. A file that no longer exists needs
// no flush.
func (f *folder) flushFile(root *os.Root, name string) error {
	file, err := root.OpenFile(name, readFlags, 0)
	if isAbsent(err) || isLink(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = f.b.syncer.syncFile(file)
	_ = file.Close() // it was only read
	return err
}

// flushFolder flushes the names in the folder at a path.
func (f *folder) flushFolder(root *os.Root, p memento.Path) error {
	dir, err := f.descend(root, p)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if dir != root {
		defer dir.Close()
	}
	return f.b.syncer.syncFolder(dir)
}
