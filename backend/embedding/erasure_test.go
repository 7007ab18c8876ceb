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
	"memento/backend"
	"memento/backend/sqlitestore"
	"memento/test/embedservice"
	"memento/test/engines"
	"memento/test/memories"
	"memento/test/proctest"
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

// traces returns whether the vector of a text is in main memory, and kept by the backend.
func (w *erasing) traces(t *testing.T, text string) (inMemory, kept bool) {
	t.Helper()
	v, values := direction(embedservice.Vector(text)), packed(text)
	x := w.searcher.index(w.id)
	x.mu.RLock()
	for _, known := range x.vectors {
		inMemory = inMemory || cosine(known.vector, v) > 0.999
	}
	x.mu.RUnlock()
	keeper, ok := w.backend.(backend.VectorKeeper)
	if !ok {
		return inMemory, false
	}
	for m, err := range keeper.Vectors(t.Context(), w.id, w.searcher.opts.Embedder.Model(), nil) {
		if err != nil {
			if !errors.Is(err, memento.ErrNoStore) {
				t.Fatal(err)
			}
			break
		}
		kept = kept || bytes.Contains(backend.EncodeVectors(m.Vectors), values)
	}
	return inMemory, kept
}

// The vectors of a text go with it. The backend has none as soon as the change is made, even
// if nobody searches by meaning any more, and after what removes contents for good no byte of
// its file has any; main memory as soon as the change is noticed, even if the service is
// down. Those of other texts stay.
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
				file := filepath.Join(t.TempDir(), "m.db")
				b, err := sqlitestore.Open(t.Context(), file, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { b.Close() })
				w := newErasingOn(t, b)
				inFile := func(text string) (found bool) {
					for _, name := range []string{file, file + "-wal"} {
						content, err := os.ReadFile(name)
						if err != nil && !os.IsNotExist(err) {
							t.Fatal(err)
						}
						found = found || bytes.Contains(content, packed(text))
					}
					return found
				}
				memories.Put(t, w.store, "/a.md", text)
				memories.Put(t, w.store, "/b.md", other)
				w.catchUp(t)
				if inMemory, kept := w.traces(t, text); !inMemory || !kept || !inFile(text) {
					t.Fatalf("the vector is in memory: %t, kept: %t", inMemory, kept)
				}
				if offline {
					if err := w.searcher.Close(); err != nil {
						t.Fatal(err)
					}
				}
				erase(t, w)
				if _, kept := w.traces(t, text); kept {
					t.Error("the backend still keeps the vector")
				}
				if name != "deleted" && inFile(text) { // what is deleted stays in the history
					t.Error("the vector is still in the file")
				}
				if _, kept := w.traces(t, other); kept == (name == "store deleted") {
					t.Errorf("the vector of the other text is kept: %t", kept)
				}
				w.service.Fail(503)
				if offline {
					w.open(t)
				}
				// The service is down, and known to be: nothing is embedded meanwhile.
				w.searcher.index(w.id)
				w.searcher.failed(&RetryError{After: time.Hour, Err: errors.New("down")})
				if err := w.searcher.lookAt(t.Context(), w.id, true); err != nil {
					t.Fatal(err)
				}
				if inMemory, kept := w.traces(t, text); inMemory || kept {
					t.Errorf("the vector is still in memory: %t, kept: %t", inMemory, kept)
				}
			})
		}
	}
}

// On every engine, vectors follow what is written, redacted, deleted and pruned, by this
// process or while it did not run.
func TestFollowsOnEngines(t *testing.T) {
	for name, engine := range engines.AndEncrypted() {
		t.Run(name, func(t *testing.T) {
			w := newErasingOn(t, engine(t))
			_, keeps := w.backend.(backend.VectorKeeper)
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
					inMemory, kept := w.traces(t, text)
					if inMemory != want || kept != (want && keeps) {
						t.Errorf("%s, the vector of %s is in memory: %t, kept: %t", when, path, inMemory, kept)
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

// Of a store that nobody searches in this process nothing is embedded, whatever is written to
// it, and nothing is in main memory.
func TestNotSearched(t *testing.T) {
	w := newErasing(t)
	memories.Put(t, w.store, "/a.md", "The car of the surgeon begins to bill tomorrow.")
	w.catchUp(t)
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.service.Received()
	memories.Put(t, w.store, "/new.md", "The physician has a new invoice.")
	w.open(t)
	w.searcher.Changed(w.id)
	// The work in the background takes this up after what was said before.
	other := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "other"}, memories.Guarded())
	memories.Put(t, other, "/b.md", "Something different.")
	id, err := other.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.searcher.index(id)
	w.searcher.Changed(id)
	proctest.Until(t, "the other store is embedded", func() bool { return len(w.service.Received()) > 0 })
	w.searcher.mu.Lock()
	_, known := w.searcher.indexes.Peek(w.id)
	w.searcher.mu.Unlock()
	if known || len(w.service.Received()) > 0 {
		t.Errorf("nobody has searched, and the store is in main memory: %t", known)
	}
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
}

func newErasing(t *testing.T) *erasing {
	return newErasingOn(t, engines.SQLite(t))
}

func newErasingOn(t *testing.T, b memento.Backend) *erasing {
	w := &erasing{backend: b, service: embedservice.Start(t)}
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
	if w.searcher, err = New(w.backend, Options{Embedder: embedder}); err != nil {
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
