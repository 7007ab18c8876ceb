package foldersync

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"memento"
	"memento/internal/notefiles"
)

// maxDelay is the longest time between two attempts while rounds fail.
const maxDelay = time.Minute

// Watch makes rounds until the context ends, and then returns nil. It looks for changes
// in the given interval: in the folder at names, sizes and times, in the store at the
// newest version. done is called after each round with its error. A later round that
// fails is tried again, after an interval that grows to a minute.
//
// Errors: that of the first round; [ErrManyDeletions].
func (s *Syncer) Watch(ctx context.Context, every time.Duration, done func(Result, error)) error {
	delay := every
	for first := true; ; first = false {
		before, err := s.marks(ctx)
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
		delay = min(2*delay, max(every, maxDelay))
		if err == nil {
			delay = every
		}
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(delay):
			}
			if err != nil || len(result.Pending) > 0 {
				break
			}
			if now, err := s.marks(ctx); err != nil || now != before {
				break
			}
		}
	}
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
	for v, err := range s.store.Versions(ctx, memento.VersionListOptions{Limit: 1}) {
		if err != nil {
			return m, err
		}
		m.newest = v.Seq
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
