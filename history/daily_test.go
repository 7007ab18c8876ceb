package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/history"
)

// What Daily computes from the history is what the store said of itself at the end of each
// day.
func TestDaily(t *testing.T) {
	l := newTimeline(t)
	start := l.at
	var want []history.Day
	changes := int64(0)
	endOfDay := func() {
		t.Helper()
		info, err := l.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		day := start.AddDate(0, 0, len(want))
		if !l.at.Before(day.AddDate(0, 0, 1)) {
			t.Fatalf("it is %v already", l.at)
		}
		want = append(want, history.Day{Start: day, Changes: changes, Usage: info.Usage})
		l.at, changes = day.AddDate(0, 0, 1), 0
	}
	do := func(all ...memento.Change) {
		t.Helper()
		l.do(all...)
		changes += int64(len(all))
	}
	do(memento.Put{Path: "/before.md", Content: "made before all else"})
	do(memento.Put{Path: "/a.md", Content: "one"})
	endOfDay()
	do(memento.Put{Path: "/a.md", Content: "one and more"})
	do(memento.Put{Path: "/a.md", Content: "one and more and more"})
	do(memento.Put{Path: "/b.md", Content: "b"}, memento.Put{Path: "/c.md", Content: "c"})
	endOfDay()
	endOfDay() // nothing happens
	do(memento.Move{From: "/a.md", To: "/d/a.md"})
	do(memento.Remove{Path: "/b.md"})
	do(memento.Put{Path: "/b.md", Content: "another b"})
	endOfDay()
	do(memento.Remove{Path: "/before.md"})
	do(memento.Put{Path: "/c.md", Content: ""})
	endOfDay()

	now := l.at.Add(-time.Second) // on the last day still
	got, err := history.Daily(t.Context(), l.Store, now, len(want))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	got, err = history.Daily(t.Context(), l.Store, now, 2)
	if diff := cmp.Diff(want[3:], got); err != nil || diff != "" {
		t.Errorf("two days: %v (-want +got)\n%s", err, diff)
	}
	got, err = history.Daily(t.Context(), l.Store, now, len(want)+1)
	if diff := cmp.Diff(append([]history.Day{{Start: start.AddDate(0, 0, -1)}}, want...), got); err != nil || diff != "" {
		t.Errorf("from the day before the first: %v (-want +got)\n%s", err, diff)
	}

	// What is erased is not known, and the days around it still are.
	l.redactOldest("/c.md")
	got, err = history.Daily(t.Context(), l.Store, now, len(want))
	if err != nil || got[4].Usage != want[4].Usage || got[0].Usage != want[0].Usage {
		t.Errorf("with an erased version: %v, %v", got, err)
	}
}
