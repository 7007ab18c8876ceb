package dirstore

import (
	"sync"

	"memento"
)

// syncsAtOnce is how many files are flushed at the same time: file systems flush
// many together.
const syncsAtOnce = 16

// atOnce does something with each item, with several at the same time.
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

// flushFound flushes the files that were found, and their names, before the books
// take them over: whoever wrote them perhaps did not, and if the machine then lost
// what is in them, that would look like an edit by hand. What cannot be flushed is
// taken over all the same.
func (w *work) flushFound() {
	root := w.f.opened.Load()
	if root == nil {
		return
	}
	var files []string
	dirs := map[memento.Path]bool{}
	for _, x := range w.findings {
		if x.verdict == drop {
			continue
		}
		files = append(files, x.found.name)
		for dir := x.path.Parent(); !dirs[dir]; dir = dir.Parent() {
			dirs[dir] = true
		}
	}
	atOnce(files, func(name string) {
		if f, err := root.root.OpenFile(name, readFlags, 0); err == nil {
			_ = f.Sync()
			_ = f.Close()
		}
	})
	for p := range dirs {
		if dir, err := w.f.descend(root.root, p); err == nil {
			_ = syncFolder(dir)
			if dir != root.root {
				_ = dir.Close()
			}
		}
	}
	w.f.b.step("flushed-found")
}
