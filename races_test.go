package memento_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

func TestFirstWritesMakeOneStore(t *testing.T) {
	b := memstore.New(nil)
	shared := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 16 {
		s := shared
		if i%2 == 0 {
			s = memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
		}
		wg.Go(func() {
			<-start
			_, err := s.Apply(t.Context(), nobody, memento.Put{Path: memento.Path(fmt.Sprintf("/%d", i)), Content: "x"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	infos := storesOf(t, b)
	if len(infos) != 1 || infos[0].Usage.Memories != 16 {
		t.Errorf("made %+v", infos)
	}
}

// What another does between an edit's read and its write is not lost.
func TestEditMeetsOthers(t *testing.T) {
	add := func(word string) func(string) (string, error) {
		return func(old string) (string, error) { return old + word, nil }
	}
	tests := []struct {
		name   string
		meddle func(t *testing.T, other *memento.Store)
		calls  int
		want   string // "" if the memory is gone
		err    error
	}{
		{"an edit", func(t *testing.T, other *memento.Store) {
			if _, err := other.Edit(t.Context(), nobody, "/a", add(" theirs")); err != nil {
				t.Error(err)
			}
		}, 2, "base theirs ours", nil},
		{"a rename away and back", func(t *testing.T, other *memento.Store) {
			if _, err := other.Apply(t.Context(), nobody, memento.Move{From: "/a", To: "/b"}, memento.Move{From: "/b", To: "/a"}); err != nil {
				t.Error(err)
			}
		}, 2, "base ours", nil},
		{"a deletion", func(t *testing.T, other *memento.Store) {
			if _, err := other.Apply(t.Context(), nobody, memento.Remove{Path: "/a"}); err != nil {
				t.Error(err)
			}
		}, 1, "", memento.ErrNotExist},
		{"another memory in its place", func(t *testing.T, other *memento.Store) {
			if _, err := other.Apply(t.Context(), nobody, memento.Remove{Path: "/a"}, memento.Put{Path: "/a", Content: "base"}); err != nil {
				t.Error(err)
			}
		}, 2, "base ours", nil},
		{"a directory in its place", func(t *testing.T, other *memento.Store) {
			if _, err := other.Apply(t.Context(), nobody, memento.Remove{Path: "/a"}, memento.Put{Path: "/a/b", Content: "x"}); err != nil {
				t.Error(err)
			}
		}, 1, "", memento.ErrIsDir},
		{"the same edit", func(t *testing.T, other *memento.Store) {
			memories.Put(t, other, "/a", "base ours")
		}, 2, "base ours ours", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, s, other := memories.Meddled()
			memories.Put(t, s, "/a", "base")
			m.Meddle = func() { tt.meddle(t, other) }
			calls := 0
			_, err := s.Edit(t.Context(), nobody, "/a", func(old string) (string, error) {
				calls++
				return old + " ours", nil
			})
			if !errors.Is(err, tt.err) || tt.err == nil && err != nil || calls != tt.calls {
				t.Errorf("%v after %d calls, want %v after %d", err, calls, tt.err, tt.calls)
			}
			if got := memories.Contents(t, s)["/a"]; got != tt.want {
				t.Errorf("it holds %q, want %q", got, tt.want)
			}
		})
	}
}

// Edits through several stores on one backend, as several processes make them:
// every one is in the contents and in the history, once.
func TestEditsLoseNothing(t *testing.T) {
	const callers, each = 8, 25
	b := memstore.New(nil)
	memories.Put(t, memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded()), "/log", "")
	var wg sync.WaitGroup
	for process := range 2 {
		s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
		tool := memento.NewTool(s, nil)
		for caller := range callers {
			wg.Go(func() {
				for i := range each {
					line := fmt.Sprintf("%d-%d-%d", process, caller, i)
					if i%2 == 0 {
						if _, err := tool.Insert(t.Context(), "/memories/log", 0, line); err != nil {
							t.Error(err)
						}
						continue
					}
					_, err := s.Edit(t.Context(), nobody, "/log", func(old string) (string, error) {
						runtime.Gosched() // so that others come between
						return old + "\n" + line, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	seen := map[string]int{}
	for _, line := range strings.Fields(memories.Contents(t, s)["/log"]) {
		seen[line]++
	}
	if len(seen) != 2*callers*each {
		t.Errorf("%d of %d lines are there", len(seen), 2*callers*each)
	}
	for line, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", line, n)
		}
	}
	versions := memories.Versions(t, s, memento.VersionListOptions{Contents: true})
	if len(versions) != 1+2*callers*each {
		t.Errorf("the history has %d versions", len(versions))
	}
	for i := range versions[1:] {
		if len(strings.Fields(versions[i+1].Content)) != i+1 {
			t.Errorf("version %d has %d lines", i+1, len(strings.Fields(versions[i+1].Content)))
		}
	}
}

// Edits of one memory through one store take turns, and waiting ends with the context.
func TestEditWaitsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memories.New(memento.Limits{})
		memories.Put(t, s, "/a", "")
		memories.Put(t, s, "/b", "")
		add := func(ctx context.Context, p memento.Path, word string) error {
			_, err := s.Edit(ctx, nobody, p, func(old string) (string, error) { return old + word, nil })
			return err
		}
		release := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Edit(t.Context(), nobody, "/a", func(old string) (string, error) {
				<-release
				return old + "1", nil
			}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wg.Go(func() {
			if err := add(impatient, "/a", "lost"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the edit that timed out: %v", err)
			}
		})
		synctest.Wait()
		for _, word := range []string{"2", "3", "4"} {
			wg.Go(func() {
				if err := add(t.Context(), "/a", word); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if err := add(t.Context(), "/b", "other"); err != nil { // does not wait
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		close(release)
		wg.Wait()
		want := map[memento.Path]string{"/a": "1234", "/b": "other"}
		if diff := cmp.Diff(want, memories.Contents(t, s)); diff != "" {
			t.Error("(-want +got):\n" + diff)
		}
	})
}

// What another does between the look at a memory and the write is not lost, and no
// other memory is hit.
func TestUpdateMemoryMeetsOthers(t *testing.T) {
	base := memento.HashContent("base")
	change := func(changes ...memento.Change) func(*testing.T, *memento.Store) {
		return func(t *testing.T, other *memento.Store) {
			if _, err := other.Apply(t.Context(), nobody, changes...); err != nil {
				t.Error(err)
			}
		}
	}
	edit := change(memento.Put{Path: "/a", Content: "theirs"})
	rename := change(memento.Move{From: "/a", To: "/b"})
	replace := change(memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/a", Content: "another"})
	directory := change(memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/a/x", Content: "another"})
	remove := change(memento.Remove{Path: "/a"})
	recreated := change(memento.Remove{Path: "/a"}, memento.Put{Path: "/a", Content: "base"})
	occupy := change(memento.Put{Path: "/new", Content: "another"})
	same := change(memento.Put{Path: "/a", Content: "ours"})
	moved := change(memento.Move{From: "/a", To: "/new"})
	type held = map[memento.Path]string
	tests := []struct {
		name   string
		meddle func(*testing.T, *memento.Store)
		u      memento.MemoryUpdate
		err    error
		want   held
	}{
		{"an edit", edit, memoryUpdate("ours", "-", ""), nil, held{"/a": "ours"}},
		{"an edit, path", edit, memoryUpdate("-", "/new", ""), nil, held{"/new": "theirs"}},
		{"an edit, both", edit, memoryUpdate("ours", "/new", ""), nil, held{"/new": "ours"}},
		{"an edit, if", edit, memoryUpdate("ours", "-", base), memento.ErrConflict, held{"/a": "theirs"}},
		{"an edit, both, if", edit, memoryUpdate("ours", "/new", base), memento.ErrConflict, held{"/a": "theirs"}},
		{"the same edit, if", same, memoryUpdate("ours", "-", base), nil, held{"/a": "ours"}},
		{"a rename", rename, memoryUpdate("ours", "-", base), nil, held{"/b": "ours"}},
		{"a rename, path", rename, memoryUpdate("-", "/new", base), nil, held{"/new": "base"}},
		{"a rename, both", rename, memoryUpdate("ours", "/new", base), nil, held{"/new": "ours"}},
		{"the same rename", moved, memoryUpdate("-", "/new", base), nil, held{"/new": "base"}},
		{"the same rename, both", moved, memoryUpdate("ours", "/new", base), nil, held{"/new": "ours"}},
		{"a rename, and another in its place", replace, memoryUpdate("ours", "-", base), nil, held{"/a": "another", "/b": "ours"}},
		{"the same, path", replace, memoryUpdate("-", "/new", base), nil, held{"/a": "another", "/new": "base"}},
		{"a rename, and a directory in its place", directory, memoryUpdate("ours", "-", base), nil, held{"/a/x": "another", "/b": "ours"}},
		{"the same, both", directory, memoryUpdate("ours", "/new", base), nil, held{"/a/x": "another", "/new": "ours"}},
		{"a deletion", remove, memoryUpdate("ours", "-", base), memento.ErrNotExist, held{}},
		{"a deletion, path", remove, memoryUpdate("-", "/new", ""), memento.ErrNotExist, held{}},
		{"another in its place", recreated, memoryUpdate("ours", "-", base), memento.ErrNotExist, held{"/a": "base"}},
		{"another in its place, both", recreated, memoryUpdate("ours", "/new", ""), memento.ErrNotExist, held{"/a": "base"}},
		{"another where it goes", occupy, memoryUpdate("ours", "/new", base), memento.ErrExist, held{"/a": "base", "/new": "another"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, s, other := memories.Meddled()
			memories.Put(t, s, "/a", "base")
			id := idAt(t, s, "/a")
			m.Meddle = func() { tt.meddle(t, other) }
			got, err := s.UpdateMemory(t.Context(), nobody, id, tt.u)
			if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("%v, want %v", err, tt.err)
			}
			if err == nil {
				isStored(t, s, got.Memory)
			}
			if diff := cmp.Diff(tt.want, memories.Contents(t, s)); diff != "" {
				t.Error("memories (-want +got):\n" + diff)
			}
		})
	}
}

// stubborn is a backend that refuses every change with an error.
type stubborn struct {
	memento.Backend
	err error
}

func (b *stubborn) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if b.err != nil {
		return memento.Applied{}, &memento.Error{Op: "apply", Err: b.err}
	}
	return b.Backend.Apply(ctx, id, by, changes)
}

// An error that looks as if another had been faster, though nobody was, is
// returned, not tried for ever.
func TestUpdatesEnd(t *testing.T) {
	b := &stubborn{Backend: memstore.New(nil)}
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, s, "/a", "one")
	id := idAt(t, s, "/a")
	for _, want := range []error{memento.ErrConflict, memento.ErrIsDir, memento.ErrNotExist} {
		b.err = want
		for _, u := range []memento.MemoryUpdate{memoryUpdate("x", "-", ""), memoryUpdate("-", "/x", ""), memoryUpdate("x", "/x", "")} {
			if _, err := s.UpdateMemory(t.Context(), ann, id, u); !errors.Is(err, want) {
				t.Errorf("UpdateMemory: %v, want %v", err, want)
			}
		}
		if err := s.DeleteMemory(t.Context(), ann, id, ""); !errors.Is(err, want) {
			t.Errorf("DeleteMemory: %v, want %v", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.UpdateMemory(ctx, ann, id, memoryUpdate("x", "-", "")); !errors.Is(err, context.Canceled) {
		t.Errorf("UpdateMemory, cancelled: %v", err)
	}
	if err := s.DeleteMemory(ctx, ann, id, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("DeleteMemory, cancelled: %v", err)
	}
}

// Callers on several stores on one backend, as several processes are, change one
// memory in all ways at once: by its ID on condition, by its path, and by moving
// it with and without new contents. Every line that one of them added is there.
func TestUpdatesLoseNothing(t *testing.T) {
	const each = 20
	b := memstore.New(nil)
	open := func() *memento.Store {
		return memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	}
	memories.Put(t, open(), "/p0", "")
	id := idAt(t, open(), "/p0")
	paths := []string{"/p0", "/p1", "/dir/p2"}
	var wg sync.WaitGroup
	// retry calls try until it has no error of those that another can cause.
	retry := func(try func() error, passing ...error) {
		for {
			err := try()
			if err == nil {
				return
			}
			known := false
			for _, p := range passing {
				known = known || errors.Is(err, p)
			}
			if !known {
				t.Error(err)
				return
			}
			runtime.Gosched()
		}
	}
	read := func(s *memento.Store) memento.Memory {
		m, err := s.Get(t.Context(), memento.ByID(id))
		if err != nil {
			t.Error(err)
		}
		return m
	}
	for process := range 2 {
		s := open()
		for caller := range 2 {
			line := func(kind string, i int) string { return fmt.Sprintf("\n%s-%d-%d-%d", kind, process, caller, i) }
			wg.Go(func() {
				for i := range each {
					retry(func() error {
						m := read(s)
						text := m.Content + line("update", i)
						_, err := s.UpdateMemory(t.Context(), ann, id, memento.MemoryUpdate{Content: &text, IfSHA256: m.SHA256})
						return err
					}, memento.ErrConflict)
				}
			})
			wg.Go(func() {
				for i := range each {
					retry(func() error {
						m := read(s)
						text := m.Content + line("both", i)
						to := memento.Path(paths[i%len(paths)])
						_, err := s.UpdateMemory(t.Context(), ann, id, memento.MemoryUpdate{Path: &to, Content: &text, IfSHA256: m.SHA256})
						return err
					}, memento.ErrConflict)
				}
			})
			wg.Go(func() {
				for i := range each {
					retry(func() error {
						_, err := s.Edit(t.Context(), ann, read(s).Path, func(old string) (string, error) { return old + line("edit", i), nil })
						return err
					}, memento.ErrNotExist)
				}
			})
			wg.Go(func() {
				for i := range each {
					retry(func() error {
						_, err := s.UpdateMemory(t.Context(), ann, id, memoryUpdate("-", paths[(i+caller)%len(paths)], ""))
						return err
					})
				}
			})
		}
	}
	wg.Wait()
	seen := map[string]int{}
	for _, line := range strings.Fields(read(open()).Content) {
		seen[line]++
	}
	if want := 2 * 2 * 3 * each; len(seen) != want {
		t.Errorf("%d of %d lines are there", len(seen), want)
	}
	for line, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", line, n)
		}
	}
	if held := memories.Contents(t, open()); len(held) != 1 {
		t.Errorf("there are %d memories", len(held))
	}
}

// A memory is deleted where it is, though it was renamed just now, and nothing else is.
func TestDeleteMemoryMeetsOthers(t *testing.T) {
	base := memento.HashContent("base")
	type held = map[memento.Path]string
	for _, tt := range []struct {
		name    string
		changes []memento.Change
		hash    string
		err     error
		want    held
	}{
		{"a rename", []memento.Change{memento.Move{From: "/a", To: "/b"}}, base, nil, held{}},
		{"a rename, and another in its place", []memento.Change{memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/a", Content: "base"}}, base, nil, held{"/a": "base"}},
		{"a rename, and a directory in its place", []memento.Change{memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/a/x", Content: "base"}}, "", nil, held{"/a/x": "base"}},
		{"an edit", []memento.Change{memento.Put{Path: "/a", Content: "theirs"}}, "", nil, held{}},
		{"an edit, with a hash", []memento.Change{memento.Put{Path: "/a", Content: "theirs"}}, base, memento.ErrConflict, held{"/a": "theirs"}},
		{"a rename and an edit, with a hash", []memento.Change{memento.Move{From: "/a", To: "/b", Content: new("theirs")}}, base, memento.ErrConflict, held{"/b": "theirs"}},
		{"a deletion", []memento.Change{memento.Remove{Path: "/a"}}, base, memento.ErrNotExist, held{}},
		{"another in its place", []memento.Change{memento.Remove{Path: "/a"}, memento.Put{Path: "/a", Content: "base"}}, base, memento.ErrNotExist, held{"/a": "base"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := memstore.New(nil)
			m := &memories.Meddler{Backend: b}
			s := memento.OpenNamed(m, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
			memories.Put(t, s, "/a", "base")
			id := idAt(t, s, "/a")
			store, err := s.ID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m.Meddle = func() {
				if _, err := b.Apply(t.Context(), store, nobody, tt.changes); err != nil {
					t.Error(err)
				}
			}
			err = s.DeleteMemory(t.Context(), ann, id, tt.hash)
			if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("%v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, memories.Contents(t, s)); diff != "" {
				t.Error("memories (-want +got):\n" + diff)
			}
		})
	}
}

// Of many who delete a memory that others keep renaming, one succeeds.
func TestDeletionsRaceRenames(t *testing.T) {
	for range 20 {
		s := memories.New(memento.Limits{})
		memories.Put(t, s, "/p0", "one")
		memories.Put(t, s, "/other", "stays")
		id := idAt(t, s, "/p0")
		var wg sync.WaitGroup
		deleted := make(chan bool, 4)
		for i := range 4 {
			wg.Go(func() {
				err := s.DeleteMemory(t.Context(), ann, id, memento.HashContent("one"))
				if err != nil && !errors.Is(err, memento.ErrNotExist) {
					t.Error(err)
				}
				deleted <- err == nil
			})
			wg.Go(func() {
				for j := 0; ; j++ {
					_, err := s.UpdateMemory(t.Context(), nobody, id, memoryUpdate("-", fmt.Sprintf("/p%d", (i+j)%3), ""))
					if errors.Is(err, memento.ErrNotExist) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		n := 0
		for range 4 {
			if <-deleted {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%d of 4 deleted it", n)
		}
		if diff := cmp.Diff(map[memento.Path]string{"/other": "stays"}, memories.Contents(t, s)); diff != "" {
			t.Error("memories (-want +got):\n" + diff)
		}
	}
}
