package memento_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// longKeys finds runs of 50 and more of the letter k.
type longKeys struct{}

func (longKeys) Detect(text string, _ bool) (found []memento.Finding) {
	for _, m := range regexp.MustCompile(`k{50,}`).FindAllStringIndex(text, -1) {
		found = append(found, memento.Finding{Kind: "key", Start: m[0], End: m[1]})
	}
	return found
}

// The limit is about the text that is written, which is the masked one.
func TestLimitOfMaskedText(t *testing.T) {
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Limits: memento.Limits{MemoryBytes: 100}}, &memento.StoreOptions{Detector: longKeys{}})
	long := strings.Repeat("x", 101)
	key := strings.Repeat("k", 200)
	for text, want := range map[string]int64{long: 101, key + long: int64(len("[REDACTED:key]")) + 101} {
		_, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: text})
		if found, ok := errors.AsType[*memento.LimitError](err); !ok || found.Want != want {
			t.Errorf("a text of %d bytes: %v; want %d bytes to be too large", len(text), err, want)
		}
	}
	made, err := s.CreateMemory(t.Context(), memento.Actor{}, "/key", key)
	if err != nil || made.Memory.Content != "[REDACTED:key]" {
		t.Errorf("a long text that is short once it is masked: %q, %v", made.Memory.Content, err)
	}
	// An update that was made already is recognized by what was written of it.
	update := memento.MemoryUpdate{Content: &key, IfSHA256: memento.HashContent("an earlier text")}
	if done, err := s.UpdateMemory(t.Context(), memento.Actor{}, made.Memory.ID, update); err != nil || done.Memory.Version != made.Memory.Version {
		t.Errorf("a repeated update: %+v, %v", done, err)
	}
	memories.Put(t, s, "/a", strings.Repeat("y", 100))
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: long, If: memento.IfAbsent()}); !errors.Is(err, memento.ErrExist) {
		t.Errorf("where something is: %v, want ErrExist", err)
	}
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 10}}); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/a", strings.Repeat("z", 50)) // which shrinks
}
