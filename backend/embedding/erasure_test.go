package embedding

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/backend/sqlitestore"
	"memento/test/embedservice"
	"memento/test/engines"
	"memento/test/memories"
	"memento/test/proctest"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// packed returns the vector of a text as it is in a file.
func packed(text string) []byte {
	_, values := direction(embedservice.Vector(text)).pack()
	b := make([]byte, len(values))
	for i, x := range values {
		b[i] = byte(x)
	}
	return b
}

// traces returns whether the vector of a text is in an index, and in a file.
func traces(t *testing.T, s *Searcher, store memento.StoreID, file, text string) (inMemory, inFile bool) {
	t.Helper()
	v, values := direction(embedservice.Vector(text)), packed(text)
	x := s.index(store)
	x.mu.RLock()
	for _, known := range x.vectors {
		inMemory = inMemory || cosine(known.vector, v) > 0.999
	}
	x.mu.RUnlock()
	for _, name := range []string{file, file + "-journal", file + "-wal"} {
		content, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		inFile = inFile || bytes.Contains(content, values)
	}
	return inMemory, inFile
}

// The vectors of a text go with it, from main memory and from every byte of the file, even
// if the service is down. Those of other texts stay.
func TestErased(t *testing.T) {
	const text, other = "The car of the surgeon begins to bill tomorrow.", "Something entirely different yesterday."
	overwrite := func(t *testing.T, w *erasing) {
		memories.Put(t, w.store, "/a.md", "Nothing.")
		v := w.versions(t, "/a.md")
		if _, err := w.backend.Redact(t.Context(), w.id, v[len(v)-1].ID, memento.Actor{}); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, w *erasing) {
		if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: "/a.md"}); err != nil {
			t.Fatal(err)
		}
	}
	prune := func(t *testing.T, w *erasing) {
		remove(t, w)
		if _, err := w.backend.Prune(t.Context(), w.id, memento.PruneOptions{Before: memento.EndOfTime}); err != nil {
			t.Fatal(err)
		}
	}
	for name, erase := range map[string]func(*testing.T, *erasing){
		"redacted": overwrite,
		"deleted":  remove,
		"pruned":   prune,
		"store deleted": func(t *testing.T, w *erasing) {
			if err := w.backend.DeleteStore(t.Context(), memento.DefaultWorkspace, w.id); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for when, offline := range map[string]bool{"while it runs": false, "while it does not run": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newErasing(t)
				memories.Put(t, w.store, "/a.md", text)
				memories.Put(t, w.store, "/b.md", other)
				w.catchUp(t)
				if inMemory, inFile := traces(t, w.searcher, w.id, w.file, text); !inMemory || !inFile {
					t.Fatalf("the vector is in memory: %t, in the file: %t", inMemory, inFile)
				}
				if offline {
					if err := w.searcher.Close(); err != nil {
						t.Fatal(err)
					}
				}
				erase(t, w)
				w.service.Fail(503)
				if offline {
					w.open(t)
				}
				// The service is down, and known to be: nothing is embedded meanwhile.
				w.searcher.failed(&RetryError{After: time.Hour, Err: errors.New("down")})
				if err := w.searcher.lookAt(t.Context(), w.id, true); err != nil {
					t.Fatal(err)
				}
				if inMemory, inFile := traces(t, w.searcher, w.id, w.file, text); inMemory || inFile {
					t.Errorf("the vector is still in memory: %t, in the file: %t", inMemory, inFile)
				}
				if _, inFile := traces(t, w.searcher, w.id, w.file, other); inFile == (name == "store deleted") {
					t.Errorf("the vector of the other text is in the file: %t", inFile)
				}
			})
		}
	}
}

// On every engine, vectors follow what is written, redacted, deleted and pruned, by this
// process or while it did not run; of encrypted data no file has any.
func TestFollowsOnEngines(t *testing.T) {
	for name, engine := range engines.AndEncrypted() {
		t.Run(name, func(t *testing.T) {
			file := ""
			if !strings.HasPrefix(name, "encrypted") {
				file = filepath.Join(t.TempDir(), "vectors.db")
			}
			w := newErasingOn(t, engine(t), file)
			texts := map[memento.Path]string{
				"/redacted.md": "The car of the surgeon.", "/deleted.md": "The automobile of yesterday.", "/pruned.md": "Another invoice tomorrow.",
				"/changed.md": "The physician begins.", "/stays.md": "Something entirely different.",
			}
			for path, text := range texts {
				memories.Put(t, w.store, path, text)
			}
			check := func(when string, gone ...memento.Path) {
				t.Helper()
				w.catchUp(t)
				for path, text := range texts {
					want := !slices.Contains(gone, path)
					inMemory, inFile := traces(t, w.searcher, w.id, w.file, text)
					if inMemory != want || inFile != (want && file != "") {
						t.Errorf("%s, the vector of %s is in memory: %t, in the file: %t", when, path, inMemory, inFile)
					}
				}
			}
			remove := func(path memento.Path) {
				if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: path}); err != nil {
					t.Fatal(err)
				}
			}
			check("at first")

			memories.Put(t, w.store, "/redacted.md", "Nothing.")
			v := w.versions(t, "/redacted.md")
			if _, err := w.backend.Redact(t.Context(), w.id, v[len(v)-1].ID, memento.Actor{}); err != nil {
				t.Fatal(err)
			}
			remove("/deleted.md")
			check("while it runs", "/redacted.md", "/deleted.md")

			if err := w.searcher.Close(); err != nil {
				t.Fatal(err)
			}
			remove("/pruned.md")
			if _, err := w.backend.Prune(t.Context(), w.id, memento.PruneOptions{Before: memento.EndOfTime}); err != nil {
				t.Fatal(err)
			}
			memories.Put(t, w.store, "/changed.md", "Nothing else.")
			texts["/new.md"] = "A vehicle that was written meanwhile."
			memories.Put(t, w.store, "/new.md", texts["/new.md"])
			w.open(t)
			check("after a stop", "/redacted.md", "/deleted.md", "/pruned.md", "/changed.md")

			if err := w.backend.DeleteStore(t.Context(), memento.DefaultWorkspace, w.id); err != nil {
				t.Fatal(err)
			}
			check("without the store", slices.Collect(maps.Keys(texts))...)
		})
	}
}

// What only the file has of a store goes, too, as soon as the store changes.
func TestErasedOnlyCached(t *testing.T) {
	w := newErasing(t)
	const text = "The car of the surgeon begins to bill tomorrow."
	memories.Put(t, w.store, "/a.md", text)
	w.maxBytes = 300 + 4*embedservice.Dimension + 160 // one store at a time
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(t)
	w.catchUp(t)
	other := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "other"}, memories.Guarded())
	memories.Put(t, other, "/b.md", "Something different.")
	id, err := other.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inMemory := func() bool {
		w.searcher.mu.Lock()
		defer w.searcher.mu.Unlock()
		_, known := w.searcher.indexes.Peek(w.id)
		return known
	}
	inFile := func() bool {
		content, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(content, packed(text))
	}
	if err := w.searcher.CatchUp(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	w.searcher.look(id, false)
	proctest.Until(t, "the first store leaves main memory", func() bool { return !inMemory() })
	if !inFile() {
		t.Fatal("the vector is not in the file")
	}
	if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: "/a.md"}); err != nil {
		t.Fatal(err)
	}
	w.searcher.Changed(w.id)
	proctest.Until(t, "the vector leaves the file", func() bool { return !inFile() })
}

// Of a store that nobody searches in this process, vectors go, also those that only the file
// has, but nothing is embedded.
func TestNotSearched(t *testing.T) {
	w := newErasing(t)
	texts := []string{"The car of the surgeon begins to bill tomorrow.", "An automobile without any number.", "Yesterday another invoice.", "Something entirely different yesterday."}
	for i, text := range texts {
		memories.Put(t, w.store, memento.Path("/"+string(rune('a'+i))+".md"), text)
	}
	w.catchUp(t)
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	inFile := func(text string) bool {
		content, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(content, packed(text))
	}
	remove := func(path memento.Path) {
		if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	w.service.Received()
	memories.Put(t, w.store, "/new.md", "The physician has a new invoice.")
	remove("/a.md")
	w.open(t)
	proctest.Until(t, "the vector leaves the file", func() bool { return !inFile(texts[0]) })
	// One look at the store can notice two changes. When a third has been noticed, everything
	// that was to be done after the first look has been.
	for i, path := range []memento.Path{"/b.md", "/c.md"} {
		remove(path)
		w.searcher.Changed(w.id)
		proctest.Until(t, "the next vector leaves the file", func() bool { return !inFile(texts[1+i]) })
	}
	if got := w.service.Received(); len(got) > 0 {
		t.Fatalf("nobody has searched, and %v was sent", got)
	}
	if !inFile(texts[3]) {
		t.Error("the vector of what is still there has left the file")
	}
	proctest.Until(t, "the store leaves main memory", func() bool {
		w.searcher.mu.Lock()
		defer w.searcher.mu.Unlock()
		return w.searcher.indexes.Len() == 0
	})
	if _, err := w.searcher.Search(t.Context(), w.id, memento.SearchOptions{Query: "doctor", Dir: memento.Root}); err != nil {
		t.Fatal(err)
	}
	// The query is sent as well if the vectors were loaded before the search asked for its own.
	proctest.Until(t, "what was written is sent after a search", func() bool {
		return slices.ContainsFunc(w.service.Received(), func(sent embedservice.Text) bool { return strings.Contains(sent.Text, "a new invoice") })
	})
}

type erasing struct {
	backend  memento.Backend
	store    *memento.Store
	id       memento.StoreID
	service  *embedservice.Service
	searcher *Searcher
	file     string
	maxBytes int64
}

func newErasing(t *testing.T) *erasing {
	return newErasingOn(t, memstore.New(nil), filepath.Join(t.TempDir(), "vectors.db"))
}

func newErasingOn(t *testing.T, b memento.Backend, file string) *erasing {
	w := &erasing{backend: b, service: embedservice.Start(t), file: file}
	w.store = memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, memories.Guarded())
	var err error
	if w.id, err = w.store.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.open(t)
	return w
}

func (w *erasing) open(t *testing.T) {
	t.Helper()
	embedder, err := NewHTTP(HTTPOptions{API: Ollama, URL: w.service.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if w.searcher, err = New(w.backend, Options{Embedder: embedder, CacheFile: w.file, MaxBytes: w.maxBytes}); err != nil {
		t.Fatal(err)
	}
	s := w.searcher
	t.Cleanup(func() { _ = s.Close() })
}

func (w *erasing) catchUp(t *testing.T) {
	t.Helper()
	if err := w.searcher.CatchUp(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
}

func (w *erasing) versions(t *testing.T, p memento.Path) (all []memento.Version) {
	t.Helper()
	for v, err := range w.backend.ListVersions(t.Context(), w.id, memento.VersionListOptions{Path: p}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// A file of vectors that is damaged, or of another version, is made again. It is for its
// owner only. Any other file stays as it is.
func TestCacheFile(t *testing.T) {
	w := newErasing(t)
	memories.Put(t, w.store, "/a.md", "The car.")
	for _, text := range []string{"", "damage"} {
		w.catchUp(t)
		if got := w.service.Received(); len(got) != 1 {
			t.Errorf("%d texts were embedded, instead of 1", len(got))
		}
		if err := w.searcher.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(w.file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the file is accessible to others: %v, %v", info.Mode(), err)
		}
		if text != "" {
			data, err := os.ReadFile(w.file)
			if err == nil {
				err = os.WriteFile(w.file, append(data[:100:100], bytes.Repeat([]byte(text), 5000)...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		} else {
			conn, err := sqlite.OpenConn(w.file, sqlite.OpenReadWrite)
			if err == nil {
				err = errors.Join(sqlitex.ExecuteTransient(conn, "PRAGMA user_version = 99", nil), conn.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w.open(t)
	}
	w.catchUp(t)
	notes := filepath.Join(t.TempDir(), "notes.db")
	b, err := sqlitestore.Open(t.Context(), notes, nil)
	if err != nil {
		t.Fatal(err)
	}
	memories.Put(t, memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, memories.Guarded()), "/a.md", "kept")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "note.md")
	if err := os.WriteFile(text, []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{notes, text} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openCache(file, "m"); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed: %v", filepath.Base(file), err)
		}
	}
}
