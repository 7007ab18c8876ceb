package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento/backend/memstore"
)

var testCounts = counts{views: 64, dirs: 16, writes: 128}

func TestWorkloadIsDeterministic(t *testing.T) {
	allow := cmp.AllowUnexported(workload{}, note{}, step{})
	generate := func(seed uint64) *workload {
		t.Helper()
		w, err := newWorkload(seed, 40, 16, testCounts)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if diff := cmp.Diff(generate(1), generate(1), allow); diff != "" {
		t.Errorf("the same seed makes other calls (-first +second):\n%s", diff)
	}
	if cmp.Equal(generate(1), generate(2), allow) {
		t.Error("two seeds make the same calls")
	}
}

func TestNotes(t *testing.T) {
	w, err := newWorkload(1, 1000, 1, counts{})
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, n := range w.notes {
		paths[n.path] = true
		if size := len(n.text); size < noteBytes || size > noteBytes+200 {
			t.Errorf("%s has %d bytes; want about %d", n.path, size, noteBytes)
		}
		if lines := strings.Count(n.text, "\n"); lines < noteLines || lines > 50 {
			t.Errorf("%s has %d lines; want about 40", n.path, lines)
		}
		if strings.Count(n.text, statePending) != 1 || strings.Contains(n.text, stateDone) {
			t.Errorf("%s does not have exactly one line to replace:\n%s", n.path, n.text)
		}
	}
	if len(paths) != len(w.notes) {
		t.Errorf("%d notes share %d paths", len(w.notes), len(paths))
	}
}

// TestCallsSucceed replays two rounds as the benchmark does, from their files.
func TestCallsSucceed(t *testing.T) {
	for _, tt := range []struct{ size, callers int }{{20, 1}, {20, 16}, {1000, 16}} {
		w, err := newWorkload(1, tt.size, tt.callers, testCounts)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.write(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		backend := memstore.New(nil)
		l, err := newLibrary(t.Context(), nameLibrary, backend, backend, w.notes)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.close() })
		seen := map[operation]int{}
		for range 2 {
			for _, s := range w.round {
				m, err := l.replay(t.Context(), s.file, 0)
				if err != nil {
					t.Fatalf("%d files, %d callers, %s: %v", tt.size, tt.callers, s.op, err)
				}
				if m.Calls != len(s.calls) || m.Calls == 0 {
					t.Errorf("%s made %d of %d calls", s.op, m.Calls, len(s.calls))
				}
				seen[s.op]++
			}
		}
		for _, op := range operations {
			if seen[op] == 0 {
				t.Errorf("no step for %s", op)
			}
		}
		want := map[string]string{}
		for _, n := range w.notes {
			want[n.path] = n.text
		}
		got, err := l.notes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d files, %d callers: a round does not restore the notes (-want +got):\n%s", tt.size, tt.callers, diff)
		}
	}
}

// TestCallersUseDifferentFiles checks that no two callers change the same file, of
// which the SDK's tool would lose edits.
func TestCallersUseDifferentFiles(t *testing.T) {
	w, err := newWorkload(1, 20, 16, testCounts)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.round {
		if s.op.reads() {
			continue
		}
		owner := map[string]int{}
		for _, c := range s.calls {
			for _, path := range []string{c.Input.Path, c.Input.OldPath, c.Input.NewPath} {
				if caller, seen := owner[path]; path != "" && seen && caller != c.Caller {
					t.Fatalf("%s: callers %d and %d both change %s", s.op, caller, c.Caller, path)
				}
				owner[path] = c.Caller
			}
		}
		if callers := slices.Compact(slices.Collect(callersOf(s))); len(callers) != 16 {
			t.Errorf("%s has %d callers", s.op, len(callers))
		}
	}
}

func callersOf(s step) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for _, c := range s.calls {
			if !yield(c.Caller) {
				return
			}
		}
	}
}

// BenchmarkStep runs each step on the embedded store, for profiles. The comparison
// itself is the better measurement of speed.
func BenchmarkStep(b *testing.B) {
	for _, size := range []int{20, 10_000} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("files=%d/callers=%d", size, callers), func(b *testing.B) {
				benchmarkRound(b, size, callers)
			})
		}
	}
}

func benchmarkRound(b *testing.B, size, callers int) {
	w, err := newWorkload(1, size, callers, counts{views: 2000, dirs: 16, writes: 960})
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := w.write(dir); err != nil {
		b.Fatal(err)
	}
	l, err := openLibrary(b.Context(), filepath.Join(dir, "store.db"), w.notes)
	if err != nil {
		b.Fatal(err)
	}
	defer l.close()
	if _, err := l.finishDeferred(b.Context()); err != nil {
		b.Fatal(err)
	}
	for i, s := range w.round {
		if !s.timed || s.op == create {
			continue // create is timed with the delete that follows it
		}
		b.Run(strings.ReplaceAll(string(s.op), "/", ""), func(b *testing.B) {
			benchmarkSteps(b, l, around(w.round, i))
		})
	}
}

// around returns the steps that leave the notes as they were if step i is among them.
func around(round []step, i int) []step {
	switch round[i].op {
	case remove:
		return round[i-1 : i+1] // after create
	case insert:
		return round[i : i+3] // before delete and create
	}
	return round[i : i+1]
}

func benchmarkSteps(b *testing.B, l *library, steps []step) {
	var total measure
	for b.Loop() {
		for _, s := range steps {
			m, err := l.replay(b.Context(), s.file, 0)
			if err != nil {
				b.Fatal(err)
			}
			total.Calls += m.Calls
			total.Nanos += m.Nanos
		}
	}
	b.ReportMetric(total.perSecond(), "calls/s")
}

func TestTooFewFilesForTheCallers(t *testing.T) {
	if _, err := newWorkload(1, 10, 16, testCounts); err == nil {
		t.Error("16 callers share 10 files")
	}
}

func TestTable(t *testing.T) {
	table := table{numbers: []bool{1: true},
		rows: [][]string{{"operation", "ratio", ""}, {"create", times(2.345), "one"}, {"view", times(1234.5), ""}}}
	var got strings.Builder
	table.write(&got)
	want := `
| operation |  ratio |      |
| --------- | -----: | ---- |
| create    |  2.35x | one  |
| view      | 1,235x |      |
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

func TestParseArgs(t *testing.T) {
	c, err := parseArgs([]string{"-quick", "-part", "http,encryption", "-callers", "16,1,1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := config{parts: []string{partHTTP, partEncryption}, sizes: []int{20, 200}, callers: []int{1, 16}, rounds: 1, seed: 1, quick: true, dir: ".", engines: []string{"memory", "sqlite", "fts5", "fts5-porter"}}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	for _, args := range []string{"-part disk", "-rounds 0", "-sizes 0", "-callers x", "more"} {
		if _, err := parseArgs(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestRepeatCalls(t *testing.T) {
	var made atomic.Int64
	m, err := repeatCalls(16, time.Millisecond, func(int) (int, error) { made.Add(2); return 2, nil })
	if err != nil || m.Calls != int(made.Load()) || m.Calls == 0 || m.Nanos < time.Millisecond.Nanoseconds() {
		t.Errorf("%d calls are measured as %+v, %v", made.Load(), m, err)
	}
	fault := errors.New("fault")
	if _, err := repeatCalls(2, time.Hour, func(int) (int, error) { return 0, fault }); !errors.Is(err, fault) {
		t.Errorf("the error of a call is returned as %v", err)
	}
}
