package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
	"memento/sensitive"
)

// watch connects to the stream of a workspace, and returns the events before the comment
// that ends the newest versions.
func (c *caller) watch(t *testing.T, query string) (*listener, []event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+stores+"/changes"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", c.key)
	l := &listener{t: t, cancel: cancel}
	if l.response, err = http.DefaultTransport.RoundTrip(request); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	l.lines = bufio.NewScanner(l.response.Body)
	l.lines.Buffer(nil, 1<<20)
	var before []event
	var e event
	for {
		line, ok := l.line()
		switch name, value, _ := strings.Cut(line, ": "); {
		case !ok:
			t.Fatal("the stream ended")
		case line == ": connected":
			return l, before
		case name == "event":
			e = event{name: value}
		case name == "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				t.Fatal(err)
			}
			before = append(before, e)
		}
	}
}

// The stream of a workspace begins with the newest versions of all its stores, and goes on
// with those that are made, in stores that are made meanwhile too, by this process or another.
func TestStreamWorkspace(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Poll = 5 * time.Millisecond })
	c, reader, other := s.as("a", apikey.RoleWrite), s.as("a", apikey.RoleRead), s.as("b", apikey.RoleWrite)
	first, second := c.newStore(t, "first"), c.newStore(t, "second")
	other.put(t, other.newStore(t, "other"), "/other.md", "not of this workspace")
	for i := range 3 {
		c.put(t, first, fmt.Sprintf("/first-%d.md", i), "text")
		c.put(t, second, fmt.Sprintf("/second-%d.md", i), "text")
	}

	_, before := reader.watch(t, "?recent=4&view=full")
	var paths []string
	for _, e := range before {
		if e.name == "memory_store" {
			paths = append(paths, text(t, e.data, "name"))
			continue
		}
		paths = append(paths, text(t, e.data, "path"))
		same(t, "content", e.data["content"], "text")
	}
	same(t, "newest versions, after their stores", strings.Join(paths, " "), "first /first-1.md second /second-1.md /first-2.md /second-2.md")

	l, before := reader.watch(t, "")
	same(t, "newest versions unasked for", len(before), 0)
	c.put(t, second, "/live.md", "live")
	e := l.must()
	same(t, "event", e.name, "memory_store")
	same(t, "store", stores+"/"+text(t, e.data, "id"), second)
	e = l.must()
	same(t, "path", e.data["path"], "/live.md")
	same(t, "contents unasked for", e.data["content"], nil)
	same(t, "store", stores+"/"+text(t, e.data, "memory_store_id"), second)

	// By another process, in a store that was made after the stream began.
	elsewhere, err := httpapi.New(s.backend, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, s.clock.time), Detector: sensitive.Default()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(elsewhere)
	defer server.Close()
	there := &caller{url: server.URL, key: c.key}
	there.put(t, there.newStore(t, "third"), "/elsewhere.md", "text")
	same(t, "name", l.must().data["name"], "third")
	same(t, "path", l.must().data["path"], "/elsewhere.md")
	c.put(t, second, "/again.md", "live")
	e = l.must() // the store is described again, since what it holds has changed
	same(t, "memories", e.data["usage"].(object)["memories"], 5.)
	same(t, "path", l.must().data["path"], "/again.md")

	other.put(t, other.newStore(t, "another"), "/other.md", "not of this workspace")
	c.delete(t, first)
	e = l.must()
	same(t, "event", e.name, "memory_store.deleted")
	same(t, "store", stores+"/"+text(t, e.data, "id"), first)

	c.do(t, http.MethodGet, stores+"/changes?recent=201", nil).fails(t, 400, invalidRequest, "recent: must be a whole number from 0 to 200")
}

// A polled backend counts how often the versions of each store are listed, and can hold back
// listings of stores.
type polled struct {
	memento.Backend
	gate sync.RWMutex

	mu     sync.Mutex
	counts map[memento.StoreID]int
}

func (p *polled) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	p.gate.RLock()
	defer p.gate.RUnlock()
	return p.Backend.ListStores(ctx, ws, opts)
}

func (p *polled) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	p.mu.Lock()
	p.counts[id]++
	p.mu.Unlock()
	return p.Backend.ListVersions(ctx, id, opts)
}

func (p *polled) count(id memento.StoreID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[id]
}

// Of many stores, those that changed last are polled each time, and the others in turns. Of a
// store that is found with a long history, only the newest versions are sent.
func TestStreamWorkspacePolls(t *testing.T) {
	s := newSite(t, nil)
	b := &polled{Backend: s.backend, counts: map[memento.StoreID]int{}}
	watching, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, s.clock.time), Detector: sensitive.Default(), Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Close()
	server := httptest.NewServer(watching)
	defer server.Close()
	c := s.as("a", apikey.RoleWrite) // another process
	var ids []memento.StoreID
	for i := range 100 {
		ids = append(ids, memento.StoreID(strings.TrimPrefix(c.newStore(t, fmt.Sprint("store ", i)), stores+"/")))
	}
	l, _ := (&caller{url: server.URL, key: c.key}).watch(t, "")
	defer l.close()
	c.put(t, stores+"/"+string(ids[50]), "/first.md", "text")
	l.must()
	same(t, "path", l.must().data["path"], "/first.md")
	active, quiet := b.count(ids[50]), b.count(ids[10])
	for deadline := time.Now().Add(bound); b.count(ids[10]) < quiet+4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a quiet store is not polled")
		}
	}
	if n := b.count(ids[50]) - active; n < 10 {
		t.Errorf("the store that changed last was polled %d times while another was 4 times", n)
	}

	b.gate.Lock()
	late := c.newStore(t, "late")
	for i := range 203 {
		c.put(t, late, fmt.Sprintf("/%03d.md", i), "text")
	}
	b.gate.Unlock()
	same(t, "name", l.must().data["name"], "late")
	for i := 3; i < 203; i++ {
		e := l.must()
		if e.name == "memory_store" { // once for each page
			e = l.must()
		}
		same(t, "path", e.data["path"], fmt.Sprintf("/%03d.md", i))
	}
}
