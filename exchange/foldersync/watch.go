package foldersync

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"memento"
	"memento/internal/filewatch"
	"memento/internal/notefiles"
)

// maxDelay is the longest time between two attempts while rounds fail.
const maxDelay = time.Minute

// Watch makes rounds until the context ends, and then returns nil. Changes in the folder
// are noticed by notifications of the file system, and synced when the files rest; where
// there are none, the folder is looked at in the given interval. The store is asked for its
// newest version in this interval, and both sides are compared every minute besides. done
// is called after each round with its error. A later round that fails is tried again, after
// an interval that grows to a minute.
//
// Errors: that of the first round; [ErrManyDeletions].
func (s *Syncer) Watch(ctx context.Context, every time.Duration, done func(Result, error)) error {
	w := filewatch.New(s.tree(every))
	defer w.Close()
	var last marks // before the last round
	first, synced, delay, rest := true, false, every, time.Duration(0)
	for {
		if w.Settle(ctx) != nil {
			return nil
		}
		start := time.Now()
		now, err := s.marks(ctx)
		if err != nil || !synced || now != last {
			var result Result
			if err == nil {
				result, err = s.Sync(ctx)
			}
			if ctx.Err() != nil {
				return nil
			}
			if err != nil && (first || errors.Is(err, ErrManyDeletions)) {
				return err
			}
			done(result, err)
			s.opts.Force = false // it was meant for what there was to delete at the beginning
			first, synced, last = false, err == nil && len(result.Pending) == 0, now
			if !synced {
				if !sleep(ctx, delay) {
					return nil
				}
				delay = min(2*delay, max(every, maxDelay))
				continue
			}
			delay, rest = every, 0
			if result.Actions() == 0 { // otherwise this was longer than usual
				rest = min(time.Since(start), maxDelay)
			}
		}
		if s.waitForChange(ctx, w, last.newest, every, rest) != nil {
			return nil
		}
	}
}

// sleep waits, and reports whether the context has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// waitForChange rests for a time, and then waits until something has probably changed on
// either side. It returns an error only when ctx ends.
func (s *Syncer) waitForChange(ctx context.Context, w *filewatch.Watcher, newest int64, every, rest time.Duration) error {
	polling, stop := context.WithCancel(ctx)
	var polls sync.WaitGroup
	defer polls.Wait()
	defer stop()
	wake := make(chan struct{}, 1)
	polls.Go(func() {
		for sleep(polling, every) {
			seq, err := s.newestSeq(polling)
			if err != nil || seq != newest || s.folder.checkPresent() != nil {
				wake <- struct{}{}
				return
			}
		}
	})
	return w.Wait(ctx, rest, wake)
}

// tree is the folder, for filewatch.
func (s *Syncer) tree(poll time.Duration) filewatch.Tree {
	tree := filewatch.Tree{Walk: s.walk, Poll: poll, Ignores: func(name string) bool {
		rel, err := filepath.Rel(s.folder.path, name)
		return err == nil && s.leavesOut(filepath.ToSlash(rel))
	}}
	if s.watching != nil {
		s.watching(&tree)
	}
	return tree
}

// leavesOut reports whether a file or folder is hidden or excluded.
func (s *Syncer) leavesOut(name string) bool {
	if name == "." {
		return false
	}
	_, left := s.folder.rules.Judge(name, 0, -1)
	return left == notefiles.Hidden || left == notefiles.Excluded
}

// walk calls do for the folder, and for all in it that is neither hidden nor excluded.
func (s *Syncer) walk(ctx context.Context, do func(name string, d fs.DirEntry) error) error {
	return fs.WalkDir(s.folder.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // it disappeared, or cannot be read
		case s.leavesOut(name):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return do(filepath.Join(s.folder.path, filepath.FromSlash(name)), d)
	})
}

// marks tell whether something has changed on either side.
type marks struct {
	files  uint64 // hash of the names, sizes and times of all notes
	newest int64  // Seq of the newest version
	usage  memento.Usage
}

// marks reads the marks of both sides. The newest version and the usage suffice for the
// store: what was written has a newer version, until it is deleted or its history pruned,
// which changes the usage.
func (s *Syncer) marks(ctx context.Context) (m marks, err error) {
	info, made, err := s.store.InfoIfCreated(ctx)
	if err != nil {
		return m, err
	}
	if made {
		m.usage = info.Usage
	}
	if m.newest, err = s.newestSeq(ctx); err != nil {
		return m, err
	}
	if err := s.folder.checkPresent(); err != nil {
		return m, err
	}
	h := fnv.New64a()
	err = notefiles.Walk(ctx, s.folder.root, &s.folder.rules, func(f notefiles.File) error {
		if f.Left == "" {
			fmt.Fprintf(h, "%q %v\n", f.Name, printOf(f.Info))
		}
		return nil
	})
	m.files = h.Sum64()
	return m, err
}

// newestSeq returns the Seq of the newest version, or 0.
func (s *Syncer) newestSeq(ctx context.Context) (int64, error) {
	for v, err := range s.store.Versions(ctx, memento.VersionListOptions{Limit: 1}) {
		return v.Seq, err
	}
	return 0, nil
}
