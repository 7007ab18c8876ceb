// Package foldersync keeps a folder of notes and a store the same, in both directions.
//
// Start with [Open], then call [Syncer.Sync] for one round, or [Syncer.Watch] until the
// context ends. Several machines can sync their folders with one store.
//
// # How it decides
//
// For each path there are three texts: the file's, the memory's, and the base, which is
// the text that both sides had after the last round. The base is kept in a state file. A
// side whose text is not the base has changed:
//
//   - One side has changed: the other one gets its text, its deletion or its rename.
//   - Both have changed: the changes are merged line by line, by the rules of undo
//     (package internal/lines). If both have changed the same lines, the memory's text
//     stays at the path and the file's text becomes a conflict copy on both sides, as in
//     "note (conflict 2026-11-22 laptop).md".
//   - One side has deleted the note, and the other one has changed it: the change stays.
//
// A rename in the store is known by the memory's ID, one in the folder by its contents: one
// file is gone, and one with the same text is new.
//
// # What it promises
//
// No edit is lost, whoever writes on either side meanwhile, and wherever the process is
// killed:
//
//   - A memory is only written or removed on condition that it has the version that the
//     decision was made for.
//   - A file is replaced by exchanging it with a complete new file, and compared after
//     that: if another program has changed it in between, it is exchanged back. A
//     displaced file is compared again before it is deleted, for programs that had it
//     open. Where the system cannot exchange files, the file is moved away first.
//   - The base advances after both sides have the text, and files are flushed before
//     that. A state file that is behind is harmless: the round that follows finds both
//     sides equal.
//
// Which files are notes is the decision of package internal/notefiles. All other files
// are left alone, and so is what they hide in the store.
package foldersync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"memento"
	"memento/internal/filewatch"
	"memento/internal/notefiles"
)

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Actor is who makes the changes in the store.
	Actor memento.Actor
	// Host is in the names of conflict copies; by default the name of this machine.
	Host string
	// Exclude are patterns of paths that are left alone on both sides.
	Exclude []memento.Pattern
	// DryRun makes a round report what it would do, and change nothing. The state file
	// is not created.
	DryRun bool
	// Force allows a round to delete more notes than usual; see [ErrManyDeletions].
	Force bool
	// Report, if not nil, is called with each action after it was done, or with DryRun
	// instead of that.
	Report func(Action)
	// Now is the clock for the names of conflict copies; by default time.Now.
	Now func() time.Time
}

// A Syncer syncs one folder with one store. It is not safe for concurrent use.
type Syncer struct {
	opts   Options
	store  *memento.Store
	folder *folder
	state  *state

	limits   memento.Limits
	settling time.Duration         // settleTime, except in tests
	step     func(name string)     // called between the steps of a write; tests interrupt there
	watching func(*filewatch.Tree) // changes how the folder is watched; nil except in tests
}

// ErrManyDeletions says that a round would delete more than half of all synced notes on
// one side, and more than ten. Usually the other side is not what it was, such as a disk
// that is not mounted. Nothing was changed. Options.Force allows it.
var ErrManyDeletions = errors.New("more deletions than usual")

// Open opens a folder, which must exist, to sync it with a store. stateFile is where the
// state of this pair is kept: see [StateFile]. It is locked until Close.
//
// Errors: fs.ErrNotExist; backend.ErrInUse if another process syncs the pair;
// memento.ErrFormat for a state file of a newer version; those of the file system.
func Open(folder string, store *memento.Store, stateFile string, opts *Options) (*Syncer, error) {
	s := &Syncer{store: store, settling: settleTime, step: func(string) {}}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Report == nil {
		s.opts.Report = func(Action) {}
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if s.opts.Host == "" {
		name, _ := os.Hostname()
		s.opts.Host = cmp.Or(name, "unknown")
	}
	var err error
	if s.folder, err = openFolder(folder, filepath.Base(stateFile)); err != nil {
		return nil, err
	}
	s.folder.rules = notefiles.Rules{Exclude: s.opts.Exclude}
	if s.state, err = openState(stateFile, s.opts.DryRun); err != nil {
		return nil, errors.Join(err, s.folder.close())
	}
	s.folder.step = func(name string) { s.step(name) }
	s.folder.journal = s.state
	return s, nil
}

// Close releases the folder and the state file. The store stays open.
func (s *Syncer) Close() error {
	return errors.Join(s.state.close(), s.folder.close())
}

// The number of passes of one round. A pass is repeated if something changed meanwhile.
const maxPasses = 12

// Sync makes one round: it looks at both sides, and does what makes them the same. What
// changes meanwhile is looked at again; what changes all the time is in Result.Pending.
//
// Errors: [ErrManyDeletions]; ErrUnavailable, ErrDenied, ErrArchived, ErrNoSpace and
// others that are not about one note; the context's. A round that failed is continued by
// the next one.
func (s *Syncer) Sync(ctx context.Context) (Result, error) {
	r := &round{Syncer: s, ctx: ctx, left: map[memento.Path]Problem{}}
	err := r.run()
	return r.finish(), err
}

// run makes passes until nothing is left to do.
func (r *round) run() error {
	if !r.opts.DryRun {
		if err := r.recover(); err != nil {
			return err
		}
	}
	for n := range maxPasses {
		if err := r.pause(time.Duration(n) * 25 * time.Millisecond); err != nil {
			return err
		}
		again, err := r.pass()
		if err != nil || r.opts.DryRun {
			return err
		}
		copied, err := r.settle()
		if err != nil || !again && !copied {
			return err
		}
	}
	return nil
}

// pause waits, or returns the context's error.
func (r *round) pause(d time.Duration) error {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-r.ctx.Done():
		}
	}
	return r.ctx.Err()
}

// look reads both sides and the state.
func (r *round) look() (*view, error) {
	info, made, err := r.store.InfoIfCreated(r.ctx)
	if err != nil {
		return nil, err
	}
	r.limits = memento.DefaultLimits()
	if made {
		r.limits = info.Limits
	}
	r.folder.rules.MaxBytes = r.limits.MemoryBytes
	v := newView(r.state.rows)
	for e, err := range r.store.List(r.ctx, memento.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		if e.Foreign {
			v.leave(Problem{Path: e.Path, Reason: "another kind of file is in its place in the store", Expected: true})
			continue
		}
		v.memories[e.Path] = memory{id: e.Memory.ID, version: e.Memory.Version, sha: e.Memory.SHA256}
	}
	if err := r.folder.scan(r.ctx, v, !r.opts.DryRun); err != nil {
		return nil, err
	}
	v.restrict(&r.folder.rules)
	return v, nil
}

// fault returns an error about a path, for messages.
func fault(p memento.Path, err error) error { return fmt.Errorf("%s: %w", p, err) }
