package maintenance_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/maintenance"
	"memento/test/memories"
)

// A machine has a clock that can be set, and one that cannot.
type machine struct {
	wall    time.Time
	elapsed time.Duration
}

func (m *machine) pass(d time.Duration) { m.wall, m.elapsed = m.wall.Add(d), m.elapsed+d }

func (m *machine) keeper(b memento.Backend) *maintenance.Runner {
	return maintenance.New(b, maintenance.Options{
		Now: func() time.Time { return m.wall }, Elapsed: func() time.Duration { return m.elapsed },
	})
}

// judgedOn returns a backend with one memory, and its machine.
func judgedOn(t *testing.T) (*memstore.Backend, *memento.Store, *machine) {
	t.Helper()
	m := &machine{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b := memstore.New(&memstore.Options{Now: func() time.Time { return m.wall }})
	t.Cleanup(func() { b.Close() })
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, s, "/a", "1")
	return b, s, m
}

// judged checks whether a time is believed: reason is "" if it is.
func judged(t *testing.T, what string, u *maintenance.Runner, reason maintenance.ClockReason) maintenance.ClockCheck {
	t.Helper()
	j, err := u.CheckClock(t.Context())
	wrong, held := errors.AsType[*maintenance.ClockError](err)
	if err != nil && !held || held && wrong.Reason != reason || !held && reason != "" {
		t.Errorf("%s: %v, want %q", what, err, reason)
	}
	return j
}

func TestJudgeOfOneProcess(t *testing.T) {
	b, _, m := judgedOn(t)
	u := m.keeper(b)
	judged(t, "the first time", u, "")
	m.pass(100 * day)
	judged(t, "after a long time", u, "")
	m.wall = m.wall.Add(4 * time.Minute)
	judged(t, "off by a little", u, "")
	m.wall = m.wall.Add(6 * time.Minute)
	judged(t, "off by more", u, maintenance.ClockMoved)
	m.pass(time.Hour)
	judged(t, "an hour later", u, maintenance.ClockMoved)
	m.wall = m.wall.Add(-5 * time.Minute)
	judged(t, "set right", u, "")

	m.wall = m.wall.Add(7 * day) // a pause of the machine that nothing has counted
	judged(t, "off by a week", u, maintenance.ClockMoved)
	m.pass(23 * time.Hour)
	judged(t, "kept pace for 23 hours", u, maintenance.ClockMoved)
	m.pass(time.Hour)
	judged(t, "kept pace for a day", u, "")
	m.wall = m.wall.Add(9 * day)
	judged(t, "off by more than a week", u, maintenance.ClockMoved)
	m.pass(2 * day)
	judged(t, "kept pace for two days", u, maintenance.ClockMoved)
	m.wall = m.wall.Add(-9 * day)

	m.wall = m.wall.Add(-1000 * day)
	if j := judged(t, "set back", u, ""); j.Behind < 990*day {
		t.Errorf("behind by %v", j.Behind)
	}
	m.wall = m.wall.Add(500 * day)
	judged(t, "between the two", u, maintenance.ClockMoved)
	m.wall = m.wall.Add(500 * day)
	if j := judged(t, "and where it was", u, ""); j.Behind != 0 {
		t.Errorf("behind by %v", j.Behind)
	}
}

func TestJudgeOfAnotherProcess(t *testing.T) {
	b, s, m := judgedOn(t)
	judged(t, "the first time", m.keeper(b), "")
	m.pass(8 * day)
	judged(t, "after a week", m.keeper(b), "")
	m.pass(9 * day)
	judged(t, "after a pause", m.keeper(b), maintenance.ClockGap)
	judged(t, "and again", m.keeper(b), maintenance.ClockGap)
	memories.Put(t, s, "/a", "after the gap")
	judged(t, "with a version after the gap", m.keeper(b), maintenance.ClockGap)

	forced := maintenance.New(b, maintenance.Options{Now: func() time.Time { return m.wall }, Force: true})
	if j := judged(t, "by force", forced, ""); j.Forced == nil {
		t.Error("by force: nothing was forced")
	}
	judged(t, "after it", m.keeper(b), "")
	for i := range 5 {
		m.pass(7 * day)
		memories.Put(t, s, "/a", fmt.Sprint(i))
	}
	judged(t, "a pause that versions explain", m.keeper(b), "")

	// A look leaves no mark, and neither does a start that lies before it.
	m.pass(7 * day)
	if _, err := m.keeper(b).CheckClockDry(t.Context()); err != nil {
		t.Error(err)
	}
	m.pass(7 * day)
	judged(t, "two weeks after the mark", m.keeper(b), maintenance.ClockGap)
	m.wall = m.wall.Add(-7 * day)
	judged(t, "a week after the mark", m.keeper(b), "")
	was := m.wall
	m.wall = m.wall.Add(-1000 * day)
	booting := m.keeper(b)
	if j, err := booting.CheckClockAtStart(t.Context()); err != nil || j.Behind == 0 {
		t.Errorf("at the start of a machine without a clock: %+v, %v", j, err)
	}
	m.wall = was.Add(day)
	judged(t, "once it has asked for the time", booting, "")
}

// Of two processes each finds that its own clock has moved, whoever had the last run.
func TestJudgeOfTwoMachines(t *testing.T) {
	b, _, one := judgedOn(t)
	other := &machine{wall: one.wall}
	u, v := one.keeper(b), other.keeper(b)
	pass := func(d time.Duration) { one.pass(d); other.pass(d) }
	judged(t, "one", u, "")
	judged(t, "the other", v, "")
	pass(time.Hour)
	judged(t, "the other again", v, "")
	one.wall = one.wall.Add(7 * day)
	judged(t, "one, whose clock has moved", u, maintenance.ClockMoved)
	judged(t, "the other", v, "")
	forced := maintenance.New(b, maintenance.Options{Now: func() time.Time { return one.wall }, Force: true})
	judged(t, "one's machine, by force", forced, "")
	pass(time.Hour)
	judged(t, "one, after that", u, "")
	if j := judged(t, "the other, which is behind now", v, ""); j.Behind == 0 {
		t.Error("it is not behind")
	}
}

func TestJudgeWithoutMark(t *testing.T) {
	// Old gaps are the way of stores that keep few versions.
	b, s, m := judgedOn(t)
	m.pass(100 * day)
	memories.Put(t, s, "/a", "2")
	m.pass(8 * day)
	memories.Put(t, s, "/a", "3")
	m.pass(time.Hour)
	judged(t, "an old gap", m.keeper(b), "")

	b, s, m = judgedOn(t)
	m.pass(100 * day)
	memories.Put(t, s, "/a", "2")
	judged(t, "a new gap", m.keeper(b), maintenance.ClockGap)
	for range 5 {
		m.pass(7 * day)
		memories.Put(t, s, "/a", m.wall.String())
	}
	judged(t, "a gap that was new when it was found", m.keeper(b), maintenance.ClockGap)

	empty := memstore.New(nil)
	defer empty.Close()
	judged(t, "with nothing there", m.keeper(empty), "")
	if note, err := empty.Note(t.Context(), "upkeep"); err != nil || note != "" {
		t.Errorf("with nothing there the mark is %q, %v", note, err)
	}
}

// keeping returns a store with settings, its machine, and what keeps it.
func keeping(t *testing.T, settings memento.Settings) (*memento.Store, *machine, *maintenance.Runner) {
	t.Helper()
	s, _, m, u := keepingOn(t, settings)
	return s, m, u
}

func keepingOn(t *testing.T, settings memento.Settings) (*memento.Store, memento.Backend, *machine, *maintenance.Runner) {
	t.Helper()
	m := &machine{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b := memstore.New(&memstore.Options{Now: func() time.Time { return m.wall }})
	t.Cleanup(func() { b.Close() })
	return memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: &settings}, memories.Guarded()), b, m, m.keeper(b)
}

func TestUsualExpiry(t *testing.T) {
	for _, c := range []struct {
		old, young int
		held       bool
	}{
		{1, 0, false}, {2, 0, false}, {3, 0, true}, {3, 9, false}, {3, 8, true}, {30, 0, true}, {25, 75, false}, {26, 74, true},
	} {
		settings := memento.DefaultSettings()
		settings.Expiry.After = 10 * day
		s, m, u := keeping(t, settings)
		for i := range c.old {
			memories.Put(t, s, memento.Path(fmt.Sprint("/old", i)), "x")
		}
		m.pass(6 * day)
		for i := range c.young {
			memories.Put(t, s, memento.Path(fmt.Sprint("/young", i)), "x")
		}
		m.pass(6 * day)
		dry, err := u.Expire(t.Context(), s, maintenance.ClockCheck{At: m.wall}, true)
		if len(dry) != c.old || errors.Is(err, maintenance.ErrHeld) != c.held {
			t.Errorf("%+v: dry run: %d, %v", c, len(dry), err)
		}
		done, err := u.Expire(t.Context(), s, maintenance.ClockCheck{At: m.wall}, false)
		want := c.old
		if c.held {
			want = 0
		}
		if len(done) != want || len(memories.Contents(t, s)) != c.old+c.young-want || errors.Is(err, maintenance.ErrHeld) != c.held {
			t.Errorf("%+v: %d expired, %d are left, %v", c, len(done), len(memories.Contents(t, s)), err)
		}
	}
}

// What the passage of time removes is not held, however much it is.
func TestUsualHistory(t *testing.T) {
	settings := memento.DefaultSettings()
	settings.Retention = memento.Retention{Age: time.Hour, Versions: 2}
	s, m, u := keeping(t, settings)
	run := func(what string, want int64, held bool) {
		t.Helper()
		sum, err := u.PruneHistory(t.Context(), s, maintenance.ClockCheck{At: m.wall}, false)
		if _, is := errors.AsType[*maintenance.HeldError](err); sum.Versions != want || is != held || err != nil && !is {
			t.Errorf("%s: removed %d, %v; want %d", what, sum.Versions, err, want)
		}
	}
	for i := range 50 {
		memories.Put(t, s, "/busy", fmt.Sprint(i))
	}
	m.pass(2 * time.Hour)
	run("an hour of a busy memory", 48, false)
	for i := range 50 {
		memories.Put(t, s, memento.Path(fmt.Sprint("/m", i)), "1")
		memories.Put(t, s, memento.Path(fmt.Sprint("/m", i)), "2")
	}
	m.pass(20 * day)
	run("nothing", 0, false)
	for i := range 50 { // which pushes out what was among the newest for 20 days
		memories.Put(t, s, memento.Path(fmt.Sprint("/m", i)), "3")
	}
	m.pass(2 * time.Hour)
	run("every memory is edited", 50, false)
	m.pass(20 * day)
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: "/m1"}, memento.Remove{Path: "/m2"}, memento.Remove{Path: "/busy"}); err != nil {
		t.Fatal(err)
	}
	for i := 3; i < 30; i++ {
		if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: memento.Path(fmt.Sprint("/m", i))}); err != nil {
			t.Fatal(err)
		}
	}
	m.pass(time.Minute)
	run("many are deleted", 30, false)

}

// Shorter retention is a matter of a word.
func TestUnusualHistory(t *testing.T) {
	settings := memento.DefaultSettings()
	settings.Retention = memento.Retention{Age: 30 * day, Versions: 1}
	s, b, m, u := keepingOn(t, settings)
	run := func(what string, want int64, held bool) {
		t.Helper()
		sum, err := u.PruneHistory(t.Context(), s, maintenance.ClockCheck{At: m.wall}, false)
		if sum.Versions != want || errors.Is(err, maintenance.ErrHeld) != held {
			t.Errorf("%s: removed %d, %v; want %d", what, sum.Versions, err, want)
		}
	}
	set := func(r memento.Retention) {
		t.Helper()
		info, err := s.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		info.Settings.Retention = r
		if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 36 {
		memories.Put(t, s, "/a", fmt.Sprint(i))
		if i < 20 {
			m.pass(time.Hour)
		} else {
			m.pass(time.Minute)
		}
	}
	m.pass(10 * day)
	run("while it is kept", 0, false)
	set(memento.Retention{Age: day, Versions: 1})
	run("shorter", 0, true)
	set(memento.Retention{}) // which is not a matter of time
	run("none", 35, false)
}
