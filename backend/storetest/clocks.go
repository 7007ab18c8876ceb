package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/history"
	"memento/maintenance"
)

// clocks tests that no data is lost because a clock is wrong, or is set.
func clocks(t *testing.T, h Harness) {
	h.run(t, "notes", notes)
	h.run(t, "the storage's clock", storageClock)
	h.run(t, "a year ahead", func(e *env) { yearAhead(e, false, false) })
	h.run(t, "a year ahead, after a run", func(e *env) { yearAhead(e, true, false) })
	h.run(t, "a year ahead, having written", func(e *env) { yearAhead(e, false, true) })
	h.run(t, "a year ahead, having written after a run", func(e *env) { yearAhead(e, true, true) })
	h.run(t, "set wrong and right", setWrongAndRight)
	h.run(t, "two servers", twoServers)
	h.run(t, "times recover", timesRecover)
	h.run(t, "as of, across a jump", asOfAcrossJump)
	h.run(t, "a clock that was late", lateClock)
}

const year = 365 * 24 * time.Hour

func notes(e *env) {
	keeper, ok := e.b.(backend.NoteKeeper)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	is := func(b backend.NoteKeeper, name, want string) {
		e.Helper()
		if got, err := b.Note(e.Context(), name); err != nil || got != want {
			e.Errorf("note %q: %q, %v; want %q", name, got, err, want)
		}
	}
	set := func(name, text string) {
		e.Helper()
		if err := keeper.SetNote(e.Context(), name, text); err != nil {
			e.Fatalf("SetNote: %v", err)
		}
	}
	is(keeper, "up-keep", "")
	is(keeper, "../x\x00", "")
	set("up-keep", `{"at":1}`)
	set("other", "")
	set("up-keep", "zweitens, ü")
	is(keeper, "up-keep", "zweitens, ü")
	is(keeper, "other", "")
	if e.h.Persistent {
		e.reopen()
		keeper = e.b.(backend.NoteKeeper)
		is(keeper, "up-keep", "zweitens, ü")
	}
	if e.h.Shared {
		is(e.another().(backend.NoteKeeper), "up-keep", "zweitens, ü")
	}
	for _, bad := range [][2]string{{"", "x"}, {"a/b", "x"}, {strings.Repeat("a", 65), "x"}, {"a", "\xff"}, {"a", strings.Repeat("x", 5000)}} {
		wantError(e, fmt.Sprintf("SetNote(%.10q)", bad[0]), keeper.SetNote(e.Context(), bad[0], bad[1]), memento.ErrInvalid)
	}
}

func storageClock(e *env) {
	clock, ok := e.b.(backend.Clock)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	before := time.Now().Add(-2 * time.Second) // some clocks have whole seconds
	at, err := clock.StorageTime(e.Context())
	if errors.Is(err, memento.ErrUnsupported) {
		return // a wrapper over one that has none
	}
	if err != nil || at.Before(before) || at.After(time.Now().Add(time.Second)) || at.Location() != time.UTC {
		e.Errorf("StorageTime: %v, %v; it is %v", at, err, time.Now().UTC())
	}
}

// transient gives the store settings by which everything goes soon.
func (e *env) transient() {
	e.setSettings(func(s *memento.Settings) {
		s.Expiry.After = 24 * time.Hour
		s.Retention = memento.Retention{Age: time.Hour, Versions: 1}
	})
}

// fillTwice makes n memories of two versions each.
func (e *env) fillTwice(n int) {
	e.Helper()
	for _, text := range []string{"old", "new"} {
		var changes []memento.Change
		for i := range n {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprint("/m", i)), Content: text})
		}
		e.apply(changes...)
	}
}

// maintain has a run, as another process does, with a clock that is off by so much.
func (e *env) maintain(b memento.Backend, off time.Duration, force bool) (u maintenance.Result, err error) {
	e.Helper()
	keeper := maintenance.New(b, maintenance.Options{Now: func() time.Time { return time.Now().Add(off) }, Force: force})
	return e.runOf(keeper)
}

// runOf has one run of a keeper, of the test's store.
func (e *env) runOf(keeper *maintenance.Runner) (done maintenance.Result, err error) {
	e.Helper()
	j, err := keeper.CheckClock(e.Context())
	if err != nil {
		return done, err
	}
	for u, err := range keeper.Run(e.Context(), workspace, j) {
		if err != nil {
			e.Fatalf("Maintain: %v", err)
		}
		if u.Store.ID == e.store {
			done = u
		}
	}
	return done, nil
}

func (e *env) wrongClock(err error) {
	e.Helper()
	if _, ok := errors.AsType[*maintenance.ClockError](err); !ok || !errors.Is(err, maintenance.ErrHeld) {
		e.Errorf("with a wrong clock: %v, want a ClockError", err)
	}
}

// at returns a handle whose clock is off, if the backend's clock is the handle's.
func (e *env) at(now func() time.Time) memento.Backend {
	e.Helper()
	b, err := e.h.OpenAt(e.Context(), e.dir, now)
	if err != nil {
		e.Fatalf("open: %v", err)
	}
	e.Cleanup(func() { b.Close() })
	return b
}

func off(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }

// yearAhead has maintenance with a clock a year ahead, in a process that has just begun.
func yearAhead(e *env, marked, written bool) {
	e.anyTimes = true
	e.transient()
	e.fillTwice(15)
	if marked {
		if _, err := e.maintain(e.b, 0, false); err != nil {
			e.Fatal(err)
		}
	}
	if written && e.h.OpenAt != nil && e.h.Shared {
		wrong := e.at(off(year))
		for i := range 3 {
			if _, err := wrong.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/m0", Content: fmt.Sprint("wrong ", i)}}); err != nil {
				e.Fatal(err)
			}
		}
	}
	e.reopen()
	before := e.everything()
	for range 2 { // that it was held must not be what makes it right
		_, err := e.maintain(e.b, year, false)
		e.wrongClock(err)
	}
	e.same("after maintenance with a wrong clock", before, e.everything())
	if u, err := e.maintain(e.b, 0, false); err != nil || len(u.Expired) > 0 || u.Pruned.Versions > 0 {
		e.Errorf("with the right clock: %d expired, %d pruned, %v", len(u.Expired), u.Pruned.Versions, err)
	}
	e.same("after maintenance with the right clock", before, e.everything())
	if !e.h.NoteKeeper {
		return // a server, which does not remove by a time that is not its own
	}
	// All would have gone.
	if u, err := e.maintain(e.b, year+48*time.Hour, true); err != nil || len(u.Expired) != 15 {
		e.Errorf("by force: %d expired, %v", len(u.Expired), err)
	}
}

// setWrongAndRight sets the clock of a process that goes on.
func setWrongAndRight(e *env) {
	e.transient()
	e.fillTwice(15)
	var ahead, passed atomic.Int64
	keeper := maintenance.New(e.b, maintenance.Options{
		Now:     func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Elapsed: func() time.Duration { return time.Duration(passed.Load()) },
	})
	if _, err := keeper.CheckClockAtStart(e.Context()); err != nil {
		e.Fatal(err)
	}
	before := e.everything()
	for _, d := range []time.Duration{year, 30 * 24 * time.Hour, 48 * time.Hour, 2 * time.Hour} {
		ahead.Store(int64(d))
		_, err := e.runOf(keeper)
		e.wrongClock(err)
		ahead.Store(0)
		if _, err := e.runOf(keeper); err != nil {
			e.Errorf("set right: %v", err)
		}
	}
	ahead.Store(-int64(year)) // which removes nothing
	_, err := e.runOf(keeper)
	if _, hasClock := e.b.(backend.Clock); err != nil && !(hasClock && errors.Is(err, maintenance.ErrHeld)) {
		e.Errorf("a year late: %v", err)
	}
	ahead.Store(0)
	if _, err := e.runOf(keeper); err != nil {
		e.Errorf("set right after that: %v", err)
	}
	e.same("after it all", before, e.everything())
}

// twoServers has one whose clock is wrong, and one whose clock is right.
func twoServers(e *env) {
	e.anyTimes = true
	if e.h.OpenAt == nil || !e.h.Shared {
		return // its times are the storage's: yearAhead is all there is
	}
	e.transient()
	e.fillTwice(15)
	wrong := e.at(off(year))
	one := maintenance.New(wrong, maintenance.Options{Now: off(year)})
	other := maintenance.New(e.b, maintenance.Options{})
	_, err := one.CheckClockAtStart(e.Context())
	e.wrongClock(err)
	if _, err := other.CheckClockAtStart(e.Context()); err != nil {
		e.Errorf("the right one: %v", err)
	}
	before := len(e.versions(memento.VersionListOptions{}))
	for i := range 3 {
		for _, b := range []memento.Backend{wrong, e.b} {
			if _, err := b.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/both", Content: fmt.Sprint(i, b == wrong)}}); err != nil {
				e.Fatal(err)
			}
			before++
		}
		_, err := e.runOf(one)
		e.wrongClock(err)
		if u, err := e.runOf(other); err != nil || len(u.Expired) > 0 || u.Pruned.Versions > 0 {
			e.Errorf("the right one: %d expired, %d pruned, %v", len(u.Expired), u.Pruned.Versions, err)
		}
	}
	if after := len(e.versions(memento.VersionListOptions{})); after != before {
		e.Errorf("there are %d versions, want %d", after, before)
	}
}

// moving opens the backend with a clock that the test moves, for its store.
func (e *env) moving() *atomic.Pointer[time.Time] {
	e.Helper()
	e.anyTimes = true
	var at atomic.Pointer[time.Time]
	start := time.Now().Truncate(time.Second).UTC()
	at.Store(&start)
	e.b = e.at(func() time.Time { return *at.Load() })
	e.store = e.newStore(memento.StoreSpec{Name: "moving"})
	return &at
}

func set(at *atomic.Pointer[time.Time], t time.Time) { at.Store(&t) }

func timesRecover(e *env) {
	if e.h.OpenAt == nil {
		return
	}
	clock := e.moving()
	start := *clock.Load()
	made := func(content string, want time.Time) {
		e.Helper()
		if v := e.put("/a", content); !v.CreatedAt.Equal(want) {
			e.Errorf("%s: made at %v, want %v", content, v.CreatedAt, want)
		}
	}
	made("1", start)
	set(clock, start.Add(-30*time.Second))
	made("a little late", start)
	set(clock, start.Add(year))
	made("a year ahead", start.Add(year))
	set(clock, start.Add(year-30*time.Second))
	made("a little less", start.Add(year))
	set(clock, start.Add(time.Hour))
	made("set right", start.Add(time.Hour))
	set(clock, start.Add(time.Hour-30*time.Second))
	made("a little late again", start.Add(time.Hour))
	set(clock, start.Add(2*time.Hour))
	made("later", start.Add(2*time.Hour))
}

func asOfAcrossJump(e *env) {
	if e.h.OpenAt == nil {
		return
	}
	clock := e.moving()
	start := *clock.Load()
	e.put("/a", "1")
	set(clock, start.Add(year))
	e.put("/a", "wrong")
	e.put("/b", "wrong")
	set(clock, start.Add(2*time.Hour))
	e.put("/a", "2")
	s := e.docs(e.b)
	for _, c := range []struct {
		after           time.Duration
		written, remove []memento.Path
	}{
		{time.Hour, []memento.Path{"/a"}, []memento.Path{"/b"}},
		{3 * time.Hour, nil, nil}, // the present state
	} {
		r, err := history.RestoreAsOf(e.Context(), s, e.by, start.Add(c.after), true)
		if err != nil || !slices.Equal(r.Written, c.written) || !slices.Equal(r.Removed, c.remove) || len(r.Lost) > 0 {
			e.Errorf("as of %v after the start: %+v, %v", c.after, r, err)
		}
	}
}

// lateClock creates versions with a clock that is far late. The versions that they replace
// do not count as superseded at that time.
func lateClock(e *env) {
	if e.h.OpenAt == nil {
		return
	}
	clock := e.moving()
	start := *clock.Load()
	e.setSettings(func(s *memento.Settings) {
		s.Expiry.After = 24 * time.Hour
		s.Retention = memento.Retention{Age: 24 * time.Hour, Versions: 1}
	})
	e.put("/a", "1")
	set(clock, time.Unix(0, 0).UTC())
	e.put("/a", "2")
	e.put("/b", "1")
	e.put("/b", "2")
	set(clock, start.Add(time.Hour))
	keeper := maintenance.New(e.b, maintenance.Options{Now: func() time.Time { return *clock.Load() }, Elapsed: func() time.Duration { return 0 }, Force: true})
	u, err := e.runOf(keeper)
	if err != nil || len(u.Expired) > 0 || u.Pruned.Versions > 0 {
		e.Errorf("an hour later: %+v, %v", u, err)
	}
	set(clock, start.Add(50*time.Hour))
	if u, err = e.runOf(keeper); err != nil || len(u.Expired) != 2 || u.Pruned.Versions != 2 {
		e.Errorf("two days later: %d expired, %d pruned, %v", len(u.Expired), u.Pruned.Versions, err)
	}
}
