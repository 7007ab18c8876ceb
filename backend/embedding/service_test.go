package embedding_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/embedding"
	"memento/backend/memstore"
	"memento/backend/sqlitestore"
	"memento/sensitive"
	"memento/test/embedservice"
	"memento/test/engines"
	"memento/test/memories"
	"memento/test/proctest"
)

// textsOf returns how many texts a request has, and whether they are queries. The request can
// still be answered.
func textsOf(r *http.Request) (n int, query bool) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		Input     []string
		InputType string `json:"input_type"`
	}
	_ = json.Unmarshal(body, &request)
	return len(request.Input), request.InputType == "query"
}

// hang waits until the client has given up.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func (w *world) metric(name string) float64 {
	w.t.Helper()
	for _, m := range w.searcher.Metrics() {
		if m.Name == name {
			return m.Value
		}
	}
	w.t.Fatalf("no metric %s", name)
	return 0
}

// A service that takes longer than the time limit for many texts is asked for fewer, so that
// all are embedded at last.
func TestSlowService(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{})
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.Embedder = client(t, w.service.URL, embedding.HTTPOptions{Timeout: 300 * time.Millisecond})
	w.start()
	w.service.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		n, _ := textsOf(r)
		if n > 1 {
			hang(r)
		}
		return n > 1
	})
	for i := range 6 {
		w.put(memento.Path(fmt.Sprintf("/%d.md", i)), fmt.Sprintf("The car of number%d.", i))
	}
	proctest.Until(t, "all vectors", func() bool { return w.searcher.CatchUp(t.Context(), w.id) == nil })
	if got := w.metric("vectors"); got != 6 {
		t.Errorf("%v vectors", got)
	}
}

// Queries that take too long are no failure of the service, so what was written is embedded
// nevertheless, and only some searches wait.
func TestSlowQueries(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{QueryTimeout: 20 * time.Millisecond})
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.Embedder = client(t, w.service.URL, embedding.HTTPOptions{API: embedding.Voyage})
	w.start()
	var queries atomic.Int32
	w.service.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		_, query := textsOf(r)
		if query {
			queries.Add(1)
			hang(r)
		}
		return query
	})
	w.put("/a.md", "The car.")
	w.catchUp()
	for i := range 9 {
		w.search(fmt.Sprintf("automobile %d", i))
	}
	if n := queries.Load(); n == 9 {
		t.Error("each search waited")
	}
	if n := w.metric("word_searches_total"); n != 9 {
		t.Errorf("words alone have answered %v of 9 searches", n)
	}
	if n := w.metric("failures_total"); n > 0 {
		t.Errorf("%v failures", n)
	}
}

// A service that refuses everything is not asked text by text, which would look as if the
// texts were at fault: it is a failure, and nothing is lost when it works.
func TestRefusesEverything(t *testing.T) {
	var log proctest.Buffer
	w := newWorld(t, memstore.New(nil), embedding.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var requests atomic.Int32
	w.service.Intercept(func(rw http.ResponseWriter, _ *http.Request) bool {
		requests.Add(1)
		rw.WriteHeader(400)
		return true
	})
	for i := range 20 {
		w.put(memento.Path(fmt.Sprintf("/%d.md", i)), fmt.Sprintf("The car of number%d.", i))
	}
	if err := w.searcher.CatchUp(t.Context(), w.id); err == nil || !strings.Contains(err.Error(), "dimensions") {
		t.Errorf("caught up: %v", err)
	}
	if n := requests.Load(); n > 4 { // the background may have begun, too
		t.Errorf("%d requests", n)
	}
	if w.metric("failures_total") == 0 || w.metric("refused_texts_total") > 0 || !strings.Contains(log.String(), "embeddings failed") {
		t.Errorf("%v failures, %v texts refused, log: %s", w.metric("failures_total"), w.metric("refused_texts_total"), log.String())
	}
	w.service.Intercept(nil)
	w.catchUp()
	if got := w.metric("vectors"); got != 20 {
		t.Errorf("%v vectors", got)
	}
}

// A secret that is longer than a section is masked in all of them, and so is one in a heading
// that stands above several.
func TestLongSecret(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{Detector: sensitive.Default()})
	var key [2400]byte
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(key[:])
	block := base64.StdEncoding.EncodeToString(key[:])
	var text strings.Builder
	text.WriteString("# The car of " + "ghp_" + strings.Repeat("a1B2c3D4e5", 3) + "f6G7h8\n\n")
	text.WriteString(strings.Repeat("The car is blue. ", 40) + "\n-----BEGIN RSA PRIVATE KEY-----\n")
	var lines []string
	for line := range slices.Chunk([]byte(block), 64) {
		lines = append(lines, string(line))
		text.WriteString(string(line) + "\n")
	}
	text.WriteString("-----END RSA PRIVATE KEY-----\n" + strings.Repeat("The car is red. ", 40))
	if _, err := w.backend.Apply(t.Context(), w.id, memento.Actor{}, []memento.Change{memento.Put{Path: "/a.md", Content: text.String()}}); err != nil {
		t.Fatal(err)
	}
	w.catchUp()
	got := w.service.Received()
	if len(got) < 2 {
		t.Fatalf("only %d texts were sent", len(got))
	}
	all := ""
	for _, sent := range got {
		all += sent.Text + "\n"
	}
	for _, line := range append(lines, "ghp_") {
		if strings.Contains(all, line) {
			t.Fatalf("%q was sent", line)
		}
	}
	if !strings.Contains(all, "is blue") || !strings.Contains(all, "is red") {
		t.Error("what is not secret was not sent")
	}
	if found := w.search("automobile"); len(found) != 1 {
		t.Errorf("found %v", paths(found))
	}
}

// A store with more vectors than fit is embedded once, and not again after a restart; again
// when it has become smaller.
func TestTooLargeOnce(t *testing.T) {
	w := newWorld(t, engines.SQLite(t), embedding.Options{MaxBytes: 30_000})
	path := func(i int) memento.Path { return memento.Path(fmt.Sprintf("/%d.md", i)) }
	for i := range 100 {
		w.put(path(i), fmt.Sprintf("The car of number%d.", i))
	}
	w.catchUp()
	if len(w.service.Received()) == 0 {
		t.Fatal("nothing was embedded, so this tests nothing")
	}
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.put("/new.md", "Another car.")
	w.catchUp()
	if got := w.service.Received(); len(got) > 0 {
		t.Errorf("%d texts were embedded again", len(got))
	}
	for i := range 70 {
		if _, err := w.store.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: path(i)}); err != nil {
			t.Fatal(err)
		}
	}
	w.catchUp()
	if got := w.metric("vectors"); got != 31 {
		t.Errorf("%v vectors of the smaller store", got)
	}
}

// Vectors that were made with a larger bound are not kept in main memory.
func TestSmallerBound(t *testing.T) {
	w := newWorld(t, engines.SQLite(t), embedding.Options{})
	for i := range 100 {
		w.put(memento.Path(fmt.Sprintf("/%d.md", i)), fmt.Sprintf("The car of number%d.", i))
	}
	w.catchUp()
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.service.Received()
	w.opts.MaxBytes = 40_000
	w.start()
	w.catchUp()
	if got := w.metric("vector_bytes"); got > 40_000 {
		t.Errorf("%v bytes of vectors in main memory", got)
	}
	if got := w.service.Received(); len(got) > 0 {
		t.Errorf("%d texts were embedded again", len(got))
	}
	if got := len(w.search("car")); got != 20 {
		t.Errorf("%d found by words", got)
	}
}

// While vectors are made, those in main memory exceed the bound by those of one look at a
// store at most: of a store that does not fit, and of several that fit one at a time.
func TestPeak(t *testing.T) {
	const (
		bound  = 60_000
		vector = 4*embedservice.Dimension + 160
		look   = 64 * vector
	)
	w := newWorld(t, engines.SQLite(t), embedding.Options{MaxBytes: bound})
	var peak atomic.Int64
	measure := func() { peak.Store(max(peak.Load(), int64(w.metric("vector_bytes")))) }
	w.service.Intercept(func(http.ResponseWriter, *http.Request) bool {
		measure()
		return false
	})
	for n, memoriesOf := range []int{60, 10, 10, 10} { // of 13 vectors each
		s := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: fmt.Sprintf("store-%d", n)}, memories.Guarded())
		for i := range memoriesOf {
			var text strings.Builder
			for part := range 13 {
				fmt.Fprintf(&text, "# Part %d of number%d\n\n%s\n\n", part, i, strings.Repeat(fmt.Sprintf("store%d ", n), 100))
			}
			memories.Put(t, s, memento.Path(fmt.Sprintf("/%d.md", i)), text.String())
		}
		id, err := s.ID(t.Context())
		if err == nil {
			err = w.searcher.CatchUp(t.Context(), id)
		}
		if err != nil {
			t.Fatal(err)
		}
		measure()
		sent, want := len(w.service.Received()), 13*memoriesOf
		if fits := want*vector < bound; fits && sent != want || !fits && (sent == 0 || sent*vector > bound+look) {
			t.Errorf("store %d: %d texts of %d were embedded", n, sent, want)
		}
	}
	if got := peak.Load(); got < bound/2 || got > bound+look {
		t.Errorf("up to %d bytes of vectors, with a bound of %d and %d for one look", got, bound, look)
	}
}

// Stores that do not fit into main memory together do not take turns in being embedded if
// the backend keeps none.
func TestNoTurns(t *testing.T) {
	w := newWorld(t, memstore.New(nil), embedding.Options{MaxBytes: 30_000})
	other := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "other"}, memories.Guarded())
	for i := range 30 {
		path := memento.Path(fmt.Sprintf("/%d.md", i))
		w.put(path, fmt.Sprintf("The car of number%d.", i))
		memories.Put(t, other, path, fmt.Sprintf("The physician of number%d.", i))
	}
	id, err := other.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn := func() int {
		for _, store := range []memento.StoreID{w.id, id} {
			if err := w.searcher.CatchUp(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			w.searcher.Changed(store)
		}
		return len(w.service.Received())
	}
	if n := turn(); n <= 30 {
		t.Fatalf("%d texts were embedded at first", n)
	}
	for range 3 {
		if n := turn(); n > 0 {
			t.Errorf("%d texts were embedded again", n)
		}
	}
	if got := w.search("automobile"); len(got) == 0 {
		t.Error("the first store is not searched by meaning any more")
	}
}

// damaged is a backend whose memories cannot be read at times.
type damaged struct {
	*sqlitestore.Backend
	now atomic.Bool
}

func (d *damaged) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	if d.now.Load() {
		return memento.Memory{}, &memento.Error{Op: "get", Err: memento.ErrDamaged}
	}
	return d.Backend.Get(ctx, store, ref)
}

// A memory that was damaged when it was to be embedded is embedded when it is repaired,
// whether or not the process was started again.
func TestRepaired(t *testing.T) {
	b := &damaged{Backend: engines.SQLite(t).(*sqlitestore.Backend)}
	w := newWorld(t, b, embedding.Options{})
	w.put("/a.md", "The car.")
	b.now.Store(true)
	w.catchUp()
	if err := w.searcher.Close(); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.catchUp()
	if got := w.service.Received(); len(got) > 0 {
		t.Fatalf("%v was embedded", got)
	}
	b.now.Store(false)
	w.catchUp()
	if got := paths(w.search("automobile")); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}
