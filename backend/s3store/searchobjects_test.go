package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/textindex"

	"github.com/google/go-cmp/cmp"
)

// indexed makes a store that has an index in the bucket, and returns it with a secret version
// of the memory /secret, which has the word zebrafinch; it is not the newest one.
func indexed(t *testing.T, b *Backend) (id memento.StoreID, secret memento.VersionID) {
	t.Helper()
	id = unindexed(t, b)
	keepIndex(t, b, id)
	m, err := b.Get(t.Context(), id, memento.ByPath("/secret"))
	if err != nil {
		t.Fatal(err)
	}
	if n := countObjects(t, b, id, "zebrafinch"); n < 2 {
		t.Fatalf("the word is in %d objects", n)
	}
	write(t, b, id, "/secret", "harmless")
	return id, m.Version
}

func unindexed(t *testing.T, b *Backend) (id memento.StoreID) {
	t.Helper()
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test", Limits: memento.Limits{Memories: 10_000}})
	if err != nil {
		t.Fatal(err)
	}
	changes := []memento.Change{memento.Put{Path: "/secret", Content: "a zebrafinch"}}
	for i := range textindex.FlushVersions + 200 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/note%d", i)), Content: fmt.Sprintf("note about budget %d and release %d", i%7, i%5)})
	}
	if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
	return info.ID
}

// keepIndex keeps the index of a store until there is nothing left to do.
func keepIndex(t testing.TB, b *Backend, id memento.StoreID) {
	t.Helper()
	for n := 0; ; n++ {
		more, err := b.index.Keep(t.Context(), id)
		if err != nil && !errors.Is(err, textindex.ErrRevised) {
			t.Fatal(err)
		}
		if err == nil && !more {
			return
		}
		if n == 100 {
			t.Fatal("the index is never kept")
		}
	}
}

// searchesRight fails unless searches find what reading all contents finds.
func searchesRight(t *testing.T, b *Backend, id memento.StoreID) {
	t.Helper()
	for _, query := range []string{"budget 3", "harmless", "zebrafinch", "note1 release"} {
		opts := memento.SearchOptions{Query: query, Limit: 100}
		var want []memento.Match
		err := b.indexes.view(t.Context(), id, b.indexes.snapshot, func(ctx context.Context, now *searchSnapshot) (err error) {
			want, err = scan(ctx, now, opts)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Search(t.Context(), id, opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

func segmentsInBucket(t *testing.T, b *Backend, id memento.StoreID) (named, all int) {
	t.Helper()
	d, err := b.getIndex(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.s3.list(t.Context(), indexSegmentDir(id), "", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	return len(d.Segments), len(found)
}

func patient(t *testing.T, prefix string, via http.RoundTripper) *Backend {
	t.Helper()
	b := openHasty(t, prefix, via, maxAge)
	b.keepLog, b.compactEvery = keepLog, 1000
	return b
}

// A new process searches with the index in the bucket, and reads only the contents that it
// shows. What others have changed since, and change later, it finds at once.
func TestIndexInBucket(t *testing.T) {
	prefix := "index/" + random()
	b := patient(t, prefix, nil)
	id, _ := indexed(t, b)
	if err := b.DeleteStore(t.Context(), "tests", id); err != nil { // its ID is not used again
		t.Fatal(err)
	}
	id, _ = indexed(t, b)
	compactNow(t, b, id)
	if _, err := b.Apply(t.Context(), id, memento.Actor{}, []memento.Change{
		memento.Remove{Path: "/note3"}, memento.Put{Path: "/note10", Content: "another zebrafinch"}, memento.Move{From: "/note17", To: "/moved"},
	}); err != nil {
		t.Fatal(err)
	}
	fresh := patient(t, prefix, nil)
	h, err := fresh.Search(t.Context(), id, memento.SearchOptions{Query: "zebrafinch"})
	if err != nil || len(h) != 1 || h[0].Memory.Path != "/note10" {
		t.Errorf("%+v, %v", h, err)
	}
	if x := fresh.indexes.get(id); len(x.stored.Segments) == 0 || x.log.end() > 100 {
		t.Errorf("the index of a new process begins with %d segments and %d changes", len(x.stored.Segments), x.log.end())
	}
	searchesRight(t, fresh, id)
	for i := range 5 {
		write(t, b, id, "/note20", fmt.Sprintf("zebrafinch budget 3 %d", i))
		searchesRight(t, fresh, id)
	}
	searchesRight(t, patient(t, prefix, nil), id)
}

// Two processes write and keep the index by turns. Neither undoes what the other has done, and
// what is no longer named is deleted.
func TestIndexOfTwo(t *testing.T) {
	prefix := "index/" + random()
	both := []*Backend{patient(t, prefix, nil), patient(t, prefix, nil)}
	id, _ := indexed(t, both[0])
	for round := range 6 {
		b := both[round%2]
		var changes []memento.Change
		for i := range textindex.FlushVersions + 10 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/round%d/%d", round%4, i)), Content: fmt.Sprintf("budget %d of round %d", i%9, round)})
		}
		if _, err := b.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
			t.Fatal(err)
		}
		before, err := b.getIndex(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		keepIndex(t, both[(round+1)%2], id)
		keepIndex(t, b, id)
		after, err := b.getIndex(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if after.Seq <= before.Seq {
			t.Errorf("round %d: the index covers %d after %d", round, after.Seq, before.Seq)
		}
		for _, b := range both {
			searchesRight(t, b, id)
		}
	}
	if named, all := segmentsInBucket(t, both[0], id); named == 0 || all != named {
		t.Errorf("%d segments are named, and there are %d", named, all)
	}
}

// When a version is redacted, its words are gone from the index in the bucket, too. A process
// that has read them before, and is about to write them, does not.
func TestIndexErased(t *testing.T) {
	for _, first := range []bool{false, true} { // whether the store has no index yet
		t.Run(fmt.Sprintf("first %v", first), func(t *testing.T) {
			prefix := "index/" + random()
			other := patient(t, prefix, nil)
			var id memento.StoreID
			var secret memento.VersionID
			var armed atomic.Bool
			var redacted atomic.Int64
			b := patient(t, prefix, Before(t, &armed, http.MethodPut, "/index", func() {
				if first {
					m, err := other.Get(t.Context(), id, memento.ByPath("/secret"))
					if err != nil {
						t.Error(err)
					}
					secret = m.Version
					write(t, other, id, "/secret", "harmless")
				}
				if _, err := other.Redact(t.Context(), id, secret, memento.Actor{}); err != nil {
					t.Error(err)
				}
				redacted.Add(1)
			}))
			if first {
				b.index.Close() // nothing in the background
				id = unindexed(t, b)
			} else {
				id, secret = indexed(t, other)
				var changes []memento.Change
				for i := range textindex.FlushVersions + 10 {
					changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/more%d", i)), Content: "more"})
				}
				if _, err := b.Search(t.Context(), id, memento.SearchOptions{Query: "zebrafinch"}); err != nil {
					t.Fatal(err)
				}
				armed.Store(true)
				if _, err := b.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
					t.Fatal(err)
				}
			}
			armed.Store(true)
			keepIndex(t, b, id)
			if redacted.Load() == 0 {
				t.Fatal("nothing was redacted meanwhile")
			}
			if n := countObjects(t, b, id, "zebrafinch"); n > 0 {
				t.Errorf("it is still in %d objects", n)
			}
			if named, all := segmentsInBucket(t, b, id); named == 0 || all != named {
				t.Errorf("%d segments are named, and there are %d", named, all)
			}
			searchesRight(t, b, id)
			searchesRight(t, patient(t, prefix, nil), id)
		})
	}
}

// A process that changes the index dies at any of its requests. Others search and erase, and
// nothing of what it wrote is left.
func TestIndexKilled(t *testing.T) {
	died := 0
	for step := 0; ; step++ {
		prefix := "index/" + random()
		b := patient(t, prefix, nil)
		id, secret := indexed(t, b)
		var armed, dead atomic.Bool
		var requests atomic.Int64
		dying := patient(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
			change := req.Method != http.MethodGet && (strings.Contains(req.URL.Path, "/words/") || strings.HasSuffix(req.URL.Path, "/index"))
			if armed.Load() && change && requests.Add(1) > int64(step) {
				dead.Store(true)
			}
			if dead.Load() {
				return Unsent(req)
			}
			return send(req)
		}))
		dying.s3.retryTimeout = 50 * time.Millisecond
		dying.index.Close()
		armed.Store(true)
		_, err := dying.Redact(t.Context(), id, secret, memento.Actor{})
		if !dead.Load() {
			if err != nil {
				t.Error(err)
			}
			break
		}
		died++
		searchesRight(t, b, id)
		searchesRight(t, patient(t, prefix, nil), id)
		if _, err := b.Redact(t.Context(), id, secret, memento.Actor{}); err != nil { // it continues
			t.Fatal(err)
		}
		if n := countObjects(t, b, id, "zebrafinch"); n > 0 {
			t.Errorf("step %d: it is still in %d objects", step, n)
		}
		if named, all := segmentsInBucket(t, b, id); all != named {
			t.Errorf("step %d: %d segments are named, and there are %d", step, named, all)
		}
		searchesRight(t, b, id)
	}
	if died < 3 {
		t.Errorf("it died at %d steps", died)
	}
}

func descriptor(t *testing.T, d indexDescriptor) []byte {
	t.Helper()
	data, err := marshalChecked(&d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A damaged index does not matter to searches, and is made again.
func TestIndexDamaged(t *testing.T) {
	prefix := "index/" + random()
	b := patient(t, prefix, nil)
	id, _ := indexed(t, b)
	b.index.Close()
	damages := map[string]func([]byte) []byte{
		"empty":   func([]byte) []byte { return []byte{} },
		"half":    func(whole []byte) []byte { return whole[:len(whole)/2] },
		"flipped": func(whole []byte) []byte { whole[len(whole)/2] ^= 4; return whole },
		"end":     func(whole []byte) []byte { whole[len(whole)-1] ^= 4; return whole },
		"noise":   func([]byte) []byte { return []byte(strings.Repeat("\xff\xff\xff noise", 100)) },
		"check":   func([]byte) []byte { return []byte(`{"format":1,"rev":"x","seq":99999999}`) },
		"store": func([]byte) []byte {
			return descriptor(t, indexDescriptor{Format: indexFormat, Rev: "x", Store: 1, Seq: 1})
		},
		"older": func([]byte) []byte { return descriptor(t, indexDescriptor{Format: indexFormat - 1, Rev: "x", Seq: 1}) },
		"ahead": func([]byte) []byte {
			return descriptor(t, indexDescriptor{Format: indexFormat, Rev: "x", Seq: 99999999})
		},
		"missing": func([]byte) []byte { return nil },
	}
	for _, segment := range []bool{false, true} {
		for name, damage := range damages {
			d, err := b.getIndex(t.Context(), id)
			if err != nil || len(d.Segments) == 0 {
				t.Fatalf("%s: %+v, %v", name, d, err)
			}
			key := indexKey(id)
			if segment {
				key = d.Segments[0].Key
			}
			whole, _, err := b.s3.get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if data := damage(whole); data != nil {
				err = b.s3.write(t.Context(), key, data)
			} else {
				err = b.s3.remove(t.Context(), key)
			}
			if err != nil {
				t.Fatal(err)
			}
			fresh := patient(t, prefix, nil)
			searchesRight(t, fresh, id)
			keepIndex(t, fresh, id)
			searchesRight(t, patient(t, prefix, nil), id)
			if now, err := b.getIndex(t.Context(), id); err != nil || now.Seq < textindex.FlushVersions || segment && now.Segments[0].Key == key {
				t.Errorf("%s, segment %v: the index was not made again: %+v, %v", name, segment, now, err)
			}
		}
	}
}

// A process that writes the first index of a store that another one has deleted leaves nothing.
func TestIndexOfDeleted(t *testing.T) {
	prefix := "index/" + random()
	other := patient(t, prefix, nil)
	var id memento.StoreID
	var armed atomic.Bool
	b := patient(t, prefix, Before(t, &armed, http.MethodPut, "/index", func() {
		if err := other.DeleteStore(t.Context(), "tests", id); err != nil {
			t.Error(err)
		}
	}))
	b.index.Close()
	id = unindexed(t, b)
	armed.Store(true)
	if _, err := b.index.Keep(t.Context(), id); err == nil || armed.Load() {
		t.Errorf("the index was published, or nothing deleted: %v", err)
	}
	if n := countObjects(t, other, id, "zebrafinch"); n > 0 {
		t.Errorf("it is still in %d objects", n)
	}
	if _, all := segmentsInBucket(t, other, id); all > 0 {
		t.Errorf("there are %d segments", all)
	}
}

// What another process is about to name is not collected.
func TestIndexCollected(t *testing.T) {
	prefix := "index/" + random()
	other := patient(t, prefix, nil)
	var id memento.StoreID
	var armed atomic.Bool
	b := patient(t, prefix, Before(t, &armed, http.MethodPut, "/index", func() {
		if err := other.deleteUnreferencedSegments(t.Context(), id); err != nil {
			t.Error(err)
		}
	}))
	b.index.Close()
	id = unindexed(t, b)
	armed.Store(true)
	keepIndex(t, b, id)
	if named, all := segmentsInBucket(t, b, id); armed.Load() || named == 0 || all != named {
		t.Errorf("%d segments are named, and there are %d", named, all)
	}
}

// While a process reads the index, another one changes memories and the index.
func TestIndexAheadOfState(t *testing.T) {
	prefix := "index/" + random()
	other := patient(t, prefix, nil)
	id, _ := indexed(t, other)
	var armed atomic.Bool
	b := patient(t, prefix, Before(t, &armed, http.MethodGet, "/index", func() {
		changes := []memento.Change{memento.Put{Path: "/secret", Content: "more harmless"}, memento.Remove{Path: "/note3"}}
		for i := range textindex.FlushVersions + 10 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/more%d", i)), Content: fmt.Sprint("budget 3 more ", i)})
		}
		if _, err := other.Apply(t.Context(), id, memento.Actor{}, changes); err != nil {
			t.Error(err)
		}
		keepIndex(t, other, id)
	}))
	b.index.Close() // it does not make the index again
	armed.Store(true)
	searchesRight(t, b, id)
	if x := b.indexes.get(id); armed.Load() || len(x.stored.Segments) == 0 {
		t.Errorf("the index has %d segments", len(x.stored.Segments))
	}
}

// A process that may not write makes an index for itself.
func TestIndexReadOnly(t *testing.T) {
	prefix := "index/" + random()
	other := patient(t, prefix, nil)
	other.index.Close()
	id := unindexed(t, other)
	var armed atomic.Bool
	b := patient(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
		if armed.Load() && req.Method == http.MethodPut {
			if req.Body != nil {
				req.Body.Close()
			}
			body := "<Error><Code>AccessDenied</Code></Error>"
			return &http.Response{StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
				Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req}, nil
		}
		return send(req)
	}))
	armed.Store(true)
	keepIndex(t, b, id)
	searchesRight(t, b, id)
	if x := b.indexes.get(id); len(x.stored.Segments) == 0 {
		t.Error("it has no segments")
	}
	if named, all := segmentsInBucket(t, other, id); named+all > 0 {
		t.Errorf("%d segments are named, and there are %d", named, all)
	}
}

// reversed is a Sealer whose texts are written backwards.
type reversed struct{}

func (reversed) Seal(_ memento.MemoryID, _ memento.VersionID, text string) (string, error) {
	sealed := []byte(text)
	slices.Reverse(sealed)
	return string(sealed), nil
}
func (reversed) Digest(sha256 string) string                { return "sealed " + sha256 }
func (reversed) Clear(p memento.Path) (memento.Path, error) { return p, nil }

// No word of sealed contents gets into the index, sealed or not.
func TestIndexOfSealed(t *testing.T) {
	b := patient(t, "index/"+random(), nil)
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test", Limits: memento.Limits{Memories: 10_000}})
	if err != nil {
		t.Fatal(err)
	}
	var changes []memento.Change
	for i := range textindex.FlushVersions + 10 {
		c := memento.Put{Path: memento.Path(fmt.Sprintf("/note%d", i)), Content: "a zebrafinch"}
		changes = append(changes, backend.Sealed{Change: c, Sealing: backend.Sealing{By: reversed{}}})
	}
	if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
		t.Fatal(err)
	}
	keepIndex(t, b, info.ID)
	if named, _ := segmentsInBucket(t, b, info.ID); named == 0 {
		t.Error("there is no index, so that this test shows nothing")
	}
	found, err := b.s3.list(t.Context(), indexSegmentDir(info.ID), "", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range found {
		data, _, err := b.s3.get(t.Context(), o.key)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data); strings.Contains(text, "zebrafinch") || strings.Contains(text, "hcnifarbez") {
			t.Errorf("a word is in %s", o.key)
		}
	}
}

// While the index is read from the bucket again, others write. Each search finds what was
// written before.
func TestAttachWhileWriting(t *testing.T) {
	b := patient(t, "index/"+random(), nil)
	id, _ := indexed(t, b)
	b.index.Close()
	var written atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			path := memento.Path(fmt.Sprintf("/note%d", n%20))
			if _, err := b.Apply(t.Context(), id, memento.Actor{}, []memento.Change{memento.Put{Path: path, Content: fmt.Sprintf("written number%d", n)}}); err != nil {
				t.Error(err)
				return
			}
			written.Store(n)
		}
	})
	for range 60 {
		b.indexes.outdate(id, b.indexes.get(id).revision)
		n := written.Load()
		found, err := b.Search(t.Context(), id, memento.SearchOptions{Query: "written", Limit: 100})
		if err != nil {
			t.Error(err)
			break
		}
		newest := int64(0)
		for _, m := range found {
			var k int64
			if _, err := fmt.Sscanf(m.Snippet, "written number%d", &k); err != nil {
				t.Errorf("%q is found", m.Snippet)
			}
			newest = max(newest, k)
		}
		if newest < n || int64(len(found)) < min(n, 20) {
			t.Errorf("after %d writes, %d memories are found, the newest of write %d", n, len(found), newest)
		}
	}
	cancel()
	wg.Wait()
	searchesRight(t, b, id)
}
