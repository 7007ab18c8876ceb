package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func listing(t *testing.T, h Harness) {
	h.run(t, "byte order", listInByteOrder)
	h.run(t, "directories", listDirectories)
	h.run(t, "contents", listContents)
	h.run(t, "brief", listBrief)
	h.run(t, "roll-up", listRolledUp)
	h.run(t, "pages", listPages)
	h.run(t, "pages while others write", listPagesDuringWrites)
	h.run(t, "one instant", listOneInstant)
	h.run(t, "moves are never half seen", listDuringMoves)
	h.run(t, "using the backend in the loop", listAndUse)
}

func listInByteOrder(e *env) {
	ps := []memento.Path{
		"/a/x", "/a.md", "/a b", "/a0", "/B/x", "/b", "/é", "/z", "/~", "/\uff5e", "/\U00010000", "/😀", "/a!",
		"/a-/x", "/a/!", "/a/x.md", "/a/x0/y", "/A", "/_", "/1", "/10", "/2", "/a/é",
	}
	e.fill(ps...)
	slices.Sort(ps)
	var got []memento.Path
	for _, x := range e.list(memento.ListOptions{}) {
		got = append(got, x.Path)
	}
	if diff := cmp.Diff(ps, got); diff != "" {
		e.Errorf("order (-want +got):\n%s", diff)
	}
}

func listDirectories(e *env) {
	e.fill("/a/b/c", "/a/b/d", "/a/bc", "/a/b.md", "/ab", "/A/b", "/file", "/é/x")
	tests := map[memento.Path][]string{
		"":         {"/A/b", "/a/b.md", "/a/b/c", "/a/b/d", "/a/bc", "/ab", "/file", "/é/x"},
		"/":        {"/A/b", "/a/b.md", "/a/b/c", "/a/b/d", "/a/bc", "/ab", "/file", "/é/x"},
		"/a":       {"/a/b.md", "/a/b/c", "/a/b/d", "/a/bc"},
		"/a/b":     {"/a/b/c", "/a/b/d"},
		"/a/b/c":   nil,
		"/file":    nil,
		"/file/x":  nil,
		"/missing": nil,
		"/é":       {"/é/x"},
	}
	for dir, want := range tests {
		if diff := cmp.Diff(want, entryPaths(e.list(memento.ListOptions{Dir: dir}))); diff != "" {
			e.Errorf("below %q (-want +got):\n%s", dir, diff)
		}
	}
	if got := e.list(memento.ListOptions{Dir: "/missing", Depth: 1}); len(got) > 0 {
		e.Errorf("below a missing directory: %v", entryPaths(got))
	}
}

func listContents(e *env) {
	e.fill("/a", "/dir/b", "/dir/c")
	e.put("/empty", "")
	for _, x := range e.list(memento.ListOptions{}) {
		if x.Memory.Content != "" {
			e.Errorf("%s has contents", x.Path)
		}
		whole := e.get(x.Path)
		whole.Content = ""
		if diff := cmp.Diff(whole, x.Memory); diff != "" {
			e.Errorf("entry and Get differ (-want +got):\n%s", diff)
		}
	}
	for _, x := range e.list(memento.ListOptions{Contents: true, Depth: 1}) {
		switch {
		case x.Dir && x.Memory != (memento.Memory{}):
			e.Errorf("directory %s has memory %+v", x.Path, x.Memory)
		case !x.Dir && x.Memory != e.get(x.Path):
			e.Errorf("entry %+v differs from Get", x)
		}
	}
}

// listBrief checks that brief entries have the required fields, and no wrong ones.
func listBrief(e *env) {
	e.grow()
	for depth := range 3 {
		whole := e.list(memento.ListOptions{Depth: depth})
		brief := e.list(memento.ListOptions{Depth: depth, Brief: true})
		if len(brief) != len(whole) {
			e.Fatalf("depth %d: %d brief entries, want %d", depth, len(brief), len(whole))
		}
		for i, got := range brief {
			want := whole[i]
			may := want.Memory
			want.Memory = memento.Memory{Path: may.Path, Size: may.Size, UpdatedAt: may.UpdatedAt}
			m := got.Memory
			got.Memory = memento.Memory{Path: m.Path, Size: m.Size, UpdatedAt: m.UpdatedAt}
			if diff := cmp.Diff(want, got); diff != "" {
				e.Errorf("brief entry (-want +got):\n%s", diff)
			}
			if m.ID != "" && m.ID != may.ID || m.SHA256 != "" && m.SHA256 != may.SHA256 || m.Version != "" && m.Version != may.Version ||
				!m.CreatedAt.IsZero() && !m.CreatedAt.Equal(may.CreatedAt) || m.Content != "" {
				e.Errorf("brief entry has memory %+v, which is %+v", m, may)
			}
		}
	}
	want := e.list(memento.ListOptions{Contents: true})
	if diff := cmp.Diff(want, e.list(memento.ListOptions{Contents: true, Brief: true})); diff != "" {
		e.Errorf("contents overrule brief (-want +got):\n%s", diff)
	}
}

// rolledUp returns a listing as the contract describes it, from a complete one.
func rolledUp(whole []memento.Entry, opts memento.ListOptions) []memento.Entry {
	var entries []memento.Entry
	at := map[string]int{}
	for _, x := range whole {
		if !opts.Dir.Contains(x.Path) {
			continue
		}
		names := strings.Split(strings.TrimPrefix(string(x.Path), opts.Dir.Prefix()), "/")
		if opts.Depth > 0 && len(names) > opts.Depth {
			dir := opts.Dir.Join(strings.Join(names[:opts.Depth], "/"))
			i, seen := at[string(dir)]
			if !seen {
				i = len(entries)
				at[string(dir)] = i
				entries = append(entries, memento.Entry{Path: dir, Dir: true})
			}
			d := &entries[i]
			d.Usage.Memories++
			d.Usage.Bytes += x.Memory.Size
			if x.UpdatedAt.After(d.UpdatedAt) {
				d.UpdatedAt = x.UpdatedAt
			}
			continue
		}
		entries = append(entries, x)
	}
	return entries
}

// grow fills the store with directories three levels deep and more.
func (e *env) grow() {
	e.Helper()
	var changes []memento.Change
	for _, dir := range []string{"", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a b", "/a.b/c", "/é/名", "/z/y/x/w/v"} {
		for i, name := range []string{"b0", "b!", "f", "名"} {
			changes = append(changes, memento.Put{Path: memento.Path(dir + "/" + name), Content: strings.Repeat("x", i+len(dir))})
		}
	}
	e.apply(changes...)
	time.Sleep(2 * time.Millisecond)
	e.put("/a/b/f", "later")
	e.put("/z/y/b", "later still")
}

func listRolledUp(e *env) {
	e.grow()
	whole := e.list(memento.ListOptions{})
	for _, dir := range []memento.Path{"/", "/a", "/a/b", "/z", "/z/y/x", "/a b", "/a/b/f", "/missing"} {
		for depth := range 6 {
			opts := memento.ListOptions{Dir: dir, Depth: depth}
			if diff := cmp.Diff(rolledUp(whole, opts), e.list(opts)); diff != "" {
				e.Errorf("%+v (-want +got):\n%s", opts, diff)
			}
		}
	}
	// A cursor before the directory means from its beginning.
	for _, after := range []string{"/", "/0", "/a", "/a/"} {
		if diff := cmp.Diff(e.list(memento.ListOptions{Dir: "/a"}), e.list(memento.ListOptions{Dir: "/a", After: after})); diff != "" {
			e.Errorf("after %q (-want +got):\n%s", after, diff)
		}
	}
	// A few by hand, in case both are wrong.
	want := []string{"/a b/", "/a.b/", "/a/", "/b!", "/b0", "/f", "/z/", "/é/", "/名"}
	if diff := cmp.Diff(want, entryPaths(e.list(memento.ListOptions{Depth: 1}))); diff != "" {
		e.Errorf("depth 1 (-want +got):\n%s", diff)
	}
	want = []string{"/a/b!", "/a/b/b!", "/a/b/b0", "/a/b/c/", "/a/b/f", "/a/b/名", "/a/b0", "/a/f", "/a/名"}
	if diff := cmp.Diff(want, entryPaths(e.list(memento.ListOptions{Dir: "/a", Depth: 2}))); diff != "" {
		e.Errorf("depth 2 (-want +got):\n%s", diff)
	}
}

func listPages(e *env) {
	e.grow()
	for _, dir := range []memento.Path{"/", "/a", "/z"} {
		for depth := range 4 {
			want := e.list(memento.ListOptions{Dir: dir, Depth: depth, Contents: true})
			for _, limit := range []int{1, 2, 3, 7, 100} {
				opts := memento.ListOptions{Dir: dir, Depth: depth, Limit: limit, Contents: true}
				var got []memento.Entry
				for {
					page := e.list(opts)
					if len(page) > limit {
						e.Fatalf("%+v yielded %d entries", opts, len(page))
					}
					got = append(got, page...)
					if len(page) < limit {
						break
					}
					opts.After = page[limit-1].Cursor()
				}
				if diff := cmp.Diff(want, got); diff != "" {
					e.Errorf("pages of %d of %s, depth %d (-want +got):\n%s", limit, dir, depth, diff)
				}
			}
		}
	}
	// A page continues after a removed entry, and includes new ones.
	e.apply(memento.Remove{Path: "/a/b"}, memento.Put{Path: "/a/bb"})
	got := entryPaths(e.list(memento.ListOptions{Dir: "/a", Depth: 1, After: "/a/b/", Limit: 2}))
	if diff := cmp.Diff([]string{"/a/b0", "/a/bb"}, got); diff != "" {
		e.Errorf("after a removed directory (-want +got):\n%s", diff)
	}
	if got := e.list(memento.ListOptions{After: "/\U0010ffff"}); len(got) > 0 {
		e.Errorf("after the last entry: %v", entryPaths(got))
	}
}

// churn calls write in the background, repeatedly, until the returned function is
// called, which waits for the last call.
func (e *env) churn(write func(round int) error) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for round := 0; ; round++ {
			select {
			case <-done:
				return
			default:
			}
			if err := write(round); err != nil {
				e.Errorf("writing in the background: %v", err)
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

func listPagesDuringWrites(e *env) {
	var want []string
	var changes []memento.Change
	for i := range 200 {
		p := memento.Path(fmt.Sprintf("/d%02d/stays%d", i%20, i))
		changes = append(changes, memento.Put{Path: p, Content: "x"})
		want = append(want, string(p))
	}
	e.apply(changes...)
	slices.Sort(want)
	other := e.another()
	stop := e.churn(func(round int) error {
		p := memento.Path(fmt.Sprintf("/d%02d/goes%d", round%20, round%7))
		_, err := other.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: p, Content: fmt.Sprint(round)}})
		if err == nil {
			_, err = other.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Remove{Path: p}})
		}
		return err
	})
	defer stop()
	for range 5 {
		var got []string
		opts := memento.ListOptions{Limit: 7}
		for {
			page := e.list(opts)
			for _, x := range page {
				if string(x.Path) <= opts.After {
					e.Fatalf("%s was listed after %s", x.Path, opts.After)
				}
				opts.After = x.Cursor()
				if strings.Contains(string(x.Path), "stays") {
					got = append(got, string(x.Path))
				}
			}
			if len(page) < opts.Limit {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			e.Fatalf("memories that stay (-want +got):\n%s", diff)
		}
	}
}

func listOneInstant(e *env) {
	var ps []memento.Path
	for i := range 300 {
		ps = append(ps, memento.Path(fmt.Sprintf("/dir/%03d", i)))
	}
	e.fill(ps...)
	for _, depth := range []int{0, 2} {
		seq := e.b.List(e.Context(), e.store, memento.ListOptions{Depth: depth, Contents: true})
		n := 0
		for x, err := range seq {
			if err != nil {
				e.Fatal(err)
			}
			if n == 0 {
				e.apply(memento.Move{From: "/dir", To: "/moved"}, memento.Put{Path: "/moved/200", Content: "new"}, memento.Put{Path: "/zzz"})
			}
			if x.Path != ps[n] || x.Memory.Content != string(ps[n]) {
				e.Fatalf("entry %d is %s with %q, want it as it was: %s", n, x.Path, x.Memory.Content, ps[n])
			}
			n++
		}
		if n != len(ps) {
			e.Errorf("%d entries, want %d", n, len(ps))
		}
		for x, err := range seq { // again, at another instant
			if err != nil || x.Path != "/moved/000" {
				e.Errorf("listing again: %s, %v", x.Path, err)
			}
			break
		}
		e.apply(memento.Move{From: "/moved", To: "/dir"}, memento.Remove{Path: "/zzz"}, memento.Put{Path: "/dir/200", Content: "/dir/200"})
	}
}

func listDuringMoves(e *env) {
	const files = 60
	var ps []memento.Path
	for i := range files {
		ps = append(ps, memento.Path(fmt.Sprintf("/even/%d/%d", i%3, i)))
	}
	e.fill(ps...)
	bytes := e.info().Usage.Bytes
	other := e.another()
	names := [2]memento.Path{"/even", "/odd"}
	stop := e.churn(func(round int) error {
		_, err := other.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Move{From: names[round%2], To: names[(round+1)%2]}})
		return err
	})
	defer stop()
	for range 60 {
		entries := e.list(memento.ListOptions{})
		if n := len(entries); n != files || entries[0].Path[:4] != entries[n-1].Path[:4] {
			e.Fatalf("%d entries from %s to %s", n, entries[0].Path, entries[n-1].Path)
		}
		top := e.list(memento.ListOptions{Depth: 1})
		if len(top) != 1 || top[0].Usage != (memento.Usage{Memories: files, Bytes: bytes}) {
			e.Fatalf("rolled up: %+v", top)
		}
	}
}

func listAndUse(e *env) {
	e.fill("/a", "/b", "/dir/c", "/dir/d")
	ctx, cancel := context.WithTimeout(e.Context(), 2*time.Minute)
	defer cancel()
	n := 0
	for x, err := range e.b.List(ctx, e.store, memento.ListOptions{}) {
		if err != nil {
			e.Fatal(err)
		}
		n++
		if _, err := e.b.Get(ctx, e.store, memento.ByPath(x.Path)); err != nil {
			e.Errorf("Get in the loop: %v", err)
		}
		if _, err := e.b.Apply(ctx, e.store, e.by, []memento.Change{memento.Put{Path: x.Path + ".new"}, memento.Put{Path: x.Path, Content: "seen"}}); err != nil {
			e.Errorf("Apply in the loop: %v", err)
		}
		for range e.b.List(ctx, e.store, memento.ListOptions{}) {
			for v, err := range e.b.ListVersions(ctx, e.store, memento.VersionListOptions{}) {
				if err != nil {
					e.Errorf("ListVersions in the loop: %v", err)
				}
				if _, err := e.b.GetVersion(ctx, e.store, v.ID); err != nil {
					e.Errorf("GetVersion in the loop: %v", err)
				}
				break
			}
			break
		}
	}
	if n != 4 {
		e.Errorf("%d entries, want 4 as at the start", n)
	}
	for range 50 { // loops left early hold no resources
		for range e.b.List(ctx, e.store, memento.ListOptions{}) {
			break
		}
		for range e.b.ListVersions(ctx, e.store, memento.VersionListOptions{}) {
			break
		}
	}
	e.put("/after", "still works")
}
