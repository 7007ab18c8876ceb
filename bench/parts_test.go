package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/memstore"
)

func TestParseArgs(t *testing.T) {
	for _, tt := range []struct {
		args  string
		parts []part
	}{
		{"", []part{partSDK}},
		{"-quick", allParts},
		{"-part engines", engineParts},
		{"-quick -part s3,flatness", []part{partS3, partFlatness}},
	} {
		c, err := parseArgs(strings.Fields(tt.args), io.Discard)
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
		} else if diff := cmp.Diff(tt.parts, c.parts); diff != "" {
			t.Errorf("%q has other parts (-want +got):\n%s", tt.args, diff)
		}
	}
	for _, args := range []string{"-part disk", "-engines s3,tape", "-memories 10", "-stores 5"} {
		if _, err := parseArgs(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestCallAll(t *testing.T) {
	var calls [teamSize]atomic.Int64
	m, err := callAll(t.Context(), teamSize, time.Millisecond, func(_ context.Context, caller, i int) error {
		if n := calls[caller].Add(1); int(n) != i+1 {
			t.Errorf("caller %d's call %d has the number %d", caller, n-1, i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for i := range calls {
		sum += int(calls[i].Load())
	}
	if m.Calls != sum || sum == 0 || m.Nanos < time.Millisecond.Nanoseconds() {
		t.Errorf("%d calls are measured as %+v", sum, m)
	}
	fault := errors.New("fault")
	if _, err := callAll(t.Context(), 2, time.Hour, func(context.Context, int, int) error { return fault }); !errors.Is(err, fault) {
		t.Errorf("a call's error comes back as %v", err)
	}
}

// A memory is an engine for this test.
type memory struct{ backends map[string]*memstore.Backend }

func (m memory) open(_ context.Context, place string) (memento.Backend, error) {
	b := m.backends[place]
	if b == nil {
		b = memstore.New(nil)
		m.backends[place] = b
	}
	return kept{b}, nil
}

func (memory) settle(context.Context, string) error { return nil }
func (memory) indexes() bool                        { return true }
func (memory) Close() error                         { return nil }

// kept stays when it is closed, as what is on a medium does.
type kept struct{ *memstore.Backend }

func (kept) Close() error { return nil }

// TestFlatness makes all calls of the comparison of sizes, and checks that they
// leave everything as it was, so that all rounds are alike.
func TestFlatness(t *testing.T) {
	b := &bench{config: config{seed: 1, rounds: 2, quick: true, memories: 250, stores: 25, engines: []engineName{"mem"}}, progress: io.Discard}
	e := memory{map[string]*memstore.Backend{}}
	b.made = map[engineName]engine{"mem": e}
	f, err := b.measureFlatness(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]operation{
		ofMemories: {viewFile, list, create, remove, strReplace, rename, search, openFresh},
		ofStores:   {getStore, listStores, findStore, viewFile, create, remove, strReplace, rename, createStore, deleteStore, openFresh},
	}
	got := map[string][]operation{}
	for _, c := range f.Calls {
		got[c.Of] = append(got[c.Of], c.Operation)
		if c.Small <= 0 || c.Large <= 0 {
			t.Errorf("%s: %s took no time: %+v", c.Of, c.Operation, c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other operations are measured (-want +got):\n%s", diff)
	}
	for place, notes := range map[string]int{"memories0": smallStore, "memories1": 250, "stores1": storeNotes} {
		rng := rand.New(rand.NewPCG(b.seed, uint64(notes)))
		want := map[memento.Path]string{}
		for i := range notes {
			want[memento.Path(strings.TrimPrefix(notePath(i), "/memories"))] = newNote(rng, noteTitle(i))
		}
		for info, err := range e.backends[place].ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			got := map[memento.Path]string{}
			for entry, err := range e.backends[place].List(t.Context(), info.ID, memento.ListOptions{Contents: true}) {
				if err != nil {
					t.Fatal(err)
				}
				got[entry.Path] = entry.Memory.Content
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is not as it was (-want +got):\n%s", place, diff)
			}
		}
	}
}

func TestFlatCell(t *testing.T) {
	for _, tt := range []struct {
		call flatCall
		want string
	}{
		{flatCall{Operation: create, Small: 100, Large: 150}, "100 µs → 150 µs, 1.50x"},
		{flatCall{Operation: create, Small: 100, Large: 12_345}, "100 µs → 12.3 ms, 123x short"},
		{flatCall{Operation: search, Small: 100, Large: 300}, "100 µs → 300 µs, 3.00x"},
		{flatCall{Operation: openFresh, Of: ofMemories, Small: 100, Large: 300}, "100 µs → 300 µs, 3.00x"},
		{flatCall{Operation: openFresh, Of: ofStores, Small: 100, Large: 300}, "100 µs → 300 µs, 3.00x short"},
	} {
		if got := tt.call.cell(); got != tt.want {
			t.Errorf("%+v is written as %q, want %q", tt.call, got, tt.want)
		}
	}
}

// TestTeam makes all calls of a team, twice as many as it has notes.
func TestTeam(t *testing.T) {
	backend := memstore.New(nil)
	team, err := newTeam(t.Context(), backend, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []func(context.Context, int, int) error{team.view, team.strReplace, team.create} {
		for caller := range teamSize {
			for i := range 2 * teamNotes {
				if err := call(t.Context(), caller, i); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	stores := 0
	for info, err := range backend.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		stores++
		if info.Usage.Memories != 3*teamNotes {
			t.Errorf("%s has %d memories after %d creates", info.Name, info.Usage.Memories, 2*teamNotes)
		}
	}
	if stores != teamSize {
		t.Errorf("a team of %d has %d stores", teamSize, stores)
	}
}
