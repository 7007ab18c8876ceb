package memento_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

var ann = memento.Actor{Kind: memento.ActorUser, ID: "ann"}

// idAt returns the ID of the memory at a path.
func idAt(t testing.TB, s *memento.Store, p memento.Path) memento.MemoryID {
	t.Helper()
	m, err := s.Get(t.Context(), memento.ByPath(p))
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// isStored checks that what a method returned is what the store has.
func isStored(t *testing.T, s *memento.Store, m memento.Memory) {
	t.Helper()
	stored, err := s.Get(t.Context(), memento.ByID(m.ID))
	if diff := cmp.Diff(stored, m, cmpopts.IgnoreFields(memento.Memory{}, "ReadAt")); diff != "" || err != nil {
		t.Errorf("%v (-stored +returned):\n%s", err, diff)
	}
}

// isAbout checks which error it is, and about which path.
func isAbout(t *testing.T, err, want error, p memento.Path) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
		return
	}
	if at, ok := errors.AsType[*memento.Error](err); ok && at.Path != p {
		t.Errorf("%v is about %q, want %q", err, at.Path, p)
	}
}

func memoryUpdate(content, p, ifSHA256 string) memento.MemoryUpdate {
	u := memento.MemoryUpdate{IfSHA256: ifSHA256}
	if content != "-" {
		u.Content = &content
	}
	if p != "-" {
		u.Path = new(memento.Path(p))
	}
	return u
}

func TestCreateMemory(t *testing.T) {
	s := memories.New(memento.Limits{MemoryBytes: 100})
	made, err := s.CreateMemory(t.Context(), ann, "/dir/a", "with "+testKey)
	if err != nil {
		t.Fatal(err)
	}
	isStored(t, s, made.Memory)
	if m := made.Memory; m.Content != "with "+testKeyMark || m.Path != "/dir/a" || !m.CreatedAt.Equal(m.UpdatedAt) {
		t.Errorf("made %+v", m)
	}
	if len(made.Masked) != 1 || made.Usage.Memories != 1 || made.Limits.MemoryBytes != 100 {
		t.Errorf("the receipt is %+v", made.Receipt)
	}
	empty, err := s.CreateMemory(t.Context(), ann, "/empty", "")
	if err != nil {
		t.Fatal(err)
	}
	isStored(t, s, empty.Memory)

	for _, tt := range []struct {
		path memento.Path
		text string
		want error
		at   memento.Path
	}{
		{"/dir/a", "x", memento.ErrExist, "/dir/a"},
		{"/dir/a", "with " + testKeyMark, memento.ErrExist, "/dir/a"}, // which is what it has
		{"/dir/a", strings.Repeat("x", 101), memento.ErrExist, "/dir/a"},
		{"/dir", "x", memento.ErrIsDir, "/dir"},
		{"/dir/a/b", "x", memento.ErrNotDir, "/dir/a"},
		{"/dir/a/b/c", "x", memento.ErrNotDir, "/dir/a"},
		{"/", "x", memento.ErrInvalidPath, "/"},
		{"x", "x", memento.ErrInvalidPath, "x"},
		{"", "x", memento.ErrInvalidPath, ""},
		{"/b", "\xff", memento.ErrInvalid, "/b"},
		{"/b", strings.Repeat("x", 101), memento.ErrTooLarge, "/b"},
		{"/" + testKey, "x", memento.ErrSensitive, ""},
	} {
		got, err := s.CreateMemory(t.Context(), ann, tt.path, tt.text)
		isAbout(t, err, tt.want, tt.at)
		if got.Memory != (memento.Memory{}) {
			t.Errorf("%s: returned %+v with its error", tt.path, got.Memory)
		}
	}
	if versions := memories.Versions(t, s, memento.VersionListOptions{}); len(versions) != 2 || versions[0].CreatedBy != ann {
		t.Errorf("the history is %+v", versions)
	}
}

func TestUpdateMemory(t *testing.T) {
	one := memento.HashContent("one")
	tests := []struct {
		name   string
		u      memento.MemoryUpdate
		err    error
		at     memento.Path // that the error is about
		path   memento.Path // where the memory is then
		text   string
		writes int // versions made
	}{
		{"content", memoryUpdate("new", "-", ""), nil, "", "/a", "new", 1},
		{"no content", memoryUpdate("", "-", ""), nil, "", "/a", "", 1},
		{"path", memoryUpdate("-", "/x/y", ""), nil, "", "/x/y", "one", 1},
		{"both", memoryUpdate("new", "/x/y", ""), nil, "", "/x/y", "new", 1},
		{"path, and the same content", memoryUpdate("one", "/x", ""), nil, "", "/x", "one", 1},
		{"content, and the same path", memoryUpdate("new", "/a", ""), nil, "", "/a", "new", 1},
		{"what is there", memoryUpdate("one", "/a", ""), nil, "", "/a", "one", 0},
		{"the same content", memoryUpdate("one", "-", ""), nil, "", "/a", "one", 0},
		{"the same path", memoryUpdate("-", "/a", ""), nil, "", "/a", "one", 0},
		{"nothing", memoryUpdate("-", "-", ""), nil, "", "/a", "one", 0},

		{"content, if", memoryUpdate("new", "-", one), nil, "", "/a", "new", 1},
		{"path, if", memoryUpdate("-", "/x", one), nil, "", "/x", "one", 1},
		{"both, if", memoryUpdate("new", "/x", one), nil, "", "/x", "new", 1},
		{"nothing, if", memoryUpdate("-", "-", one), nil, "", "/a", "one", 0},

		{"content, stale", memoryUpdate("new", "-", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"path, stale", memoryUpdate("-", "/x", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"both, stale", memoryUpdate("new", "/x", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"content as it is, path, stale", memoryUpdate("one", "/x", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"content, path as it is, stale", memoryUpdate("new", "/a", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"nothing, stale", memoryUpdate("-", "-", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"in upper case", memoryUpdate("new", "-", strings.ToUpper(one)), memento.ErrConflict, "/a", "/a", "one", 0},
		// What an update that has happened looks like when it is repeated.
		{"content as it is, stale", memoryUpdate("one", "-", "stale"), nil, "", "/a", "one", 0},
		{"path as it is, stale", memoryUpdate("-", "/a", "stale"), nil, "", "/a", "one", 0},
		{"both as they are, stale", memoryUpdate("one", "/a", "stale"), nil, "", "/a", "one", 0},

		{"path of a memory", memoryUpdate("-", "/b", ""), memento.ErrExist, "/b", "/a", "one", 0},
		{"path of a memory, and content", memoryUpdate("new", "/b", ""), memento.ErrExist, "/b", "/a", "one", 0},
		{"path of a directory", memoryUpdate("-", "/dir", ""), memento.ErrExist, "/dir", "/a", "one", 0},
		{"path of a directory, and content", memoryUpdate("new", "/dir", one), memento.ErrExist, "/dir", "/a", "one", 0},
		{"through a memory", memoryUpdate("-", "/b/x/y", ""), memento.ErrNotDir, "/b", "/a", "one", 0},
		{"through a memory, and content", memoryUpdate("new", "/b/x", ""), memento.ErrNotDir, "/b", "/a", "one", 0},
		{"through itself", memoryUpdate("-", "/a/x", ""), memento.ErrNotDir, "/a", "/a", "one", 0},
		{"path of a memory, stale", memoryUpdate("-", "/b", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"path of a memory, and content, stale", memoryUpdate("new", "/b", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"through a memory, stale", memoryUpdate("new", "/b/x", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},

		{"no path", memoryUpdate("-", "", ""), memento.ErrInvalidPath, "", "/a", "one", 0},
		{"root", memoryUpdate("-", "/", ""), memento.ErrInvalidPath, "/", "/a", "one", 0},
		{"invalid path", memoryUpdate("new", "/a//b", ""), memento.ErrInvalidPath, "/a//b", "/a", "one", 0},
		{"invalid content", memoryUpdate("\xff", "-", ""), memento.ErrInvalid, "/a", "/a", "one", 0},
		{"invalid content, and path", memoryUpdate("\xff", "/x", ""), memento.ErrInvalid, "/a", "/a", "one", 0},
		{"too large", memoryUpdate(strings.Repeat("x", 41), "-", ""), memento.ErrTooLarge, "/a", "/a", "one", 0},
		{"too large, and path", memoryUpdate(strings.Repeat("x", 41), "/x", ""), memento.ErrTooLarge, "/x", "/a", "one", 0},
		{"too large, and path of a directory", memoryUpdate(strings.Repeat("x", 41), "/dir", ""), memento.ErrExist, "/dir", "/a", "one", 0},
		{"too large, stale", memoryUpdate(strings.Repeat("x", 41), "-", "stale"), memento.ErrConflict, "/a", "/a", "one", 0},
		{"path too deep", memoryUpdate("-", "/1/2/3/4", ""), memento.ErrTooLarge, "/1/2/3/4", "/a", "one", 0},
		{"read-only", memoryUpdate("-", "/keep/x", ""), memento.ErrProtected, "/keep/x", "/a", "one", 0},
		{"sensitive path", memoryUpdate("-", "/"+testKey, ""), memento.ErrSensitive, "", "/a", "one", 0},
		{"sensitive content", memoryUpdate(testKey, "/x", ""), nil, "", "/x", testKeyMark, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := memstore.New(nil)
			settings := memento.DefaultSettings()
			settings.ReadOnly = []memento.Pattern{"/keep"}
			s := memento.OpenNamed(b, workspace, memento.StoreSpec{
				Name: "notes", Limits: memento.Limits{MemoryBytes: 40, PathDepth: 3}, Settings: &settings,
			}, memories.Guarded())
			memories.Put(t, s, "/a", "one")
			memories.Put(t, s, "/b", "two")
			memories.Put(t, s, "/dir/c", "three")
			id, before := idAt(t, s, "/a"), len(memories.Versions(t, s, memento.VersionListOptions{}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := s.UpdateMemory(ctx, ann, id, tt.u)
			if tt.err == nil && err != nil {
				t.Fatal(err)
			}
			if tt.err != nil {
				isAbout(t, err, tt.err, tt.at)
				if got.Memory != (memento.Memory{}) {
					t.Errorf("returned %+v with its error", got.Memory)
				}
			} else {
				isStored(t, s, got.Memory)
				if got.Memory.ID != id || len(got.Versions) != tt.writes || got.Usage.Memories != 3 || got.Limits.MemoryBytes != 40 {
					t.Errorf("returned %+v", got)
				}
			}
			made := memories.Versions(t, s, memento.VersionListOptions{})[before:]
			if len(made) != tt.writes {
				t.Errorf("%d versions, want %d", len(made), tt.writes)
			}
			for _, v := range made {
				if v.Operation != memento.Modified || v.CreatedBy != ann || v.Path != tt.path || v.SHA256 != memento.HashContent(tt.text) {
					t.Errorf("the version is %+v", v)
				}
			}
			want := map[memento.Path]string{tt.path: tt.text, "/b": "two", "/dir/c": "three"}
			if diff := cmp.Diff(want, memories.Contents(t, s)); diff != "" {
				t.Error("memories (-want +got):\n" + diff)
			}
		})
	}
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/a", "one")
	for _, u := range []memento.MemoryUpdate{{}, memoryUpdate("new", "/x", ""), memoryUpdate("-", "-", one)} {
		if _, err := s.UpdateMemory(t.Context(), ann, "mem_unknown", u); !errors.Is(err, memento.ErrNotExist) {
			t.Errorf("of a memory that is not there: %v", err)
		}
	}
}

// Whoever has not read the answer to an update repeats it, with what was read before it.
func TestUpdateMemoryRepeated(t *testing.T) {
	for _, tt := range []struct {
		name string
		u    memento.MemoryUpdate
	}{
		{"content", memoryUpdate("new", "-", "")},
		{"path", memoryUpdate("-", "/x", "")},
		{"both", memoryUpdate("new", "/x", "")},
		{"masked", memoryUpdate("my key is "+testKey+"\n", "-", "")},
		{"masked, and path", memoryUpdate(testKey+" and "+testKey, "/x", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := screened(t, nil)
			made, err := s.CreateMemory(t.Context(), ann, "/a", "one")
			if err != nil {
				t.Fatal(err)
			}
			tt.u.IfSHA256 = made.Memory.SHA256
			first, err := s.UpdateMemory(t.Context(), ann, made.Memory.ID, tt.u)
			if err != nil || len(first.Versions) != 1 {
				t.Fatalf("%+v, %v", first, err)
			}
			for range 2 {
				again, err := s.UpdateMemory(t.Context(), ann, made.Memory.ID, tt.u)
				if diff := cmp.Diff(first.Memory, again.Memory); diff != "" || err != nil || len(again.Versions) != 0 {
					t.Errorf("repeated: %v (-first +again):\n%s", err, diff)
				}
			}
			nowhere(t, s, testKey)
			if tt.u.Content == nil { // nothing but its path has changed: the hash still holds
				return
			}
			// Once another has changed it, it is no repetition any more.
			if _, err := s.UpdateMemory(t.Context(), ann, made.Memory.ID, memoryUpdate("theirs", "-", "")); err != nil {
				t.Fatal(err)
			}
			_, err = s.UpdateMemory(t.Context(), ann, made.Memory.ID, tt.u)
			isAbout(t, err, memento.ErrConflict, first.Memory.Path)
			if got := memories.Contents(t, s)[first.Memory.Path]; got != "theirs" {
				t.Errorf("it holds %q", got)
			}
		})
	}
	// What is refused cannot have been written.
	s, _ := screened(t, mode(memento.Reject))
	made, err := s.CreateMemory(t.Context(), ann, "/a", "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.UpdateMemory(t.Context(), ann, made.Memory.ID, memoryUpdate(testKey, "-", made.Memory.SHA256)); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("sensitive: %v", err)
	}
	if _, err = s.UpdateMemory(t.Context(), ann, made.Memory.ID, memoryUpdate(testKey, "-", "stale")); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("sensitive, stale: %v", err)
	}
}

// An archived store takes no updates, whether they would change anything or not.
func TestUpdateMemoryArchived(t *testing.T) {
	s, b := screened(t, nil)
	made, err := s.CreateMemory(t.Context(), ann, "/a", "one")
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Archive: true}); err != nil {
		t.Fatal(err)
	}
	for _, u := range []memento.MemoryUpdate{
		memoryUpdate("-", "-", ""), memoryUpdate("one", "/a", ""), memoryUpdate("one", "-", ""), memoryUpdate("-", "/a", ""), memoryUpdate("-", "-", made.Memory.SHA256),
		memoryUpdate("new", "-", ""), memoryUpdate("-", "/x", ""), memoryUpdate("new", "/x", made.Memory.SHA256),
		memoryUpdate("one", "-", "stale"), // a repetition
	} {
		_, err := s.UpdateMemory(t.Context(), ann, made.Memory.ID, u)
		isAbout(t, err, memento.ErrArchived, "/a")
	}
	_, err = s.UpdateMemory(t.Context(), ann, made.Memory.ID, memoryUpdate("new", "-", "stale"))
	isAbout(t, err, memento.ErrConflict, "/a")
	_, err = s.CreateMemory(t.Context(), ann, "/b", "two")
	isAbout(t, err, memento.ErrArchived, "/b")
	// What is there can still go.
	if err := s.DeleteMemory(t.Context(), ann, made.Memory.ID, made.Memory.SHA256); err != nil {
		t.Error(err)
	}
}

// A memory over a limit that was lowered can be changed, and moved, if it does not grow.
func TestUpdateMemoryOverLimit(t *testing.T) {
	s, b := screened(t, nil)
	made, err := s.CreateMemory(t.Context(), ann, "/a", strings.Repeat("x", 100))
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 10}}); err != nil {
		t.Fatal(err)
	}
	for _, u := range []memento.MemoryUpdate{
		memoryUpdate(strings.Repeat("y", 100), "/b", ""), memoryUpdate(strings.Repeat("z", 99), "-", ""), memoryUpdate(strings.Repeat("y", 98), "/c/d", ""),
	} {
		got, err := s.UpdateMemory(t.Context(), ann, made.Memory.ID, u)
		if err != nil || got.Memory.Content != *u.Content {
			t.Errorf("%d bytes: %v", len(*u.Content), err)
		}
	}
	for _, p := range []string{"-", "/e"} {
		if _, err := s.UpdateMemory(t.Context(), ann, made.Memory.ID, memoryUpdate(strings.Repeat("y", 99), p, "")); !errors.Is(err, memento.ErrTooLarge) {
			t.Errorf("grown, to %s: %v", p, err)
		}
	}
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
	anew := change(memento.Remove{Path: "/a"}, memento.Put{Path: "/a", Content: "base"})
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
		{"another in its place", anew, memoryUpdate("ours", "-", base), memento.ErrNotExist, held{"/a": "base"}},
		{"another in its place, both", anew, memoryUpdate("ours", "/new", ""), memento.ErrNotExist, held{"/a": "base"}},
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

func TestDeleteMemory(t *testing.T) {
	settings := memento.DefaultSettings()
	settings.ReadOnly = []memento.Pattern{"/keep"}
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	ids := map[memento.Path]memento.MemoryID{}
	for _, p := range []memento.Path{"/a", "/b", "/dir/c", "/keep/d"} {
		memories.Put(t, s, p, "at "+string(p))
		ids[p] = idAt(t, s, p)
	}
	store, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateStore(t.Context(), workspace, store, memento.StoreUpdate{Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		id   memento.MemoryID
		hash string
		err  error
		at   memento.Path
	}{
		{"without a hash", ids["/a"], "", nil, ""},
		{"again", ids["/a"], "", memento.ErrNotExist, ""},
		{"again, with a hash", ids["/a"], memento.HashContent("at /a"), memento.ErrNotExist, ""},
		{"stale", ids["/b"], memento.HashContent("at /a"), memento.ErrConflict, "/b"},
		{"with a hash", ids["/b"], memento.HashContent("at /b"), nil, ""},
		{"unknown", "mem_unknown", "", memento.ErrNotExist, ""},
		{"read-only", ids["/keep/d"], "", memento.ErrProtected, "/keep/d"},
		{"read-only, stale", ids["/keep/d"], "stale", memento.ErrConflict, "/keep/d"},
		{"the last of a directory", ids["/dir/c"], "", nil, ""},
	} {
		err := s.DeleteMemory(t.Context(), ann, tt.id, tt.hash)
		if tt.err == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		isAbout(t, err, tt.err, tt.at)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/keep/d": "at /keep/d"}, memories.Contents(t, s)); diff != "" {
		t.Error("memories (-want +got):\n" + diff)
	}
	versions := memories.Versions(t, s, memento.VersionListOptions{Operation: memento.Deleted})
	if len(versions) != 3 || versions[0].CreatedBy != ann || versions[0].Memory != ids["/a"] {
		t.Errorf("deletions: %+v", versions)
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
