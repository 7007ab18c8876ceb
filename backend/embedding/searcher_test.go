package embedding_test

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/embedding"
	"memento/backend/memstore"
	"memento/backend/pgstore"
	"memento/test/embedservice"
	"memento/test/engines"
	"memento/test/leaks"
	"memento/test/memories"
	"memento/test/needs"
	"memento/test/proctest"
	"memento/test/services"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	leaks.Main(m, nil,
		// Connections that clients keep open.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// A world is a backend with a store, a service, and a Searcher.
type world struct {
	t        *testing.T
	backend  memento.Backend
	store    *memento.Store
	id       memento.StoreID
	service  *embedservice.Service
	searcher *embedding.Searcher
	opts     embedding.Options
}

func newWorld(t *testing.T, b memento.Backend, o embedding.Options) *world {
	w := &world{t: t, backend: b, service: embedservice.Start(t), opts: o}
	if w.opts.Embedder == nil {
		w.opts.Embedder = client(t, w.service.URL, embedding.HTTPOptions{})
	}
	if w.opts.QueryTimeout == 0 {
		w.opts.QueryTimeout = time.Minute // a loaded machine is no failure
	}
	w.start()
	w.store = memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: memories.Planted{}})
	var err error
	if w.id, err = w.store.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) start() {
	w.t.Helper()
	var err error
	if w.searcher, err = embedding.New(w.backend, w.opts); err != nil {
		w.t.Fatal(err)
	}
	s := w.searcher
	w.t.Cleanup(func() { _ = s.Close() })
}

func (w *world) put(path memento.Path, text string) {
	w.t.Helper()
	memories.Put(w.t, w.store, path, text)
}

func (w *world) catchUp() {
	w.t.Helper()
	if err := w.searcher.CatchUp(w.t.Context(), w.id); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) search(query string) []memento.Match {
	w.t.Helper()
	found, err := w.searcher.Search(w.t.Context(), w.id, memento.SearchOptions{Query: query, Dir: memento.Root})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func paths(found []memento.Match) (all []string) {
	for _, m := range found {
		all = append(all, string(m.Memory.Path))
	}
	return all
}

// On every engine a memory is found by a word that means the same, with its passage, and
// only with embeddings.
func TestEngines(t *testing.T) {
	for name, engine := range engines.AndEncrypted() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t), embedding.Options{})
			w.put("/notes/garage.md", "# Garage\n\nThe car needs new tyres.\n")
			w.put("/notes/health.md", "The surgeon called about Monday.\n")
			plain, err := w.backend.(memento.Searcher).Search(t.Context(), w.id, memento.SearchOptions{Query: "automobile"})
			if err != nil || len(plain) > 0 {
				t.Fatalf("by words: %v, %v", paths(plain), err)
			}
			w.catchUp()
			found := w.search("automobile")
			if len(found) == 0 || found[0].Memory.Path != "/notes/garage.md" {
				t.Fatalf("by meaning: %v", paths(found))
			}
			store := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Searcher: w.searcher})
			if same, err := store.Search(t.Context(), memento.SearchOptions{Query: "automobile"}); err != nil || !slices.Equal(paths(same), paths(found)) {
				t.Errorf("through a Store: %v, %v", paths(same), err)
			}
			m := found[0]
			if m.Passage.First != 1 || m.Passage.Last != 3 || !strings.Contains(m.Passage.Text, "The car needs") || m.Line != 1 || m.Snippet != "# Garage" {
				t.Errorf("the passage is %+v, line %d %q", m.Passage, m.Line, m.Snippet)
			}
			if m.Memory.Version == "" || m.Memory.Size == 0 || m.Memory.Content != "" || m.Score <= 0 {
				t.Errorf("the memory is %+v, its score %v", m.Memory, m.Score)
			}
			if got := paths(w.search("automobile dir:/other")); len(got) > 0 {
				t.Errorf("elsewhere: %v", got)
			}
			for _, restricted := range []string{"+automobile", "automobile match:all", `"automobile"`, "automobile since:7d"} {
				if got := paths(w.search(restricted)); len(got) > 0 {
					t.Errorf("%s: %v", restricted, got)
				}
			}
		})
	}
}

// In the background vectors follow what is written, changed and deleted, without anybody
// waiting for it.
func TestBackground(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{Interval: 10 * time.Millisecond})
	w.put("/a.md", "My automobile is blue.")
	found := func(path string) bool { return slices.Contains(paths(w.search("car")), path) }
	proctest.Until(t, "the first vectors", func() bool { return found("/a.md") })
	w.put("/b.md", "A vehicle of the company.")
	proctest.Until(t, "a new memory", func() bool { return found("/b.md") })
	w.put("/a.md", "The physician.")
	proctest.Until(t, "a change", func() bool { return !found("/a.md") && slices.Contains(paths(w.search("doctor")), "/a.md") })
}

// Whatever happens to the service, words find what they find without it, in their order.
func TestWordsAlone(t *testing.T) {
	constant := func(vector string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":`+vector+`}]}`)
			return true
		}
	}
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"down": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true },
		"limited": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
			return true
		},
		"wrong key":        func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(401); return true },
		"refuses":          func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(400); return true },
		"other dimensions": constant("[1,2,3]"),
		"not a number":     constant("[NaN]"),
		"silent": func(_ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.New(nil), embedding.Options{QueryTimeout: 50 * time.Millisecond})
			for i := range 30 {
				w.put(memento.Path(fmt.Sprintf("/%d.md", i)), strings.Repeat("The invoice is here. ", i+1)+"Something else.")
			}
			w.put("/bill.md", "A bill.")
			w.catchUp()
			w.service.Intercept(fault)
			w.put("/new.md", "Another invoice, which has no vector.")
			opts := memento.SearchOptions{Query: "invoice else", Dir: memento.Root, Limit: 100}
			want, err := w.backend.(memento.Searcher).Search(t.Context(), w.id, opts)
			if err != nil || len(want) != 31 {
				t.Fatal(len(want), err)
			}
			for range 3 {
				got, err := w.searcher.Search(t.Context(), w.id, opts)
				if err != nil || !slices.Equal(paths(got), paths(want)) {
					t.Fatalf("%v, %v instead of %v", paths(got), err, paths(want))
				}
			}
		})
	}
}

// A service that works again is used again.
func TestRecovery(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{})
	w.service.Fail(503)
	w.put("/a.md", "My automobile is blue.")
	if err := w.searcher.CatchUp(t.Context(), w.id); err == nil {
		t.Error("caught up without a service")
	}
	failures := func() (n float64) {
		for _, m := range w.searcher.Metrics() {
			if m.Name == "failures_total" {
				n = m.Value
			}
		}
		return n
	}
	if failures() == 0 {
		t.Error("no failure was counted")
	}
	w.service.Intercept(nil)
	proctest.Until(t, "the recovery", func() bool { return len(w.search("vehicle")) == 1 })
}

// A text that the service does not accept is left out; others are not.
func TestRefusedText(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{})
	w.service.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), "unspeakable") {
			rw.WriteHeader(400)
			return true
		}
		return false
	})
	w.put("/a.md", "The car.")
	w.put("/b.md", "An unspeakable car.")
	w.put("/c.md", "Another car of theirs.")
	w.catchUp()
	w.service.Received()
	if got := paths(w.search("vehicle")); !slices.Equal(got, []string{"/a.md", "/c.md"}) {
		t.Errorf("found %v", got)
	}
	w.catchUp()
	if got := w.service.Received(); len(got) > 1 { // the query
		t.Errorf("asked again for %v", got)
	}
}

// keepers are the engines that keep vectors.
func keepers() map[string]engines.Engine {
	return map[string]engines.Engine{"sqlite": engines.SQLite, "dir": engines.Folder, "postgres": engines.Postgres}
}

// On every engine that keeps vectors they outlive the process, equal texts are embedded once,
// and an edit costs only the sections that it changes. Encrypted, it keeps none.
func TestKept(t *testing.T) {
	for name, engine := range keepers() {
		t.Run(name, func(t *testing.T) { kept(t, newWorld(t, engine(t), embedding.Options{})) })
	}
	for name, engine := range engines.AndEncrypted() {
		t.Run("whether by "+name, func(t *testing.T) {
			_, want := keepers()[name]
			if _, is := engine(t).(backend.VectorKeeper); is != want {
				t.Errorf("it keeps vectors: %t", is)
			}
		})
	}
}

func kept(t *testing.T, w *world) {
	long := func(first string) string {
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, "# Part %d %s\n\n%s\n\n", i, first, strings.Repeat(fmt.Sprintf("word%d ", i), 100))
			first = ""
		}
		return b.String()
	}
	w.put("/a.md", "The car.")
	w.put("/copy.md", "The car.")
	w.put("/long.md", long("car"))
	w.catchUp()
	if got := w.service.Received(); len(got) != 9 {
		t.Errorf("%d texts were embedded, instead of 9", len(got))
	}
	w.put("/long.md", long("physician"))
	w.catchUp()
	if got := w.service.Received(); len(got) != 1 || !strings.Contains(got[0].Text, "physician") {
		t.Errorf("an edit of one section embeds %d texts", len(got))
	}
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.searcher.CatchUp(t.Context(), w.id); !errors.Is(err, memento.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if got := paths(w.search("car")); len(got) != 2 {
		t.Errorf("words after Close: %v", got)
	}

	w.put("/late.md", "The vehicle of the neighbour.")
	if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Move{From: "/a.md", To: "/moved.md"}); err != nil {
		t.Fatal(err)
	}
	w.service.Received()
	w.start()
	w.catchUp()
	if got := w.service.Received(); len(got) != 1 {
		t.Errorf("after the restart %d texts were embedded, instead of 1", len(got))
	}
	if got := paths(w.search("automobile")); len(got) != 3 || !slices.Contains(got, "/moved.md") {
		t.Errorf("after the restart: %v", got)
	}

	// A second process has what the first one has made, and what one of them makes later.
	w.service.Received()
	first := w.searcher
	w.start()
	w.catchUp()
	if got := w.service.Received(); len(got) > 0 {
		t.Errorf("a second process embeds %d texts", len(got))
	}
	w.put("/shared.md", "A bicycle for two.")
	w.catchUp()
	if err := first.CatchUp(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	if got := w.service.Received(); len(got) != 1 {
		t.Errorf("two processes embed %d texts, instead of 1", len(got))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	// Another model has other vectors.
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.Embedder = client(t, w.service.URL, embedding.HTTPOptions{Model: "another"})
	w.start()
	w.catchUp()
	if got := w.service.Received(); len(got) != 11 || got[0].Model != "another" {
		t.Errorf("another model embeds %d texts, instead of 11", len(got))
	}
}

// Two servers on one database embed each text once, whichever of them it was written to, and
// each finds it by meaning.
func TestTwoServers(t *testing.T) {
	url, err := services.Postgres(t.Context())
	needs.Check(t, err)
	schema := "test_" + strings.ToLower(cryptorand.Text())
	var servers [2]*world
	service := embedservice.Start(t)
	for i := range servers {
		b, err := pgstore.Open(t.Context(), url, &pgstore.Options{Schema: schema, MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		servers[i] = newWorld(t, b, embedding.Options{Embedder: client(t, service.URL, embedding.HTTPOptions{}), Interval: 50 * time.Millisecond})
		servers[i].search("anything")
	}
	if servers[0].id != servers[1].id {
		t.Fatal("the servers have other stores")
	}
	const n = 60
	var all sync.WaitGroup
	for i, w := range servers {
		all.Go(func() {
			for k := range n {
				path := memento.Path(fmt.Sprintf("/%d/%d.md", i, k))
				if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Put{Path: path, Content: fmt.Sprintf("The car of number%d at place%d.", k, i)}); err != nil {
					t.Error(err)
				}
				w.searcher.Changed(w.id)
			}
		})
	}
	all.Wait()
	for i, w := range servers {
		proctest.Until(t, fmt.Sprintf("server %d has all vectors", i), func() bool {
			return w.metric("vectors") == 2*n && w.metric("waiting_memories") == 0
		})
	}
	sent := map[string]int{}
	for _, text := range service.Received() {
		sent[text.Text]++
	}
	again := 0
	for text, times := range sent {
		if strings.HasPrefix(text, "The car") && times > 1 {
			again++
		}
	}
	if len(sent) < 2*n || again > 0 {
		t.Errorf("of %d texts %d were embedded again", len(sent), again)
	}
	if found := servers[1].search("automobile dir:/0"); len(found) == 0 {
		t.Error("what was written to one server is not found by meaning on the other")
	}
}

// unkept is a backend that keeps no vectors.
type unkept struct {
	memento.Backend
	memento.Searcher
}

// A larger limit only appends matches, so that pages do not repeat or miss any.
func TestPages(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{})
	for i := range 200 {
		text := "The car of number."
		if i%3 == 0 {
			text = strings.Repeat("The automobile. ", 1+i%7)
		}
		w.put(memento.Path(fmt.Sprintf("/%03d.md", i)), text)
	}
	w.catchUp()
	var longest []string
	for _, limit := range []int{1000, 150, 120, 60, 50, 20, 7, 1} {
		found, err := w.searcher.Search(t.Context(), w.id, memento.SearchOptions{Query: "automobile", Dir: memento.Root, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		got := paths(found)
		if longest == nil {
			longest = got
			if len(got) < 67 {
				t.Fatalf("found %d", len(got))
			}
		}
		if want := longest[:min(limit, len(longest))]; !slices.Equal(got, want) {
			t.Errorf("limit %d: %v instead of %v", limit, got, want)
		}
		for i := range found[1:] {
			if found[i].Score < found[i+1].Score {
				t.Errorf("limit %d: score %v before %v", limit, found[i].Score, found[i+1].Score)
			}
		}
	}
}

// Secrets do not reach the service, neither those of a store that accepts them, nor those in
// a query.
func TestSecrets(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{Detector: memories.Planted{}})
	const secret = "sk-test-12345678"
	apply := func(path memento.Path) {
		if _, err := w.backend.Apply(t.Context(), w.id, memento.Actor{}, []memento.Change{memento.Put{Path: path, Content: "The car has " + secret}}); err != nil {
			t.Fatal(err)
		}
	}
	apply("/a.md")
	w.catchUp()
	w.search("automobile " + secret)
	got := w.service.Received()
	if len(got) != 2 {
		t.Fatalf("%d texts were sent", len(got))
	}
	for _, text := range got {
		if strings.Contains(text.Text, secret) || !strings.Contains(text.Text, "REDACTED") {
			t.Errorf("sent %q", text.Text)
		}
	}
}

// A store with more vectors than fit is searched by words.
func TestTooLarge(t *testing.T) {
	w := newWorld(t, engines.SQLite(t), embedding.Options{MaxBytes: 20_000})
	for i := range 100 {
		w.put(memento.Path(fmt.Sprintf("/%d.md", i)), fmt.Sprintf("The car of number%d.", i))
	}
	w.catchUp()
	if got := len(w.search("automobile")); got > 0 {
		t.Errorf("%d found by meaning", got)
	}
	if got := len(w.search("car")); got != 20 {
		t.Errorf("%d found by words", got)
	}
}

// Writers, searches and the work in the background get along, and at the end the vectors are
// those of what there is.
func TestConcurrency(t *testing.T) {
	w := newWorld(t, engines.SQLite(t), embedding.Options{Interval: time.Millisecond})
	texts := []string{"The car.", "The physician.", "An invoice.", "It begins.", "Nothing."}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for range 60 {
				path := memento.Path(fmt.Sprintf("/%d.md", r.IntN(12)))
				var c memento.Change = memento.Put{Path: path, Content: texts[r.IntN(len(texts))]}
				if r.IntN(4) == 0 {
					c = memento.Remove{Path: path}
				}
				if _, err := w.store.Apply(t.Context(), memento.Actor{}, c); err != nil && !errors.Is(err, memento.ErrNotExist) {
					t.Error(err)
				}
				if r.IntN(3) == 0 {
					w.searcher.Changed(w.id)
				}
				if _, err := w.searcher.Search(t.Context(), w.id, memento.SearchOptions{Query: "automobile doctor"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	w.catchUp()
	fresh, err := embedding.New(unkept{w.backend, w.backend.(memento.Searcher)}, embedding.Options{Embedder: w.opts.Embedder, QueryTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := fresh.CatchUp(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"automobile", "doctor", "bill", "commence"} {
		want, err := fresh.Search(t.Context(), w.id, memento.SearchOptions{Query: query, Dir: memento.Root})
		if got := paths(w.search(query)); err != nil || !slices.Equal(got, paths(want)) {
			t.Errorf("%s: %v instead of %v, %v", query, got, paths(want), err)
		}
	}
}

// What was embedded before the caller's time ended is kept, so that it is not paid for again.
func TestKeptWithoutTime(t *testing.T) {
	w := newWorld(t, engines.SQLite(t), embedding.Options{})
	for i := range 6 {
		w.put(memento.Path(fmt.Sprintf("/%d.md", i)), fmt.Sprintf("The car of number%d.", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var requests atomic.Int32
	w.service.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if requests.Add(1) == 1 {
			return false
		}
		cancel()
		hang(r)
		return true
	})
	if err := w.searcher.CatchUp(ctx, w.id); err == nil {
		t.Fatal("nothing ended")
	}
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	first := len(w.service.Received())
	w.service.Intercept(nil)
	w.start()
	w.catchUp()
	if got := len(w.service.Received()); first == 0 || first+got != 6 {
		t.Errorf("%d of 6 texts were embedded first, and then %d", first, got)
	}
}
