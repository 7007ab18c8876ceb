package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/test/memories"
)

const workspace = memento.DefaultWorkspace

var nobody memento.Actor

// A timeline is a store whose clock only moves when it is told to.
type timeline struct {
	*memento.Store
	t  *testing.T
	at time.Time
	b  *memstore.Backend
}

func newTimeline(t *testing.T) *timeline {
	l := &timeline{t: t, at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b := memstore.New(&memstore.Options{Now: func() time.Time { return l.at }})
	l.b = b
	l.Store = memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	return l
}

// do makes changes as one, and an hour passes. It returns the time of the changes.
func (l *timeline) do(changes ...memento.Change) time.Time {
	l.t.Helper()
	at := l.at
	if _, err := l.Apply(l.t.Context(), nobody, changes...); err != nil {
		l.t.Fatal(err)
	}
	l.at = l.at.Add(time.Hour)
	return at
}

func (l *timeline) put(p memento.Path, text string) time.Time {
	l.t.Helper()
	return l.do(memento.Put{Path: p, Content: text})
}

// redact empties a memory's oldest version.
func (l *timeline) redactOldest(p memento.Path) {
	l.t.Helper()
	m, err := l.Get(l.t.Context(), memento.ByPath(p))
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.Redact(l.t.Context(), memories.Versions(l.t, l.Store, memento.VersionListOptions{Memory: m.ID})[0].ID, nobody); err != nil {
		l.t.Fatal(err)
	}
}

// oldest returns the first version at p.
func (l *timeline) oldest(p memento.Path) memento.VersionID {
	l.t.Helper()
	versions := memories.Versions(l.t, l.Store, memento.VersionListOptions{Path: p})
	if len(versions) == 0 {
		l.t.Fatalf("no version at %s", p)
	}
	return versions[0].ID
}

func TestRestoreVersion(t *testing.T) {
	tests := []struct {
		name  string
		after []memento.Change // what happens to /a, which was "one", later
		path  memento.Path     // where it is restored
		made  int              // versions that makes
		want  map[memento.Path]string
		err   error
	}{
		{
			name: "of a changed memory", after: []memento.Change{memento.Put{Path: "/a", Content: "two"}},
			path: "/a", made: 1, want: map[memento.Path]string{"/a": "one"},
		},
		{
			name: "of an unchanged memory",
			path: "/a", made: 0, want: map[memento.Path]string{"/a": "one"},
		},
		{
			name: "of a renamed memory", after: []memento.Change{memento.Move{From: "/a", To: "/dir/b"}, memento.Put{Path: "/dir/b", Content: "two"}},
			path: "/dir/b", made: 1, want: map[memento.Path]string{"/dir/b": "one"},
		},
		{
			name: "of a renamed memory with another in its place", after: []memento.Change{memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/b", Content: "two"}, memento.Put{Path: "/a", Content: "new"}},
			path: "/b", made: 1, want: map[memento.Path]string{"/a": "new", "/b": "one"},
		},
		{
			name: "of a deleted memory", after: []memento.Change{memento.Remove{Path: "/a"}},
			path: "/a", made: 1, want: map[memento.Path]string{"/a": "one"},
		},
		{
			name: "of a deleted memory with another in its place", after: []memento.Change{memento.Remove{Path: "/a"}, memento.Put{Path: "/a", Content: "new"}},
			path: "/a", err: memento.ErrExist, want: map[memento.Path]string{"/a": "new"},
		},
		{
			name: "of a deleted memory with a directory in its place", after: []memento.Change{memento.Remove{Path: "/a"}, memento.Put{Path: "/a/b", Content: "new"}},
			path: "/a", err: memento.ErrIsDir, want: map[memento.Path]string{"/a/b": "new"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTimeline(t)
			l.put("/a", "one")
			first := l.oldest("/a")
			l.do(tt.after...)
			before := len(memories.Versions(t, l.Store, memento.VersionListOptions{}))
			by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}
			p, _, err := history.RestoreVersion(t.Context(), l.Store, by, first)
			if p != tt.path || !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("restored at %q, %v; want %q, %v", p, err, tt.path, tt.err)
			}
			if diff := cmp.Diff(tt.want, memories.Contents(t, l.Store)); diff != "" {
				t.Error("contents (-want +got):\n" + diff)
			}
			made := memories.Versions(t, l.Store, memento.VersionListOptions{})[before:]
			if len(made) != tt.made || tt.made > 0 && made[0].CreatedBy != by {
				t.Errorf("made %+v, want %d versions", made, tt.made)
			}
		})
	}
}

func TestRestoreVersionWithoutContents(t *testing.T) {
	l := newTimeline(t)
	l.put("/a", "one")
	first := l.oldest("/a")
	l.put("/a", "two")
	l.redactOldest("/a")
	l.do(memento.Remove{Path: "/a"})
	versions := memories.Versions(t, l.Store, memento.VersionListOptions{})
	deletion := versions[len(versions)-1]
	if deletion.Operation != memento.Deleted {
		t.Fatalf("the last version is %+v", deletion)
	}
	for id, want := range map[memento.VersionID]error{
		first: memento.ErrInvalid, deletion.ID: memento.ErrInvalid, "memver_none": memento.ErrNotExist, "": memento.ErrNotExist,
	} {
		if _, _, err := history.RestoreVersion(t.Context(), l.Store, nobody, id); !errors.Is(err, want) {
			t.Errorf("version %q: %v, want %v", id, err, want)
		}
	}
	if held := memories.Contents(t, l.Store); len(held) != 0 {
		t.Errorf("the store holds %q", held)
	}
}

// A restore meets what others do between its look and its write.
func TestRestoreMeetsOthers(t *testing.T) {
	b := memstore.New(nil)
	m := &memories.Meddler{Backend: b}
	s := memento.OpenNamed(m, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	other := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, s, "/a", "one")
	first := memories.Versions(t, s, memento.VersionListOptions{})[0]
	memories.Put(t, s, "/a", "two")

	m.Meddle = func() { memories.Put(t, other, "/a", "three") }
	if p, _, err := history.RestoreVersion(t.Context(), s, nobody, first.ID); p != "/a" || err != nil {
		t.Errorf("changed meanwhile: %q, %v", p, err)
	}
	memories.Put(t, s, "/a", "two")
	m.Meddle = func() {
		if _, err := other.Apply(t.Context(), nobody, memento.Remove{Path: "/a"}); err != nil {
			t.Error(err)
		}
	}
	if p, _, err := history.RestoreVersion(t.Context(), s, nobody, first.ID); p != "/a" || err != nil {
		t.Errorf("deleted meanwhile: %q, %v", p, err)
	}
	memories.Put(t, s, "/a", "two")
	m.Meddle = func() {
		memories.Put(t, other, "/new", "x")
		memories.Put(t, other, "/a", "three")
	}
	r, err := history.RestoreAsOf(t.Context(), s, nobody, first.CreatedAt, false)
	if err != nil {
		t.Fatal(err)
	}
	// /a of now is another memory than then, but it is what stands there.
	want := history.Restoration{Written: []memento.Path{"/a"}, Removed: []memento.Path{"/new"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/a": "one"}, memories.Contents(t, s)); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}

	// Once it is as it was, there is nothing left to do.
	r, err = history.RestoreAsOf(t.Context(), s, nobody, first.CreatedAt, false)
	if diff := cmp.Diff(history.Restoration{}, r); diff != "" || err != nil {
		t.Errorf("restored again: %v (-want +got):\n%s", err, diff)
	}
}

// An imported history can put memories in each other's way at a time, because its
// times need not be in order: the newest ones win.
func TestRestoreContested(t *testing.T) {
	s := memories.New(memento.Limits{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	version := func(n int, memory, path string, age time.Duration) memento.Version {
		text := fmt.Sprintf("text %d", n)
		return memento.Version{
			ID: memento.VersionID(fmt.Sprintf("memver_%d", n)), Memory: memento.MemoryID(memory), Operation: memento.Modified,
			Path: memento.Path(path), Content: text, SHA256: memento.HashContent(text), CreatedAt: at.Add(-age * time.Hour),
		}
	}
	_, err := s.Import(t.Context(), []memento.Version{
		version(1, "mem_a", "/x", 3),
		version(2, "mem_b", "/d", 3),
		version(3, "mem_a", "/y", -1), // after the time restored, though before the next in order
		version(4, "mem_b", "/z", -1),
		version(5, "mem_c", "/x", 2),
		version(6, "mem_d", "/d/e", 2),
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := history.RestoreAsOf(t.Context(), s, nobody, at, false)
	if err != nil {
		t.Fatal(err)
	}
	want := history.Restoration{Removed: []memento.Path{"/y", "/z"}, Lost: []memento.Path{"/d"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/x": "text 5", "/d/e": "text 6"}, memories.Contents(t, s)); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

func TestRestoreAsOf(t *testing.T) {
	type files = map[memento.Path]string
	tests := []struct {
		name string
		// then makes the state to go back to, later what happened since.
		then, later func(l *timeline)
		want        history.Restoration
		files       files
	}{
		{
			name: "what changed, was made and was deleted",
			then: func(l *timeline) { l.put("/same", "s"); l.put("/changed", "old"); l.put("/deleted", "d") },
			later: func(l *timeline) {
				l.put("/changed", "new")
				l.put("/made", "m")
				l.do(memento.Remove{Path: "/deleted"})
			},
			want:  history.Restoration{Written: []memento.Path{"/changed", "/deleted"}, Removed: []memento.Path{"/made"}},
			files: files{"/same": "s", "/changed": "old", "/deleted": "d"},
		},
		{
			name:  "nothing",
			then:  func(l *timeline) { l.put("/a", "a") },
			later: func(l *timeline) { l.put("/a", "b"); l.put("/a", "a") },
			files: files{"/a": "a"},
		},
		{
			name:  "everything, to nothing",
			then:  func(*timeline) {},
			later: func(l *timeline) { l.put("/a", "a"); l.put("/d/b", "b") },
			want:  history.Restoration{Removed: []memento.Path{"/a", "/d/b"}},
			files: files{},
		},
		{
			name:  "renames",
			then:  func(l *timeline) { l.put("/a", "a"); l.put("/d/b", "b") },
			later: func(l *timeline) { l.do(memento.Move{From: "/a", To: "/z"}); l.do(memento.Move{From: "/d", To: "/e"}) },
			want:  history.Restoration{Written: []memento.Path{"/a", "/d/b"}, Removed: []memento.Path{"/e/b", "/z"}},
			files: files{"/a": "a", "/d/b": "b"},
		},
		{
			name: "two that changed places",
			then: func(l *timeline) { l.put("/a", "a"); l.put("/b", "b") },
			later: func(l *timeline) {
				l.do(memento.Move{From: "/a", To: "/c"}, memento.Move{From: "/b", To: "/a"}, memento.Move{From: "/c", To: "/b"})
			},
			want:  history.Restoration{Written: []memento.Path{"/a", "/b"}},
			files: files{"/a": "a", "/b": "b"},
		},
		{
			name:  "a file that became a directory",
			then:  func(l *timeline) { l.put("/a", "file") },
			later: func(l *timeline) { l.do(memento.Remove{Path: "/a"}); l.put("/a/b", "x"); l.put("/a/c/d", "y") },
			want:  history.Restoration{Written: []memento.Path{"/a"}, Removed: []memento.Path{"/a/b", "/a/c/d"}},
			files: files{"/a": "file"},
		},
		{
			name:  "a directory that became a file",
			then:  func(l *timeline) { l.put("/a/b", "x"); l.put("/a/c/d", "y") },
			later: func(l *timeline) { l.do(memento.Remove{Path: "/a"}); l.put("/a", "file") },
			want:  history.Restoration{Written: []memento.Path{"/a/b", "/a/c/d"}, Removed: []memento.Path{"/a"}},
			files: files{"/a/b": "x", "/a/c/d": "y"},
		},
		{
			name:  "what was deleted then as well",
			then:  func(l *timeline) { l.put("/a", "a"); l.do(memento.Remove{Path: "/a"}); l.put("/b", "b") },
			later: func(l *timeline) { l.put("/a", "new") },
			want:  history.Restoration{Removed: []memento.Path{"/a"}},
			files: files{"/b": "b"},
		},
		{
			name:  "contents that were redacted",
			then:  func(l *timeline) { l.put("/a", "secret"); l.put("/b", "b") },
			later: func(l *timeline) { l.put("/a", "clean"); l.put("/b", "c"); l.redactOldest("/a") },
			want:  history.Restoration{Written: []memento.Path{"/b"}, Lost: []memento.Path{"/a"}},
			files: files{"/a": "clean", "/b": "b"},
		},
		{
			name: "redacted contents of a deleted memory",
			then: func(l *timeline) { l.put("/a", "secret"); l.put("/b", "b") },
			later: func(l *timeline) {
				l.put("/a", "clean")
				l.redactOldest("/a")
				l.do(memento.Remove{Path: "/a"})
				l.put("/b", "c")
			},
			want:  history.Restoration{Written: []memento.Path{"/b"}},
			files: files{"/b": "b"},
		},
		{
			name: "what a memory with redacted contents is in the way of",
			then: func(l *timeline) { l.put("/a", "secret"); l.put("/b", "b"); l.put("/c", "c"); l.put("/d/e", "e") },
			later: func(l *timeline) {
				l.put("/a", "clean")
				l.redactOldest("/a")
				l.do(memento.Remove{Path: "/b"}, memento.Move{From: "/a", To: "/b"}, memento.Remove{Path: "/c"})
			},
			want:  history.Restoration{Written: []memento.Path{"/c"}, Lost: []memento.Path{"/b", "/b"}},
			files: files{"/b": "clean", "/c": "c", "/d/e": "e"},
		},
		{
			name: "a file whose directory such a memory has become",
			then: func(l *timeline) { l.put("/a", "secret"); l.put("/d/e", "e") },
			later: func(l *timeline) {
				l.put("/a", "clean")
				l.redactOldest("/a")
				l.do(memento.Remove{Path: "/d"}, memento.Move{From: "/a", To: "/d"})
			},
			want:  history.Restoration{Lost: []memento.Path{"/d", "/d/e"}},
			files: files{"/d": "clean"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTimeline(t)
			if _, err := l.Ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			tt.then(l)
			then := l.at
			l.at = l.at.Add(time.Hour)
			tt.later(l)
			now := l.at
			l.at = l.at.Add(time.Hour)
			before := memories.Contents(t, l.Store)
			versions := len(memories.Versions(t, l.Store, memento.VersionListOptions{}))

			dry, err := history.RestoreAsOf(t.Context(), l.Store, nobody, then, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, memories.Contents(t, l.Store)); diff != "" || len(memories.Versions(t, l.Store, memento.VersionListOptions{})) != versions {
				t.Error("a dry run changed the store:\n" + diff)
			}
			if diff := cmp.Diff(tt.want, dry); diff != "" {
				t.Error("dry run (-want +got):\n" + diff)
			}

			did, err := history.RestoreAsOf(t.Context(), l.Store, nobody, then, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(dry, did); diff != "" {
				t.Error("done (-said +done):\n" + diff)
			}
			if diff := cmp.Diff(tt.files, memories.Contents(t, l.Store)); diff != "" {
				t.Error("contents (-want +got):\n" + diff)
			}
			for _, v := range memories.Versions(t, l.Store, memento.VersionListOptions{})[versions:] {
				if !v.CreatedAt.Equal(l.at) {
					t.Errorf("it was more than one change: %+v", v)
				}
			}

			// And back again.
			l.at = l.at.Add(time.Hour)
			if _, err := history.RestoreAsOf(t.Context(), l.Store, nobody, now, false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, memories.Contents(t, l.Store)); diff != "" {
				t.Error("restored from the restoration (-want +got):\n" + diff)
			}
		})
	}
}

// Whatever happens, every state of the past comes back exactly.
func TestRestoreAnyState(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			paths := []memento.Path{"/a", "/b", "/c", "/a/x", "/a/y", "/b/x", "/b/x/1", "/c/x/1"}
			pick := func() memento.Path { return paths[random.IntN(len(paths))] }
			l := newTimeline(t)
			l.put("/start", "s")
			type state struct {
				at    time.Time
				files map[memento.Path]string
			}
			var states []state
			for i := range 40 {
				var change memento.Change
				switch random.IntN(4) {
				case 0:
					change = memento.Remove{Path: pick()}
				case 1:
					change = memento.Move{From: pick(), To: pick()}
				default:
					change = memento.Put{Path: pick(), Content: fmt.Sprint(i % 7)}
				}
				if _, err := l.Apply(t.Context(), nobody, change); err != nil && !wellKnown(err) {
					t.Fatal(err)
				}
				states = append(states, state{l.at, memories.Contents(t, l.Store)})
				l.at = l.at.Add(time.Minute)
			}
			for _, i := range random.Perm(len(states)) {
				if _, err := history.RestoreAsOf(t.Context(), l.Store, nobody, states[i].at, false); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(states[i].files, memories.Contents(t, l.Store)); diff != "" {
					t.Fatalf("state %d (-want +got):\n%s", i, diff)
				}
				l.at = l.at.Add(time.Minute)
			}
		})
	}
}

// wellKnown reports whether an error is one that random changes may meet.
func wellKnown(err error) bool {
	for _, known := range []error{memento.ErrNotExist, memento.ErrExist, memento.ErrIsDir, memento.ErrNotDir, memento.ErrInvalidPath} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// What is not known any more is not taken for what did not exist.
func TestRestoreBeyondTheHistory(t *testing.T) {
	const day = 24 * time.Hour
	now := new(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b := memstore.New(&memstore.Options{Now: func() time.Time { return *now }})
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, s, "/precious", "1")
	memories.Put(t, s, "/removed", "1")
	*now = now.Add(day)
	then := *now
	*now = now.Add(day)
	memories.Put(t, s, "/precious", "2")
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: "/removed"}); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/new", "made since")
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opts := memento.PruneOptions{Before: now.Add(day), Keep: 1}
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{Path: "/removed", Operation: memento.Created}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Redact(t.Context(), id, v.ID, memento.Actor{}); err != nil { // one of then is redacted, another pruned
			t.Fatal(err)
		}
	}
	opts.Memory = memoryAt(t, s, "/precious")
	if _, err := b.Prune(t.Context(), id, opts); err != nil {
		t.Fatal(err)
	}
	r, err := history.RestoreAsOf(t.Context(), s, memento.Actor{}, then, false)
	if err != nil {
		t.Fatal(err)
	}
	want := history.Restoration{Removed: []memento.Path{"/new"}, Lost: []memento.Path{"/precious"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("restoration (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/precious": "2"}, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
}

func memoryAt(t *testing.T, s *memento.Store, p memento.Path) memento.MemoryID {
	t.Helper()
	m, err := s.Get(t.Context(), memento.ByPath(p))
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}
