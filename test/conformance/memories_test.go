package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMemories(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		const text = "Grüße, 世界\r\n\ttab and \u2028 and no newline at the end"
		m := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/prefs/format.md"), Content: new(text)}))(t)
		if m.Type != "memory" || !strings.HasPrefix(m.ID, "mem_") || !strings.HasPrefix(m.Version, "memver_") || m.Store != s ||
			m.Path != "/prefs/format.md" || m.SHA256 != sum(text) || m.Size != int64(len(text)) ||
			m.CreatedAt.IsZero() || !m.UpdatedAt.Equal(m.CreatedAt) || !m.Raw.null("content") {
			t.Errorf("created %+v", m)
		}

		// What is asked for decides whether the contents come along.
		if got := must(w.client.Memory(ctx, s, m.ID, ""))(t); got.Content != text || !sameMemory(got, m) {
			t.Errorf("retrieved %+v", got)
		}
		if got := must(w.client.Memory(ctx, s, m.ID, "basic"))(t); !got.Raw.null("content") || !sameMemory(got, m) {
			t.Errorf("retrieved with view=basic %+v", got)
		}
		if got := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/empty"), Content: new(""), View: "full"}))(t); got.Content != "" ||
			got.Raw.null("content") || got.SHA256 != sum("") || got.Size != 0 {
			t.Errorf("an empty memory: %+v", got)
		}

		// Updates of the contents, of the path, and of both are one version each.
		edited := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Content: new("two"), View: "full"}))(t)
		if edited.ID != m.ID || edited.Path != m.Path || edited.Content != "two" || edited.SHA256 != sum("two") ||
			edited.Version == m.Version || !edited.CreatedAt.Equal(m.CreatedAt) || !edited.UpdatedAt.After(m.UpdatedAt) {
			t.Errorf("edited: %+v", edited)
		}
		moved := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Path: new("/style.md")}))(t)
		if moved.ID != m.ID || moved.Path != "/style.md" || moved.SHA256 != sum("two") || moved.Version == edited.Version {
			t.Errorf("moved: %+v", moved)
		}
		both := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Path: new("/both.md"), Content: new("three"), IfSHA256: moved.SHA256}))(t)
		if both.Path != "/both.md" || both.SHA256 != sum("three") || both.Version == moved.Version {
			t.Errorf("moved and edited: %+v", both)
		}
		if same := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{}))(t); !sameMemory(same, both) {
			t.Errorf("an empty update made %+v of %+v", same, both)
		}
		if same := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Content: new("three")}))(t); !sameMemory(same, both) {
			t.Errorf("an update that changes nothing made %+v of %+v", same, both)
		}
		if got := must(w.client.Versions(ctx, s, versionQuery{Memory: m.ID}))(t); len(got) != 4 {
			t.Errorf("%d versions, want 4: created, edited, moved, both", len(got))
		}

		gone := must(w.client.DeleteMemory(ctx, s, m.ID, ""))(t)
		if gone.ID != m.ID || gone.Type != "memory_deleted" {
			t.Errorf("deleted: %+v", gone)
		}
		_, err := w.client.Memory(ctx, s, m.ID, "")
		w.fails(t, err, 404, "not_found_error")
		_, err = w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Content: new("four")})
		w.fails(t, err, 404, "not_found_error")
		_, err = w.client.DeleteMemory(ctx, s, m.ID, "")
		w.fails(t, err, 404, "not_found_error")
		// The path is free again, for another memory.
		if next := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/both.md"), Content: new("x")}))(t); next.ID == m.ID {
			t.Error("a new memory has the ID of a deleted one")
		}
	})
}

func TestMemoryPathConflict(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		a := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a"), Content: new("a")}))(t)
		b := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/d/b"), Content: new("b")}))(t)
		for _, tt := range []struct {
			what, path, id, in string // the memory that is in the way
			call               func(path string) error
		}{
			{"created twice", "/a", a.ID, "/a", w.create(s)},
			{"created below a memory", "/a/x", a.ID, "/a", w.create(s)},
			{"renamed to a memory", "/a", a.ID, "/a", w.rename(s, b.ID)},
			{"renamed below a memory", "/a/x", a.ID, "/a", w.rename(s, b.ID)},
		} {
			f := w.fails(t, tt.call(tt.path), 409, "memory_path_conflict_error")
			if f.id != tt.id || f.path != tt.in {
				t.Errorf("%s: in the way is %q at %q, want %q at %q", tt.what, f.id, f.path, tt.id, tt.in)
			}
		}
		// A directory is in the way as well; which memory is named is open.
		w.fails(t, w.create(s)("/d"), 409, "memory_path_conflict_error")
		w.fails(t, w.rename(s, a.ID)("/d"), 409, "memory_path_conflict_error")
	})
}

func TestMemoryPreconditions(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		one := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a.md"), Content: new("one")}))(t)
		update := memoryParams{Content: new("two"), IfSHA256: one.SHA256}
		two := must(w.client.UpdateMemory(ctx, s, one.ID, update))(t)
		if two.SHA256 != sum("two") || two.Version == one.Version {
			t.Errorf("updated: %+v", two)
		}
		// Whoever repeats it, not having read the answer, is not refused.
		if again := must(w.client.UpdateMemory(ctx, s, one.ID, update))(t); !sameMemory(again, two) {
			t.Errorf("repeated: %+v, want %+v", again, two)
		}
		stale := func(p memoryParams) {
			t.Helper()
			p.IfSHA256 = one.SHA256
			_, err := w.client.UpdateMemory(ctx, s, one.ID, p)
			w.fails(t, err, 409, "memory_precondition_failed_error")
		}
		stale(memoryParams{Content: new("three")})
		stale(memoryParams{Path: new("/b.md")})
		stale(memoryParams{Content: new("two"), Path: new("/b.md")})
		other := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/b.md"), Content: new("b")}))(t)
		stale(memoryParams{Path: new(other.Path)}) // stale comes before occupied
		_, err := w.client.DeleteMemory(ctx, s, one.ID, one.SHA256)
		w.fails(t, err, 409, "memory_precondition_failed_error")
		if got := must(w.client.Memory(ctx, s, one.ID, ""))(t); !sameMemory(got, two) || got.Content != "two" {
			t.Errorf("refused changes left %+v, want %+v", got, two)
		}
		_, err = w.client.DeleteMemory(ctx, s, one.ID, "no hash")
		w.fails(t, err, 400, "invalid_request_error")
		_, err = w.client.UpdateMemory(ctx, s, one.ID, memoryParams{Content: new("x"), IfSHA256: "no hash"})
		w.fails(t, err, 400, "invalid_request_error")
		must(w.client.DeleteMemory(ctx, s, one.ID, two.SHA256))(t)
	})
}

func TestMemoriesAreListed(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		var paths []string
		for i := range 120 {
			paths = append(paths, fmt.Sprintf("/n/%d/note %03d.md", i%3, i))
		}
		paths = append(paths, "/a.md", "/n-backup/x", "/n.md", "/ä.md", "/~", "/N/x")
		for _, p := range paths {
			must(w.client.CreateMemory(ctx, s, memoryParams{Path: new(p), Content: new("in " + p)}))(t)
		}
		slices.Sort(paths) // byte by byte
		for _, tt := range []struct {
			query memoryQuery
			pages int
		}{
			{memoryQuery{}, 7},
			{memoryQuery{Limit: 100}, 2},
			{memoryQuery{Limit: 63}, 2},
			{memoryQuery{View: "full"}, 7},
			{memoryQuery{View: "full", Limit: 100}, 7}, // pages with contents are at most 20
			{memoryQuery{View: "full", Limit: 5}, 26},
			{memoryQuery{Depth: new(int64(0)), Limit: 100}, 2},
		} {
			var all []item
			pages := w.proxy.during(func() { all = must(w.client.Memories(ctx, s, tt.query))(t) })
			if got := itemPaths(all); !slices.Equal(got, paths) {
				t.Errorf("%+v lists %q, want %q", tt.query, got, paths)
			}
			if len(pages) != tt.pages {
				t.Errorf("%+v: %d pages, want %d", tt.query, len(pages), tt.pages)
			}
			for _, i := range all {
				full := tt.query.View == "full"
				if i.Variant != "Memory" || i.SHA256 != sum("in "+i.Path) || full && i.Content != "in "+i.Path || i.Raw.null("content") == full {
					t.Fatalf("%+v lists %+v", tt.query, i)
				}
			}
		}

		for _, tt := range []struct {
			prefix string
			depth  int64
			want   []string
		}{
			{"", 1, []string{"/N/", "/a.md", "/n-backup/", "/n.md", "/n/", "/~", "/ä.md"}},
			{"/", 1, []string{"/N/", "/a.md", "/n-backup/", "/n.md", "/n/", "/~", "/ä.md"}},
			{"/n/", 1, []string{"/n/0/", "/n/1/", "/n/2/"}},
			{"/n-backup/", 1, []string{"/n-backup/x"}},
			{"/n-backup/", 0, []string{"/n-backup/x"}},
			{"/none/", 0, nil},
		} {
			for _, limit := range []int64{0, 1, 2, 100} {
				all := must(w.client.Memories(ctx, s, memoryQuery{PathPrefix: tt.prefix, Depth: &tt.depth, Limit: limit}))(t)
				if got := itemPaths(all); !slices.Equal(got, tt.want) {
					t.Errorf("%q at depth %d, %d a page: %q, want %q", tt.prefix, tt.depth, limit, got, tt.want)
				}
				for _, i := range all {
					want, members := "Memory", len(i.Raw)
					if strings.HasSuffix(i.Path, "/") {
						want, members = "MemoryPrefix", 2
					}
					if i.Variant != want || len(i.Raw) != members {
						t.Errorf("%q is a %s with %d members, want a %s with %d", i.Path, i.Variant, len(i.Raw), want, members)
					}
				}
			}
		}
		if below := must(w.client.Memories(ctx, s, memoryQuery{PathPrefix: "/n/1/", Limit: 7}))(t); len(below) != 40 {
			t.Errorf("/n/1/ has %d memories, want 40", len(below))
		}
		for _, q := range []memoryQuery{{PathPrefix: "/n"}, {PathPrefix: "n/"}, {Depth: new(int64(2))}, {Limit: 101}, {View: "half"}} {
			_, err := w.client.Memories(ctx, s, q)
			w.fails(t, err, 400, "invalid_request_error")
		}
	})
}

// Whoever follows pages while others write sees each memory that was there all the
// time once, which the SDKs' session memory sync relies on.
func TestMemoriesAreListedDuringWrites(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		var stay []string
		for i := range 50 {
			path := fmt.Sprintf("/%02d", i*2)
			stay = append(stay, path)
			must(w.client.CreateMemory(ctx, s, memoryParams{Path: &path, Content: new("")}))(t)
		}
		writing, done := make(chan struct{}), make(chan error, 1)
		go func() {
			var err error
			for i := 0; err == nil; i++ {
				select {
				case <-writing:
					done <- nil
					return
				default:
				}
				var m memory
				path := fmt.Sprintf("/%02d", i*2%100+1)
				if m, err = w.client.CreateMemory(ctx, s, memoryParams{Path: &path, Content: new("")}); err == nil {
					_, err = w.client.DeleteMemory(ctx, s, m.ID, "")
				}
			}
			done <- err
		}()
		for range 5 {
			all := must(w.client.Memories(ctx, s, memoryQuery{Limit: 3}))(t)
			got := slices.DeleteFunc(itemPaths(all), func(p string) bool { return !slices.Contains(stay, p) })
			if !slices.Equal(got, stay) {
				t.Errorf("listed %q, want %q", got, stay)
			}
		}
		close(writing)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryRules(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		s := must(w.client.CreateStore(t.Context(), storeParams{Name: new("notes")}))(t).ID
		long := "/" + strings.Repeat("é", 511) // 1,023 bytes
		for _, path := range []string{"/…", "/a b", "/A", "/a", "/.hidden", long + "x", `/back\slash`, "/%2e%2e", "/memory_stores"} {
			if err := w.create(s)(path); err != nil {
				t.Errorf("%q: %v", path, err)
			}
		}
		for _, path := range []string{
			"", "/", "a.md", "//b", "/b/", "/b//c", "/./b", "/b/..", "/b\x00", "/b\nc", "/b\u200b", "/b\u2028",
			"/e\u0301", long + "xy",
		} {
			w.fails(t, w.create(s)(path), 400, "invalid_request_error")
		}
		largest := strings.Repeat("x", 102_400)
		must(w.client.CreateMemory(t.Context(), s, memoryParams{Path: new("/largest"), Content: &largest}))(t)
		_, err := w.client.CreateMemory(t.Context(), s, memoryParams{Path: new("/larger"), Content: new(largest + "x")})
		w.fails(t, err, 400, "invalid_request_error")
	})
}

// create and rename are calls that need only a path.
func (w *world) create(store string) func(string) error {
	return func(path string) error {
		_, err := w.client.CreateMemory(w.ctx, store, memoryParams{Path: &path, Content: new("x")})
		return err
	}
}

func (w *world) rename(store, id string) func(string) error {
	return func(path string) error {
		_, err := w.client.UpdateMemory(w.ctx, store, id, memoryParams{Path: &path})
		return err
	}
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// sameMemory compares all but the contents, which depend on the view.
func sameMemory(a, b memory) bool {
	return a.ID == b.ID && a.Store == b.Store && a.Version == b.Version && a.Path == b.Path && a.SHA256 == b.SHA256 &&
		a.Size == b.Size && a.CreatedAt.Equal(b.CreatedAt) && a.UpdatedAt.Equal(b.UpdatedAt)
}

func itemPaths(items []item) (paths []string) {
	for _, i := range items {
		paths = append(paths, i.Path)
	}
	return paths
}

// A detail is what the error object of an answer says beside its type.
type detail struct{ message, id, path string }

func (a answer) detail() (d detail, err error) {
	var e struct {
		Message string `json:"message"`
		ID      string `json:"conflicting_memory_id"`
		Path    string `json:"conflicting_path"`
	}
	err = json.Unmarshal(a["error"], &e)
	return detail{e.Message, e.ID, e.Path}, err
}
