package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/textindex"
)

// counted passes requests on, and counts the answers to those whose key has a part, and how many
// there were at once.
type counted struct {
	base        http.RoundTripper
	part        string
	n, now, max atomic.Int64
	slow        time.Duration
}

func (c *counted) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.Contains(req.URL.Path, c.part) {
		c.n.Add(1)
		now := c.now.Add(1)
		defer c.now.Add(-1)
		for most := c.max.Load(); now > most && !c.max.CompareAndSwap(most, now); most = c.max.Load() {
		}
		time.Sleep(c.slow)
	}
	return c.base.RoundTrip(req)
}

func counting(t *testing.T, part string) *counted {
	transport := Transport(t)
	return &counted{base: transport, part: part}
}

// scansRight fails unless searches find what reading all contents finds, without an index.
func scansRight(t *testing.T, b *Backend, id memento.StoreID) {
	t.Helper()
	for _, query := range []string{"budget 3", "harmless"} {
		opts := memento.SearchOptions{Query: query, Limit: 100}
		var want []memento.Match
		err := b.indexes.view(t.Context(), id, b.indexes.unindexed, func(ctx context.Context, now *searchSnapshot) (err error) {
			want, err = scan(ctx, now, opts)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Search(t.Context(), id, opts)
		if err != nil || len(got) == 0 || len(got) != len(want) {
			t.Errorf("%q finds %d memories, and %d by reading all contents: %v", query, len(got), len(want), err)
		}
	}
}

// An index that would be too large to be read is not written, by any process, and searches do
// without it. When the store is smaller it is made again.
func TestIndexTooLarge(t *testing.T) {
	prefix := "bounds/" + random()
	b := patient(t, prefix, nil)
	b.index.Close()
	b.indexes.maxStored = 10_000
	id := unindexed(t, b)
	keep := func(b *Backend) error {
		for {
			if more, err := b.index.Keep(t.Context(), id); err != nil || !more {
				return err
			}
		}
	}
	if err := keep(b); !errors.Is(err, textindex.ErrLarge) {
		t.Fatalf("the index is kept: %v, want ErrLarge", err)
	}
	if d, err := b.getIndex(t.Context(), id); err != nil || d.Large == 0 || len(d.Segments) > 0 || d.unreadable {
		t.Errorf("%+v, %v", d, err)
	}
	if found, err := b.s3.list(t.Context(), indexSegmentDir(id), "", 0, true); err != nil || len(found) > 0 {
		t.Errorf("%d segments are there, %v", len(found), err)
	}
	write(t, b, id, "/secret", "harmless")
	scansRight(t, b, id)

	way := counting(t, "/index")
	fresh := patient(t, prefix, way)
	fresh.index.Close()
	fresh.indexes.maxStored = 10_000
	scansRight(t, fresh, id)
	puts := fresh.Stats().Puts
	if err := keep(fresh); !errors.Is(err, textindex.ErrLarge) {
		t.Errorf("the index is kept by another process: %v, want ErrLarge", err)
	}
	if n := fresh.Stats().Puts - puts; n > 0 || way.n.Load() > 1 {
		t.Errorf("%d writes, and %d reads of the descriptor", n, way.n.Load())
	}
	m, err := fresh.Get(t.Context(), id, memento.ByPath("/note1"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, fresh, id, "/note1", "harmless")
	if _, err := fresh.Redact(t.Context(), id, m.Version, memento.Actor{}); err != nil {
		t.Fatal(err)
	}
	if d, err := fresh.getIndex(t.Context(), id); err != nil || d.Large == 0 || len(d.Segments) > 0 {
		t.Errorf("after a redaction %+v, %v", d, err)
	}
	var changes []memento.Change
	for i := range 600 {
		changes = append(changes, memento.Remove{Path: memento.Path(fmt.Sprintf("/note%d", i+10))})
	}
	if _, err := fresh.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
	last := patient(t, prefix, nil)
	writeMore(t, last, id, "") // as much as makes a segment
	keepIndex(t, last, id)
	if d, err := last.getIndex(t.Context(), id); err != nil || d.Large > 0 || len(d.Segments) == 0 {
		t.Errorf("when the store is smaller %+v, %v", d, err)
	}
	searchesRight(t, last, id)
}

// A store that is too large for an index is searched without reading the one that it had.
func TestLargeReadsNoIndex(t *testing.T) {
	prefix := "bounds/" + random()
	id, _ := indexed(t, patient(t, prefix, nil))
	way := counting(t, "/words/")
	b := patient(t, prefix, way)
	b.index.Close()
	if _, err := b.Get(t.Context(), id, memento.ByPath("/secret")); err != nil {
		t.Fatal(err)
	}
	s, done, err := b.use(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	s.mu.Lock()
	s.st.info.Usage.Bytes = maxIndexedTexts + 1
	s.mu.Unlock()
	scansRight(t, b, id)
	if n := way.n.Load(); n > 0 {
		t.Errorf("%d segments are read", n)
	}
	if s.changes != nil || s.st.log != nil {
		t.Error("a search has left a log of changes")
	}
}

// A descriptor that is larger than any is not read. It is replaced like a damaged one.
func TestLargeDescriptor(t *testing.T) {
	prefix := "bounds/" + random()
	b := patient(t, prefix, nil)
	b.index.Close()
	id, _ := indexed(t, b)
	if err := b.s3.write(t.Context(), indexKey(id), bytes.Repeat([]byte(" "), maxDescriptorBytes+1)); err != nil {
		t.Fatal(err)
	}
	fresh := patient(t, prefix, nil)
	fresh.index.Close()
	if data, etag, err := fresh.s3.getBounded(t.Context(), indexKey(id), maxDescriptorBytes); len(data) > 0 || etag == "" || err != nil {
		t.Errorf("%d bytes are read, %q, %v", len(data), etag, err)
	}
	searchesRight(t, fresh, id)
	keepIndex(t, fresh, id)
	if d, err := fresh.getIndex(t.Context(), id); err != nil || d.unreadable || len(d.Segments) == 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// One call makes at most atOnce requests at once, however many segments it reads from.
func TestRequestsAtOnce(t *testing.T) {
	prefix := "contents/" + random()
	b := patient(t, prefix, nil)
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test", Limits: memento.Limits{Memories: 10_000, MemoryBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	b.inline = 1 << 20
	text := strings.Repeat("text ", 4000)
	for i := range 12 {
		var changes []memento.Change
		for j := range 40 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: text + fmt.Sprint(i, j)})
		}
		if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
			t.Fatal(err)
		}
		compactNow(t, b, info.ID)
	}
	way := counting(t, "/history/")
	fresh := patient(t, prefix, way)
	s, done, err := fresh.use(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var wants []want
	if err := s.view(t.Context(), func(st *state) error {
		for i, h := range st.paths {
			if i%20 < 3 { // few of each segment, which so is not read as a whole
				wants = append(wants, h.want())
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	way.max.Store(0)
	way.slow = 5 * time.Millisecond
	texts, err := s.contents(t.Context(), wants)
	if err != nil || slices.ContainsFunc(texts, func(text string) bool { return len(text) < 20_000 }) {
		t.Fatal(err)
	}
	if n := way.max.Load(); n > atOnce || n < 2 {
		t.Errorf("%d requests at once, want at most %d", n, atOnce)
	}
}
