package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Two workers keep the files of one store in step, each in a folder of its own, with
// the session memory sync of an SDK.
func TestSessionMemorySync(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		w.major.inTime(t, func(t *testing.T) {
			c := w.with(w.key)
			s := must(c.CreateStore(t.Context(), storeParams{Name: new("Team notes")}))(t).ID
			want := map[string]string{}
			put := func(path, text string) string {
				t.Helper()
				want[path] = text
				return must(c.CreateMemory(t.Context(), s, memoryParams{Path: &path, Content: &text}))(t).ID
			}
			for i := range 45 { // more than two pages with contents
				put(fmt.Sprintf("/d%d/note %02d.md", i%4, i), fmt.Sprint("note ", i))
			}
			for _, path := range []string{"/…", "/A", "/a", "/.git/config", "/-rf", "/%2e%2e/x", "/grüße/世界 😀", "/CON", "/empty"} {
				put(path, "")
			}
			shared := put("/shared.md", "one")

			a, b := newWorker(t, c, s, "read_write"), newWorker(t, c, s, "read_write")
			same := func(step string, workers ...*worker) {
				t.Helper()
				if got := remote(t, c, s); !maps.Equal(got, want) {
					t.Errorf("%s: the store has %s", step, difference(got, want))
				}
				for i, worker := range workers {
					if got := worker.files(t); !maps.Equal(got, want) {
						t.Errorf("%s: worker %d has %s", step, i, difference(got, want))
					}
				}
			}
			same("downloaded", a, b)
			passed := w.proxy.during(func() { a.sync(t) })
			if len(passed) != 1 { // a page
				t.Errorf("syncing without changes took %d requests, want 1", len(passed))
			}

			// What one worker creates and edits appears with the other.
			a.write(t, want, "/new/by a.md", "from a")
			a.write(t, want, "/shared.md", "two")
			b.write(t, want, "/new/by b.md", "from b")
			a.sync(t)
			b.sync(t)
			a.sync(t)
			same("created and edited", a, b)

			// Where both change the same, what is in the store stays.
			a.write(t, want, "/shared.md", "three, by a")
			b.write(t, nil, "/shared.md", "three, by b")
			a.sync(t)
			b.sync(t)
			same("both edited", a, b)

			// Deletions count once the file has been missing for half a minute.
			a.remove(t, "/d0/note 00.md")
			b.remove(t, "/d1/note 01.md")
			a.sync(t)
			b.sync(t)
			if got := remote(t, c, s); got["/d0/note 00.md"] == "" || got["/d1/note 01.md"] == "" {
				t.Error("a deletion counted at once")
			}
			a.wait(31 * time.Second)
			a.sync(t)
			b.wait(31 * time.Second)
			b.sync(t)
			a.sync(t)
			delete(want, "/d0/note 00.md")
			delete(want, "/d1/note 01.md")
			same("deleted", a, b)

			// Files are renamed by deleting one and creating another; memories keep their IDs.
			a.rename(t, want, "/d2/note 02.md", "/renamed/by a.md")
			a.sync(t)
			a.wait(31 * time.Second)
			a.sync(t)
			must(c.UpdateMemory(t.Context(), s, shared, memoryParams{Path: new("/renamed/shared.md")}))(t)
			want["/renamed/shared.md"] = want["/shared.md"]
			delete(want, "/shared.md")
			b.sync(t)
			a.sync(t)
			same("renamed", a, b)

			// A memory that was changed is not deleted by who has not seen it.
			a.remove(t, "/renamed/shared.md")
			a.sync(t)
			must(c.UpdateMemory(t.Context(), s, shared, memoryParams{Content: new("changed meanwhile")}))(t)
			want["/renamed/shared.md"] = "changed meanwhile"
			a.wait(31 * time.Second)
			a.sync(t)
			b.sync(t)
			same("changed and deleted", a, b)

			// Who edits what was deleted creates it again.
			must(c.DeleteMemory(t.Context(), s, shared, ""))(t)
			a.write(t, want, "/renamed/shared.md", "kept by a")
			a.sync(t)
			b.sync(t)
			same("deleted and edited", a, b)

			// An answer that is lost changes nothing of this.
			w.proxy.loseAnswer(http.MethodPost, "/memories")
			a.write(t, want, "/lost.md", "created")
			a.sync(t)
			a.sync(t)
			id := pathID(t, c, s, "/lost.md")
			w.proxy.loseAnswer(http.MethodPost, "/memories/"+id)
			a.write(t, want, "/lost.md", "edited")
			a.sync(t)
			a.sync(t)
			b.sync(t)
			same("answers lost", a, b)

			// At the end, deletions do not wait, and the folders go.
			a.remove(t, "/lost.md")
			a.write(t, want, "/last.md", "the last")
			delete(want, "/lost.md")
			a.syncs.Finish(t.Context())
			b.write(t, want, "/flushed.md", "flushed")
			b.syncs.FlushWrites(t.Context())
			same("expired or is revoked")
			for _, worker := range []*worker{a, b} {
				worker.syncs.Dispose()
				if _, err := os.Lstat(worker.root); err == nil {
					t.Error("the folder is left")
				}
			}
		})
	})
}

// A file that the server refuses is left alone until it changes, and holds up nothing.
func TestSessionMemorySyncRefusals(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		w.major.inTime(t, func(t *testing.T) {
			c := w.with(w.key)
			s := must(c.CreateStore(t.Context(), storeParams{Name: new("Team notes")}))(t).ID
			id := must(c.CreateMemory(t.Context(), s, memoryParams{Path: new("/old.md"), Content: new("old")}))(t).ID
			long := "/" + strings.Repeat("x", 300) // no file can have this name
			must(c.CreateMemory(t.Context(), s, memoryParams{Path: &long, Content: new("")}))(t)
			must(c.CreateMemory(t.Context(), s, memoryParams{Path: new("/.anthropic-memory-store"), Content: new("not the marker")}))(t)
			a := newWorker(t, c, s, "read_write")

			want := map[string]string{long: "", "/.anthropic-memory-store": "not the marker", "/old.md": "old"}
			large := strings.Repeat("x", 102_401)
			refused := []string{"/large.md", "/two\nlines", "/e\u0301", "/zero\u200bwidth"}
			a.write(t, nil, "/large.md", large)
			a.write(t, nil, "/old.md", large)
			for _, path := range refused[1:] {
				a.write(t, nil, path, "x")
			}
			a.write(t, want, "/good.md", "good")
			passed := w.proxy.during(func() { a.sync(t) })
			if got := statuses(passed, http.MethodPost); !maps.Equal(got, map[int]int{200: 1, 400: 5}) {
				t.Errorf("answered %v, want 200 once and 400 five times", got)
			}
			if got := remote(t, c, s); !maps.Equal(got, want) {
				t.Errorf("the store has %s", difference(got, want))
			}
			passed = w.proxy.during(func() { a.sync(t) })
			if got := statuses(passed, http.MethodPost); len(got) != 0 {
				t.Errorf("what was refused was tried again: %v", got)
			}
			a.write(t, want, "/large.md", "small")
			a.write(t, want, "/old.md", "small, too")
			a.sync(t)
			if got := remote(t, c, s); !maps.Equal(got, want) {
				t.Errorf("after the files were made small the store has %s", difference(got, want))
			}
			if now := pathID(t, c, s, "/old.md"); now != id {
				t.Errorf("the memory is another one: %s, was %s", now, id)
			}
			a.syncs.Dispose()
		})
	})
}

// Who may only read follows the store and changes nothing, by its own rule and,
// should it not keep that, by the server's.
func TestSessionMemorySyncReadOnly(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		readKey := w.newKey(t, "default", "read")
		w.major.inTime(t, func(t *testing.T) {
			c := w.with(w.key)
			s := must(c.CreateStore(t.Context(), storeParams{Name: new("Team notes")}))(t).ID
			id := must(c.CreateMemory(t.Context(), s, memoryParams{Path: new("/a.md"), Content: new("one")}))(t).ID
			want := map[string]string{"/a.md": "one"}
			reader := newWorker(t, w.with(readKey), s, "read_only")
			writer := newWorker(t, w.with(readKey), s, "read_write")
			for _, worker := range []*worker{reader, writer} {
				worker.write(t, nil, "/a.md", "changed")
				worker.write(t, nil, "/new.md", "new")
			}
			passed := w.proxy.during(func() { reader.sync(t) })
			if got := statuses(passed, http.MethodPost); len(got) != 0 {
				t.Errorf("a read-only store was written to: %v", got)
			}
			passed = w.proxy.during(func() { writer.sync(t) })
			if got := statuses(passed, http.MethodPost); !maps.Equal(got, map[int]int{403: 2}) {
				t.Errorf("writing with a key that may read was answered %v, want 403 twice", got)
			}
			if got := remote(t, c, s); !maps.Equal(got, want) {
				t.Errorf("the store has %s", difference(got, want))
			}
			must(c.UpdateMemory(t.Context(), s, id, memoryParams{Content: new("two")}))(t)
			reader.sync(t)
			if got := reader.files(t)["/a.md"]; got != "two" {
				t.Errorf("the file has %q, want what is in the store", got)
			}
			reader.syncs.Dispose()
			writer.syncs.Dispose()
		})
	})
}

// A worker has a store's memories as files.
type worker struct {
	syncs memorySync
	root  string
}

func newWorker(t *testing.T, c client, store, access string) *worker {
	t.Helper()
	dir := t.TempDir()
	syncs := must(c.Sync(dir, slog.New(slog.DiscardHandler)))(t)
	session, err := json.Marshal(map[string]any{
		"id": "sesn_01", "type": "session",
		"resources": []any{map[string]any{"type": "memory_store", "memory_store_id": store, "name": "notes", "access": access}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := syncs.Download(t.Context(), string(session)); err != nil {
		t.Fatal(err)
	}
	return &worker{syncs, filepath.Join(dir, "memory", "notes")}
}

func (w *worker) wait(d time.Duration) { w.syncs.Wait(d) }

// sync lets the shortest interval pass and syncs once.
func (w *worker) sync(t *testing.T) {
	w.wait(6 * time.Second)
	w.syncs.SyncIfDue(t.Context())
}

// write writes a file, and into want what the store is to have then.
func (w *worker) write(t *testing.T, want map[string]string, path, text string) {
	t.Helper()
	file := filepath.Join(w.root, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if want != nil {
		want[path] = text
	}
}

func (w *worker) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(w.root, path)); err != nil {
		t.Fatal(err)
	}
}

func (w *worker) rename(t *testing.T, want map[string]string, from, to string) {
	t.Helper()
	w.write(t, want, to, want[from])
	w.remove(t, from)
	delete(want, from)
}

// files returns the folder's files but the SDK's marker, as the paths of memories.
func (w *worker) files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	tree := os.DirFS(w.root)
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == ".anthropic-memory-store" {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		found["/"+path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// remote returns the memories of a store by path.
func remote(t *testing.T, c client, store string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, i := range must(c.Memories(context.Background(), store, memoryQuery{View: "full"}))(t) {
		found[i.Path] = i.Content
	}
	return found
}

func pathID(t *testing.T, c client, store, path string) string {
	t.Helper()
	for _, i := range must(c.Memories(context.Background(), store, memoryQuery{Limit: 100}))(t) {
		if i.Path == path {
			return i.ID
		}
	}
	t.Fatalf("there is no memory %s", path)
	return ""
}

// statuses counts the answers to requests with a method.
func statuses(passed []exchange, method string) map[int]int {
	counts := map[int]int{}
	for _, e := range passed {
		if e.method == method {
			counts[e.status]++
		}
	}
	return counts
}

// difference tells two sets of texts apart, by their paths.
func difference(got, want map[string]string) string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if text, ok := want[path]; !ok {
			parts = append(parts, fmt.Sprintf("%q, which should not be there", path))
		} else if text != got[path] {
			parts = append(parts, fmt.Sprintf("%.40q in %q instead of %.40q", got[path], path, text))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[path]; !ok {
			parts = append(parts, fmt.Sprintf("no %q", path))
		}
	}
	return strings.Join(parts, ", ")
}
