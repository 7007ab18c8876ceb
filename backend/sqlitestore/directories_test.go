package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
	"memento/backend/rollup"
	"memento/backend/sqlitestore"
)

// Whatever changes, and however the clock runs, a listing that rolls up shows for each
// directory what a listing of all memories has below it.
func TestSumsOfDirectories(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sums.db")
	now := time.Now()
	b, err := sqlitestore.Open(t.Context(), file, &sqlitestore.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: unscreened()}, nil)
	r := rand.New(rand.NewPCG(1, 2))
	path := func() memento.Path {
		depth := 1 + r.IntN(3)
		var b strings.Builder
		for range depth {
			b.WriteString([]string{"/a", "/b", "/a-b"}[r.IntN(3)]) // whose contents come before those of /a
		}
		fmt.Fprintf(&b, "/n%d", r.IntN(40))
		return memento.Path(b.String())
	}
	change := func() memento.Change {
		switch p := path(); r.IntN(30) {
		case 0:
			return memento.Remove{Path: p.Parent()}
		case 1, 2:
			return memento.Remove{Path: p}
		case 3, 4:
			return memento.Move{From: p, To: path()}
		case 5:
			return memento.Move{From: p.Parent(), To: path().Parent()}
		default:
			return memento.Put{Path: p, Content: strings.Repeat("x", r.IntN(50))}
		}
	}
	refused, skipping := 0, 0
	var all []memento.Entry
	for range 600 {
		now = now.Add(time.Duration(r.IntN(200)-60) * time.Second)
		var changes []memento.Change
		if r.IntN(4) == 0 && len(all) > 0 {
			newest := slices.MaxFunc(all, func(a, b memento.Entry) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
			changes = append(changes, memento.Remove{Path: newest.Path})
		} else {
			for range 1 + r.IntN(6) {
				changes = append(changes, change())
			}
		}
		if _, err := s.Apply(t.Context(), memento.Actor{}, changes...); err != nil {
			if !errors.Is(err, memento.ErrNotExist) && !errors.Is(err, memento.ErrExist) && !errors.Is(err, memento.ErrIsDir) && !errors.Is(err, memento.ErrInvalidPath) {
				t.Fatal(err)
			}
			refused++
		}
		all = entries(t, s, memento.ListOptions{})
		if len(all) > 17 {
			skipping++
		}
		for _, opts := range []memento.ListOptions{{Depth: 1}, {Depth: 2, Brief: true}, {Dir: "/a", Depth: 1}, {Depth: 1, After: "/a/b"}, {Depth: 2, Limit: 3}} {
			if diff := cmp.Diff(rolledUp(all, opts), entries(t, s, opts), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(memento.Entry{}, "Memory")); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", opts, diff)
			}
		}
	}
	if refused < 50 || skipping < 300 {
		t.Errorf("%d changes were refused, and %d listings could skip memories", refused, skipping)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Verify(t.Context(), file, nil); err != nil {
		t.Error(err)
	}
}

// A listing of directories that have all memories of another one is made of their sums; if there
// are memories beside them, or a sum is not exact, each of them is there all the same.
func TestSumsReadTogether(t *testing.T) {
	now := time.Now()
	b, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "sums.db"), &sqlitestore.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: unscreened()}, nil)
	same := func(what string) {
		t.Helper()
		now = now.Add(time.Minute)
		all := entries(t, s, memento.ListOptions{})
		for _, opts := range []memento.ListOptions{{Depth: 2}, {Depth: 2, Brief: true}, {Dir: "/p", Depth: 1}, {Dir: "/p", Depth: 2}, {Depth: 3}} {
			if diff := cmp.Diff(rolledUp(all, opts), entries(t, s, opts), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(memento.Entry{}, "Memory")); diff != "" {
				t.Fatalf("%s: %+v (-want +got):\n%s", what, opts, diff)
			}
		}
	}
	for _, dir := range []string{"/p/a", "/p/a-b", "/p/b", "/p/b/deep", "/p/b/deep/er", "/q/x/y", "/q/z"} {
		for i := range 12 {
			apply(t, s, memento.Put{Path: memento.Path(fmt.Sprintf("%s/n%d", dir, i)), Content: strings.Repeat("x", i)})
		}
		same(dir)
	}
	apply(t, s, memento.Put{Path: "/p/a-beside", Content: "beside"})
	same("a memory beside")
	apply(t, s, memento.Remove{Path: "/p/a-beside"})
	same("without it")
	apply(t, s, memento.Put{Path: "/p/b/n3", Content: "newest"})
	same("a newer one")
	apply(t, s, memento.Remove{Path: "/p/b/n3"})
	same("the newest is removed")
}

func entries(t *testing.T, s *memento.Store, opts memento.ListOptions) (all []memento.Entry) {
	t.Helper()
	for e, err := range s.List(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// rolledUp is what a listing with opts has, given that of all memories.
func rolledUp(all []memento.Entry, opts memento.ListOptions) (want []memento.Entry) {
	rows := rollup.New(opts, func(e memento.Entry) bool {
		want = append(want, e)
		return true
	})
	for _, e := range all {
		if opts.Dir.Contains(e.Path) && e.Cursor() > opts.After && !rows.Row(&e.Memory) {
			return want
		}
	}
	rows.End()
	return want
}

// BenchmarkRolledUp measures what an agent's first view lists in a large store.
func BenchmarkRolledUp(b *testing.B) {
	const memories = 100_000
	backend, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "large.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	s := memento.OpenNamed(backend, workspace, memento.StoreSpec{Name: "notes", Settings: unscreened(), Limits: memento.Limits{Memories: memories}}, nil)
	for first := 0; first < memories; first += 1000 {
		var changes []memento.Change
		for i := range 1000 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/area%d/topic%d/note%d", (first+i)%10, first/1000, first+i)), Content: "text"})
		}
		if _, err := s.Apply(b.Context(), memento.Actor{}, changes...); err != nil {
			b.Fatal(err)
		}
	}
	for _, depth := range []int{1, 2} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				for _, err := range s.List(context.Background(), memento.ListOptions{Depth: depth, Brief: true}) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
			}
			b.ReportMetric(float64(n), "entries")
		})
	}
}
