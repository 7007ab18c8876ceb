package memento

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Maintainer does upkeep for a process: it lets memories expire and removes history
// that is over, as stores' settings have it, but never on the word of one clock, and
// not more than usual without a word. A server makes one when it starts; a program that
// does it now and then makes one for each run.
//
// The time is believed if it agrees with what else knows about time:
//
//   - The storage's clock, if the backend is a [Clock], which may be 5 minutes off.
//   - The mark, which is the time that was believed last, kept by a [NoteKeeper]. If
//     this Maintainer has left one, no more time may have passed by the clock since than
//     has passed by a clock that cannot be set, but for 5 minutes, unless another
//     process has believed a later time. A clock that has moved by at most 8 days is
//     believed again once it has kept pace for a day. If another process has left the
//     mark, it may be at most 8 days ago, or the times of versions made since must leave
//     no longer gap.
//   - Without a mark, the times of all versions, unless the storage's clock agrees: in
//     the last 8 days they must not go on after a longer gap. If they do, the time
//     before the gap becomes the mark. With nothing in the backend there is nothing to
//     remove, and nothing to ask.
//
// A time that lies before the mark is believed, since it removes less. Whatever is not
// believed leaves no mark.
//
// A Maintainer is safe for concurrent use.
//
// Source: docs/reliability.md, "Nothing is removed on the word of one clock".
type Maintainer struct {
	backend     Backend
	opts        MaintainerOptions
	id          string
	countsSleep bool // whether elapsed counts the time that the machine sleeps

	lock       chan struct{} // held by whoever judges; guards what follows
	ownMark    *moment       // when this Maintainer left its last mark; nil if it has left none
	pacedSince *moment       // since when a clock that has moved has kept pace; nil if it has not moved
}

// A moment is one instant by two clocks.
type moment struct {
	wall    time.Time
	elapsed time.Duration
}

// MaintainerOptions are the options of [NewMaintainer]; the zero value means all defaults.
type MaintainerOptions struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time

	// Elapsed tells how much time has passed since some moment in the past, the same
	// for the life of the Maintainer, by a clock that cannot be set and that does not stop
	// while the machine sleeps. Nil means one of this machine's.
	Elapsed func() time.Duration

	// Share is how much of a store's memories, or of its versions, in percent, goes in
	// a run without a word; 0 means [DefaultShare], and 100 is without limit.
	Share int

	// Force is the word: what would be held is done, and the time is believed.
	Force bool
}

const (
	clockSlack = 5 * time.Minute    // by which clocks that agree may differ
	maxGap     = 8 * 24 * time.Hour // the longest pause of upkeep that nothing need explain
	paceTime   = 24 * time.Hour     // after which a clock that has moved is believed again

	maxVersionTimes = 200_000 // versions that are looked at to explain a pause
)

// NewMaintainer returns a Maintainer for a backend.
func NewMaintainer(b Backend, opts MaintainerOptions) *Maintainer {
	u := &Maintainer{backend: b, opts: opts, id: rand.Text(), countsSleep: true, lock: make(chan struct{}, 1)}
	if u.opts.Now == nil {
		u.opts.Now = time.Now
	}
	u.opts.Share = cmp.Or(u.opts.Share, DefaultShare)
	if u.opts.Elapsed == nil {
		u.opts.Elapsed, u.countsSleep = newElapsed()
	}
	return u
}

// A ClockError says why the time is not believed. It is [ErrHeld].
type ClockError struct {
	Reason ClockReason
	Now    time.Time // by the clock that is not believed
	Other  time.Time // what it was compared with
}

// A ClockReason says what a clock disagrees with.
type ClockReason string

// The reasons.
const (
	ClockStorage ClockReason = "storage_clock" // Other is the time by the storage's clock
	ClockMoved   ClockReason = "clock_moved"   // Other is what the time should be
	ClockGap     ClockReason = "gap"           // Other is the last time that is known before a gap
)

func (e *ClockError) Error() string {
	now, other := e.Now.UTC().Format(time.DateTime), e.Other.UTC().Format(time.DateTime)
	switch e.Reason {
	case ClockStorage:
		return fmt.Sprintf("maintenance is held: this machine's clock says %s UTC, and the storage's %s", now, other)
	case ClockMoved:
		return fmt.Sprintf("maintenance is held: this machine's clock has moved to %s UTC, when it should be about %s", now, other)
	}
	return fmt.Sprintf("maintenance is held: this machine's clock says %s UTC, and nothing was done or written since %s", now, other)
}

func (e *ClockError) Unwrap() error { return ErrHeld }

// A ClockCheck is a time that is believed.
type ClockCheck struct {
	At     time.Time
	Behind time.Duration // how far it lies before the mark, if by more than clocks may differ
	Forced error         // the *ClockError that Force has overridden; nil if there was none
}

// CheckClockAtStart judges the time when a process starts, and leaves a mark, but not one that lies
// before the present one: a clock may be set right soon. It removes nothing.
//
// Errors: as CheckClock.
func (u *Maintainer) CheckClockAtStart(ctx context.Context) (ClockCheck, error) {
	return u.checkClock(ctx, checkAtStart)
}

// CheckClock judges the time before a run, and leaves a mark.
//
// Errors: a *ClockError; those of the backend.
func (u *Maintainer) CheckClock(ctx context.Context) (ClockCheck, error) {
	return u.checkClock(ctx, checkBeforeRun)
}

// CheckClockDry judges the time and leaves no mark, for dry runs.
//
// Errors: as CheckClock.
func (u *Maintainer) CheckClockDry(ctx context.Context) (ClockCheck, error) {
	return u.checkClock(ctx, checkDry)
}

type clockCheckMode int

const (
	checkDry clockCheckMode = iota
	checkAtStart
	checkBeforeRun
)

// A timeMark is the time that was believed last.
type timeMark struct {
	At  time.Time `json:"at"`
	By  string    `json:"by"`           // the Maintainer that left it
	Was time.Time `json:"was,omitzero"` // the mark before which At lies
}

// markName is that of the note with the mark.
const markName = "upkeep"

func (u *Maintainer) checkClock(ctx context.Context, when clockCheckMode) (j ClockCheck, err error) {
	select {
	case u.lock <- struct{}{}:
	case <-ctx.Done():
		return j, ctx.Err()
	}
	defer func() { <-u.lock }()
	agrees, at, err := u.compareStorageClock(ctx)
	j.At = at
	elapsed := u.opts.Elapsed()
	if err := u.override(&j, err); err != nil {
		return j, err
	}
	last, ok, err := u.lastMark(ctx)
	if err != nil || !ok && agrees {
		return j, err
	}
	empty := false
	switch {
	case !last.At.IsZero():
		err = u.compareMark(ctx, last, moment{at, elapsed})
	case !agrees:
		empty, err = u.checkAllGaps(ctx, at)
		if gap, is := errors.AsType[*ClockError](err); is && ok && !u.opts.Force && when != checkDry {
			// What is written from now on must not explain it.
			if noted := u.setMark(ctx, timeMark{At: gap.Other}); noted != nil {
				return j, noted
			}
		}
	}
	if err := u.override(&j, err); err != nil {
		return j, err
	}
	u.pacedSince = nil
	if behind := last.At.Sub(at); behind > clockSlack {
		j.Behind = behind
	}
	if !ok || empty || when == checkDry || when == checkAtStart && j.Behind > 0 {
		return j, nil
	}
	next := timeMark{At: at, By: u.id}
	if j.Behind > 0 && !u.opts.Force {
		next.Was = last.At
		if last.Was.After(last.At) {
			next.Was = last.Was
		}
	}
	if err := u.setMark(ctx, next); err != nil {
		return j, err
	}
	u.ownMark = &moment{at, elapsed}
	return j, nil
}

// lastMark returns the mark, zero if there is none or it cannot be read; ok says
// whether the backend keeps one.
func (u *Maintainer) lastMark(ctx context.Context) (last timeMark, ok bool, err error) {
	notes, ok := u.backend.(NoteKeeper)
	if !ok {
		return last, false, nil
	}
	text, err := notes.Note(ctx, markName)
	if errors.Is(err, ErrUnsupported) {
		return last, false, nil
	}
	if err == nil && json.Unmarshal([]byte(text), &last) != nil {
		last = timeMark{}
	}
	return last, err == nil, err
}

func (u *Maintainer) setMark(ctx context.Context, m timeMark) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return u.backend.(NoteKeeper).SetNote(ctx, markName, string(text))
}

// override returns err unless it is one that Force overrides.
func (u *Maintainer) override(j *ClockCheck, err error) error {
	if wrong, ok := errors.AsType[*ClockError](err); ok && u.opts.Force {
		j.Forced = wrong
		return nil
	}
	return err
}

// askStorage returns the time, and whether the storage's clock agrees.
func (u *Maintainer) compareStorageClock(ctx context.Context) (agrees bool, at time.Time, err error) {
	clock, ok := u.backend.(Clock)
	if !ok {
		return false, storedTime(u.opts.Now()), nil
	}
	began := u.opts.Now()
	there, err := clock.StorageTime(ctx)
	at = u.opts.Now()
	switch {
	case errors.Is(err, ErrUnsupported):
		return false, storedTime(at), nil
	case err != nil:
		return false, storedTime(at), err
	case began.Sub(there) > clockSlack || there.Sub(at) > clockSlack:
		return false, storedTime(at), &ClockError{ClockStorage, storedTime(at), there}
	}
	return true, storedTime(at), nil
}

// compare compares the time with the last mark.
func (u *Maintainer) compareMark(ctx context.Context, last timeMark, now moment) error {
	mine := last.By == u.id
	if u.countsSleep && u.ownMark != nil {
		ran := now.elapsed - u.ownMark.elapsed
		expected := u.ownMark.wall.Add(ran)
		back := now.wall.Sub(last.Was)
		switch {
		case !mine && last.At.Sub(expected) > clockSlack: // another process knows better
		case now.wall.Sub(expected) <= clockSlack:
			if mine {
				return nil
			}
		case mine && !last.Was.IsZero() && back >= -clockSlack && back <= ran+maxGap:
			return nil // the clock that went back is where it was
		case now.wall.Sub(expected) <= maxGap && u.keepsPace(now):
			return nil
		default:
			return &ClockError{ClockMoved, now.wall, expected}
		}
	}
	if now.wall.Sub(last.At) <= maxGap {
		return nil
	}
	return u.checkGaps(ctx, last.At, now.wall)
}

// keepsPace reports whether a clock that has moved has kept pace for long enough since.
func (u *Maintainer) keepsPace(now moment) bool {
	if u.pacedSince != nil {
		ran := now.elapsed - u.pacedSince.elapsed
		if (now.wall.Sub(u.pacedSince.wall) - ran).Abs() <= clockSlack {
			return ran >= paceTime
		}
	}
	u.pacedSince = &now
	return false
}

// explain returns a *ClockError if there is too long a gap between one time and another
// in which no version was made.
func (u *Maintainer) checkGaps(ctx context.Context, from, to time.Time) error {
	times, err := u.versionTimes(ctx, from, to)
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

// explainAll returns a *ClockError if there is too long a gap between versions that has
// ended lately; empty says that there are none.
func (u *Maintainer) checkAllGaps(ctx context.Context, to time.Time) (empty bool, err error) {
	times, err := u.versionTimes(ctx, time.Time{}, to)
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

// Maintain has every store of a workspace, archived ones included, do what its
// settings ask for as time goes by: memories expire, then history is collected. A store
// that fails, or is held, does not keep the others from their turn.
func (u *Maintainer) Maintain(ctx context.Context, ws Workspace, j ClockCheck) iter.Seq2[MaintenanceResult, error] {
	return func(yield func(MaintenanceResult, error) bool) {
		var stores []StoreInfo // first, since a listing can keep a backend from tidying up
		for info, err := range u.backend.ListStores(ctx, ws, StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				yield(MaintenanceResult{}, err)
				return
			}
			stores = append(stores, info)
		}
		for _, info := range stores {
			done, err := u.maintain(ctx, info, j)
			if errors.Is(err, ErrNoStore) { // deleted meanwhile
				continue
			}
			if !yield(done, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// A MaintenanceResult is what a store's settings asked to be done, and was.
type MaintenanceResult struct {
	Store   StoreInfo // as it was before
	Expired []Expired
	Pruned  Pruned
	Held    []*HeldError // what was not done because it is more than usual
}

func (u *Maintainer) maintain(ctx context.Context, info StoreInfo, j ClockCheck) (MaintenanceResult, error) {
	done := MaintenanceResult{Store: info}
	s, err := OpenStore(ctx, u.backend, info.Workspace, info.ID, nil) // nothing is written that a detector need see
	if err != nil {
		return done, err
	}
	var expiring, collecting error
	done.Expired, expiring = u.Expire(ctx, s, j, false)
	done.Pruned, collecting = u.PruneHistory(ctx, s, j, false)
	for _, err := range []*error{&expiring, &collecting} {
		if held, ok := errors.AsType[*HeldError](*err); ok {
			done.Held = append(done.Held, held)
			*err = nil
		}
	}
	return done, cmp.Or(expiring, collecting)
}

// Expire is [Store.Expire] at a time that is believed.
//
// Further errors: a *HeldError, with dryRun besides what would expire.
func (u *Maintainer) Expire(ctx context.Context, s *Store, j ClockCheck, dryRun bool) ([]Expired, error) {
	return s.expire(ctx, j.At, u.runOptions(dryRun))
}

// PruneHistory is [Store.PruneHistory] at a time that is believed.
//
// Further errors: a *HeldError, with what would be removed if dryRun is set.
func (u *Maintainer) PruneHistory(ctx context.Context, s *Store, j ClockCheck, dryRun bool) (Pruned, error) {
	sum, err := s.pruneHistory(ctx, j.At, u.runOptions(dryRun))
	if !dryRun && errors.Is(err, ErrHeld) {
		sum = Pruned{}
	}
	return sum, err
}

func (u *Maintainer) runOptions(dryRun bool) maintenanceRun {
	r := maintenanceRun{dryRun: dryRun, share: u.opts.Share}
	if u.opts.Force {
		r.share = 0
	}
	return r
}
