// Package maintenance does what becomes due as time goes by: it removes memories that have
// expired and versions that history no longer retains, as the settings of each store say.
//
// Start with [New] and [Runner.Run]. A [Runner] believes no single clock, and holds what
// would remove more than usual ([HeldError]). [Expire], [PruneHistory] and [Prune] work on
// one store and trust the time that they are given.
package maintenance

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"memento"
	"memento/backend"
	"memento/internal/times"
)

// A Runner does maintenance for a process: it removes expired memories and prunes
// history, as the settings of the stores say. It never trusts a single clock, and never
// removes more than usual without confirmation. A server creates one when it starts. A
// program that does maintenance regularly creates one for each run.
//
// The machine's time is trusted if it agrees with the other evidence:
//
//   - The clock of the storage, if the backend is a [backend.Clock]: it may differ by 5 minutes.
//   - The mark, which is the last time that was trusted, kept by a [backend.NoteKeeper]. If this
//     Runner set it, the time that has passed since may exceed the time by a clock
//     that cannot be set by at most 5 minutes, unless another process has trusted a
//     later time. A clock that has jumped by at most 8 days is trusted again after it
//     has kept pace for a day. If another process set the mark, it may be at most 8 days
//     old, or the versions made since must leave no gap of more than 8 days.
//   - Without a mark, the times of all versions, unless the storage's clock agrees: no
//     version of the last 8 days may follow a gap of more than 8 days. If one does, the
//     time before the gap becomes the mark. An empty backend needs no check, since there
//     is nothing to remove.
//
// A time before the mark is trusted, since it removes less. A time that is not trusted
// sets no mark.
//
// A Runner is safe for concurrent use.
//
// Source: docs/reliability.md, "Nothing is removed on the word of one clock".
type Runner struct {
	backend     memento.Backend
	opts        Options
	id          string
	countsSleep bool // whether elapsed counts the time that the machine sleeps

	lock       chan struct{} // held during a check; guards the fields below
	ownMark    *moment       // when this Runner set its last mark; nil if it has set none
	pacedSince *moment       // since when a clock that jumped has kept pace; nil if it has not jumped
}

// A moment is one instant by two clocks.
type moment struct {
	wall    time.Time
	elapsed time.Duration
}

// Options are the options of [New]; the zero value means all defaults.
type Options struct {
	// Now returns the time; nil means time.Now.
	Now func() time.Time

	// Elapsed returns the time since a fixed moment in the past, by a clock that cannot
	// be set and that does not stop while the machine sleeps. Nil means a clock of this
	// machine.
	Elapsed func() time.Duration

	// Share is the share of a store's memories, or of its versions, in percent, that a
	// run removes without Force; 0 means [DefaultShare], and 100 means no limit.
	Share int

	// Force trusts the time and removes what would be held otherwise.
	Force bool
}

const (
	clockSlack = 5 * time.Minute    // the most by which agreeing clocks differ
	maxGap     = 8 * 24 * time.Hour // the longest pause of maintenance that needs no other evidence
	paceTime   = 24 * time.Hour     // after which a clock that has jumped is trusted again

	maxVersionTimes = 200_000 // the most versions that are read as evidence for a pause
)

// New returns a Runner for a backend.
func New(b memento.Backend, opts Options) *Runner {
	r := &Runner{backend: b, opts: opts, id: rand.Text(), countsSleep: true, lock: make(chan struct{}, 1)}
	if r.opts.Now == nil {
		r.opts.Now = time.Now
	}
	r.opts.Share = cmp.Or(r.opts.Share, DefaultShare)
	if r.opts.Elapsed == nil {
		r.opts.Elapsed, r.countsSleep = newElapsed()
	}
	return r
}

// A ClockError says why the time is not trusted. It is [ErrHeld].
type ClockError struct {
	Reason ClockReason
	Now    time.Time // by the clock that is not trusted
	Other  time.Time // the time it was compared with
}

// A ClockReason says what a clock disagrees with.
type ClockReason string

// The reasons.
const (
	ClockStorage ClockReason = "storage_clock" // Other is the time by the storage's clock
	ClockMoved   ClockReason = "clock_moved"   // Other is the expected time
	ClockGap     ClockReason = "gap"           // Other is the last known time before a gap
)

func (e *ClockError) Error() string {
	now, other := e.Now.UTC().Format(time.DateTime), e.Other.UTC().Format(time.DateTime)
	switch e.Reason {
	case ClockStorage:
		return fmt.Sprintf("maintenance is held: this machine's clock says %s UTC, and the storage's %s", now, other)
	case ClockMoved:
		return fmt.Sprintf("maintenance is held: this machine's clock jumped to %s UTC; expected about %s", now, other)
	}
	return fmt.Sprintf("maintenance is held: this machine's clock says %s UTC, but the last activity was at %s", now, other)
}

func (e *ClockError) Unwrap() error { return ErrHeld }

// A ClockCheck is the result of a check of the clock: a time that is trusted.
type ClockCheck struct {
	At     time.Time
	Behind time.Duration // how far At lies before the mark; 0 if by no more than clocks may differ
	Forced error         // the *ClockError that Force has overridden; nil if there was none
}

// CheckClockAtStart checks the clock when a process starts. It sets the mark, unless that
// would set it back: the clock may be corrected soon. It removes nothing.
//
// Errors: as CheckClock.
func (r *Runner) CheckClockAtStart(ctx context.Context) (ClockCheck, error) {
	return r.checkClock(ctx, checkAtStart)
}

// CheckClock checks the clock before a run, and sets the mark.
//
// Errors: a *ClockError; those of the backend.
func (r *Runner) CheckClock(ctx context.Context) (ClockCheck, error) {
	return r.checkClock(ctx, checkBeforeRun)
}

// CheckClockDry checks the clock without setting the mark, for dry runs.
//
// Errors: as CheckClock.
func (r *Runner) CheckClockDry(ctx context.Context) (ClockCheck, error) {
	return r.checkClock(ctx, checkDry)
}

type clockCheckMode int

const (
	checkDry clockCheckMode = iota
	checkAtStart
	checkBeforeRun
)

// A timeMark is the last time that was trusted.
type timeMark struct {
	At  time.Time `json:"at"`
	By  string    `json:"by"`           // the Runner that set it
	Was time.Time `json:"was,omitzero"` // the mark before which At lies
}

// markName is the name of the note with the mark. It stays as in earlier versions.
const markName = "upkeep"

func (r *Runner) checkClock(ctx context.Context, when clockCheckMode) (j ClockCheck, err error) {
	select {
	case r.lock <- struct{}{}:
	case <-ctx.Done():
		return j, ctx.Err()
	}
	defer func() { <-r.lock }()
	agrees, at, err := r.compareStorageClock(ctx)
	j.At = at
	elapsed := r.opts.Elapsed()
	if err := r.override(&j, err); err != nil {
		return j, err
	}
	last, ok, err := r.lastMark(ctx)
	if err != nil || !ok && agrees {
		return j, err
	}
	empty := false
	switch {
	case !last.At.IsZero():
		err = r.compareMark(ctx, last, moment{at, elapsed})
	case !agrees:
		empty, err = r.checkAllGaps(ctx, at)
		if gap, is := errors.AsType[*ClockError](err); is && ok && !r.opts.Force && when != checkDry {
			// Versions written from now on must not count as evidence.
			if noted := r.setMark(ctx, timeMark{At: gap.Other}); noted != nil {
				return j, noted
			}
		}
	}
	if err := r.override(&j, err); err != nil {
		return j, err
	}
	r.pacedSince = nil
	if behind := last.At.Sub(at); behind > clockSlack {
		j.Behind = behind
	}
	if !ok || empty || when == checkDry || when == checkAtStart && j.Behind > 0 {
		return j, nil
	}
	next := timeMark{At: at, By: r.id}
	if j.Behind > 0 && !r.opts.Force {
		next.Was = last.At
		if last.Was.After(last.At) {
			next.Was = last.Was
		}
	}
	if err := r.setMark(ctx, next); err != nil {
		return j, err
	}
	r.ownMark = &moment{at, elapsed}
	return j, nil
}

// lastMark returns the mark, or zero if there is none or it cannot be read. ok reports
// whether the backend keeps marks.
func (r *Runner) lastMark(ctx context.Context) (last timeMark, ok bool, err error) {
	notes, ok := r.backend.(backend.NoteKeeper)
	if !ok {
		return last, false, nil
	}
	text, err := notes.Note(ctx, markName)
	if errors.Is(err, memento.ErrUnsupported) {
		return last, false, nil
	}
	if err == nil && json.Unmarshal([]byte(text), &last) != nil {
		last = timeMark{}
	}
	return last, err == nil, err
}

func (r *Runner) setMark(ctx context.Context, m timeMark) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return r.backend.(backend.NoteKeeper).SetNote(ctx, markName, string(text))
}

// override returns err, except if Force overrides it.
func (r *Runner) override(j *ClockCheck, err error) error {
	if wrong, ok := errors.AsType[*ClockError](err); ok && r.opts.Force {
		j.Forced = wrong
		return nil
	}
	return err
}

// compareStorageClock returns the machine's time, and whether the storage's clock agrees.
func (r *Runner) compareStorageClock(ctx context.Context) (agrees bool, at time.Time, err error) {
	clock, ok := r.backend.(backend.Clock)
	if !ok {
		return false, times.Stored(r.opts.Now()), nil
	}
	began := r.opts.Now()
	there, err := clock.StorageTime(ctx)
	at = r.opts.Now()
	switch {
	case errors.Is(err, memento.ErrUnsupported):
		return false, times.Stored(at), nil
	case err != nil:
		return false, times.Stored(at), err
	case began.Sub(there) > clockSlack || there.Sub(at) > clockSlack:
		return false, times.Stored(at), &ClockError{ClockStorage, times.Stored(at), there}
	}
	return true, times.Stored(at), nil
}

// compareMark compares the time with the last mark.
func (r *Runner) compareMark(ctx context.Context, last timeMark, now moment) error {
	mine := last.By == r.id
	if r.countsSleep && r.ownMark != nil {
		ran := now.elapsed - r.ownMark.elapsed
		expected := r.ownMark.wall.Add(ran)
		back := now.wall.Sub(last.Was)
		switch {
		case !mine && last.At.Sub(expected) > clockSlack: // another process trusts a later time
		case now.wall.Sub(expected) <= clockSlack:
			if mine {
				return nil
			}
		case mine && !last.Was.IsZero() && back >= -clockSlack && back <= ran+maxGap:
			return nil // a clock that was set back is right again
		case now.wall.Sub(expected) <= maxGap && r.keepsPace(now):
			return nil
		default:
			return &ClockError{ClockMoved, now.wall, expected}
		}
	}
	if now.wall.Sub(last.At) <= maxGap {
		return nil
	}
	return r.checkGaps(ctx, last.At, now.wall)
}

// keepsPace reports whether a clock that has jumped has kept pace for paceTime since.
func (r *Runner) keepsPace(now moment) bool {
	if r.pacedSince != nil {
		ran := now.elapsed - r.pacedSince.elapsed
		if (now.wall.Sub(r.pacedSince.wall) - ran).Abs() <= clockSlack {
			return ran >= paceTime
		}
	}
	r.pacedSince = &now
	return false
}

// checkGaps returns a *ClockError if between two times there is a gap of more than maxGap
// in which no version was made.
func (r *Runner) checkGaps(ctx context.Context, from, to time.Time) error {
	times, err := r.versionTimes(ctx, from, to)
	if err != nil {
		return err
	}
	for _, t := range append(times, to) {
		if t.Sub(from) > maxGap {
			return &ClockError{ClockGap, to, from}
		}
		from = t
	}
	return nil
}

// checkAllGaps returns a *ClockError if a gap of more than maxGap between versions ended
// within the last maxGap. empty reports that there are no versions.
func (r *Runner) checkAllGaps(ctx context.Context, to time.Time) (empty bool, err error) {
	times, err := r.versionTimes(ctx, time.Time{}, to)
	if err != nil || len(times) == 0 {
		return err == nil, err
	}
	for i := len(times) - 1; i >= 0; i-- {
		switch {
		case to.Sub(times[i]) > maxGap && i == len(times)-1, i < len(times)-1 && times[i+1].Sub(times[i]) > maxGap:
			return false, &ClockError{ClockGap, to, times[i]}
		case to.Sub(times[i]) > maxGap:
			return false, nil
		}
	}
	return false, nil
}

// Run does maintenance for every store of a workspace, archived ones included:
// expired memories are removed, then history is pruned. It continues with the other
// stores if a store fails or is held.
func (r *Runner) Run(ctx context.Context, ws memento.Workspace, j ClockCheck) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		var stores []memento.StoreInfo // read completely first, since an open listing can keep a backend from pruning
		for info, err := range r.backend.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				yield(Result{}, err)
				return
			}
			stores = append(stores, info)
		}
		for _, info := range stores {
			done, err := r.maintain(ctx, info, j)
			if errors.Is(err, memento.ErrNoStore) { // deleted meanwhile
				continue
			}
			if !yield(done, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// A Result says what maintenance did in one store.
type Result struct {
	Store   memento.StoreInfo // before maintenance
	Expired []Expired
	Pruned  memento.Pruned
	Held    []*HeldError // what was not removed because it is more than usual
}

func (r *Runner) maintain(ctx context.Context, info memento.StoreInfo, j ClockCheck) (Result, error) {
	done := Result{Store: info}
	s, err := memento.OpenStore(ctx, r.backend, info.Workspace, info.ID, nil) // no contents are written, so no detector is needed
	if err != nil {
		return done, err
	}
	var expiring, collecting error
	done.Expired, expiring = r.Expire(ctx, s, j, false)
	done.Pruned, collecting = r.PruneHistory(ctx, s, j, false)
	for _, err := range []*error{&expiring, &collecting} {
		if held, ok := errors.AsType[*HeldError](*err); ok {
			done.Held = append(done.Held, held)
			*err = nil
		}
	}
	return done, cmp.Or(expiring, collecting)
}

// Expire is [Expire] at a checked time.
//
// Further errors: a *HeldError; with dryRun, together with what would expire.
func (r *Runner) Expire(ctx context.Context, s *memento.Store, j ClockCheck, dryRun bool) ([]Expired, error) {
	return expire(ctx, s, j.At, r.runOptions(dryRun))
}

// PruneHistory is [PruneHistory] at a checked time.
//
// Further errors: a *HeldError; with dryRun, together with what would be removed.
func (r *Runner) PruneHistory(ctx context.Context, s *memento.Store, j ClockCheck, dryRun bool) (memento.Pruned, error) {
	sum, err := pruneHistory(ctx, s, j.At, r.runOptions(dryRun))
	if !dryRun && errors.Is(err, ErrHeld) {
		sum = memento.Pruned{}
	}
	return sum, err
}

func (r *Runner) runOptions(dryRun bool) run {
	o := run{dryRun: dryRun, share: r.opts.Share}
	if r.opts.Force {
		o.share = 0
	}
	return o
}
