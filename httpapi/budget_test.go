package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
	"memento/test/cputime"
	"memento/test/race"
)

// loads tells how much of something is in use.
func (s *site) load(resource string) httpapi.Load {
	s.t.Helper()
	for _, l := range s.api.Loads() {
		if l.Resource == resource {
			return l
		}
	}
	s.t.Fatalf("nothing is known of %s", resource)
	return httpapi.Load{}
}

// declare sends the header of a request, and none of its body.
func (s *site) declare(c *caller, path, header string) *pending {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(bound))
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\nContent-Type: application/json\r\n%s\r\n", path, c.key, header); err != nil {
		s.t.Fatal(err)
	}
	return &pending{conn, bufio.NewReader(conn)}
}

// status reads an answer.
func (p *pending) status(t *testing.T) int {
	t.Helper()
	r, err := http.ReadResponse(p.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// What a body declares is looked at before any of it is asked for.
func TestLengthFirst(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.MaxBody, o.MemoryBudget = 1<<20, 16<<20 })
	store := s.admin.newStore(t, "a")
	for header, want := range map[string]int{
		"Content-Length: 1048577\r\n":                         413,
		"Content-Length: 1048577\r\nExpect: 100-continue\r\n": 413,
		"Content-Length: 100\r\nExpect: 100-continue\r\n":     100,
	} {
		if got := s.declare(s.admin, store+"/memories", header).status(t); got != want {
			t.Errorf("%q: %d; want %d", header, got, want)
		}
	}
	// Changes may be larger than other bodies, but not than the memory there is.
	if got := s.declare(s.admin, store+"/changes", "Content-Length: 20000000\r\n").status(t); got != 413 {
		t.Errorf("changes of 20 MB in 16 MB of memory: %d", got)
	}
	if l := s.load("memory"); l.Used != 0 || l.Refused["outsize"] != 1 {
		t.Errorf("%+v", l)
	}
}

// The memory of a body is there before it is read, whether its length is known or not,
// and is given back.
func TestBodiesWithinMemory(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.MemoryBudget, o.QueueTime = 32<<20, 20*time.Millisecond })
	one, other := s.as("one", apikey.RoleWrite), s.as("other", apikey.RoleWrite)
	store, others := one.newStore(t, "a"), other.newStore(t, "b")
	var held []*pending
	for range 8 {
		held = append(held, s.declare(one, store+"/memories", "Content-Length: 1000000\r\n"))
	}
	until(t, "bodies have their memory, or are refused", func() bool {
		l := s.load("memory")
		return l.Refused["late"] == 4 && l.Used == 4*4_000_000
	})
	body := `{"path":"/x.md","content":"` + strings.Repeat("x", 90_000) + `"}`
	if r := other.do(t, "POST", others+"/memories", body); r.status != http.StatusOK {
		t.Errorf("of another workspace: %d %s", r.status, r.text)
	}
	if r := one.do(t, "POST", store+"/memories", `{"path":"/x.md","content":"x"}`); r.status != http.StatusOK {
		t.Errorf("a small body: %d %s", r.status, r.text)
	}
	for _, p := range held {
		p.Close()
	}
	until(t, "memory is given back", func() bool { return s.load("memory").Used == 0 && s.load("bodies").Used == 0 })

	// In chunks, it grows as they come.
	p := s.declare(one, store+"/memories", "Transfer-Encoding: chunked\r\n")
	_, _ = fmt.Fprintf(p, "%x\r\n%s", 200_000, strings.Repeat(" ", 100_000))
	until(t, "memory for what came", func() bool { n := s.load("memory").Used; return n >= 400_000 && n <= 1_100_000 })
	p.Close()
	until(t, "memory is given back", func() bool { return s.load("memory").Used == 0 })
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", bound, what)
		}
	}
}

// A body with many fields that nobody knows costs no more than its first.
func TestUnknownFields(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.newStore(t, "a")
	var b strings.Builder
	for i := 0; b.Len() < 2_900_000; i++ {
		fmt.Fprintf(&b, `"field%d":%d,`, i, i)
	}
	body := b.String()
	limit := 20 * time.Millisecond
	if race.Enabled {
		limit *= 20
	}
	took := cputime.Least(5, 0, func() {
		s.admin.do(t, "POST", store+"/memories", "{"+body+`"z":0}`).fails(t, 400, invalidRequest, "field0: extra inputs are not permitted")
	})
	if t.Logf("refused for %v", took); took > limit {
		t.Errorf("refused for %v; want at most %v", took, limit)
	}
	// In other places, too.
	s.admin.do(t, "POST", store+"/memories", `{"path":"/a","content":"`+strings.Repeat("x", 1000)+`","x":{`+body+`"z":0}}`).fails(t, 400, invalidRequest, "x: extra inputs")
	s.admin.do(t, "POST", stores, `{"name":"a","metadata":{`+manyPairs(2000)+`}}`).fails(t, 400, invalidRequest, "metadata: has more than 1000 entries")
	s.admin.do(t, "POST", store+"/reads", `{"memory_ids":[`+strings.Repeat(`"",`, 200_000)+`""]}`).fails(t, 400, invalidRequest, "more than 100001 entries")
	s.admin.do(t, "POST", store+"/changes", `{"changes":[`+strings.Repeat(`{},`, 200_000)+`{}]}`).fails(t, 400, invalidRequest, "changes: has more than 100001 entries")
	s.admin.do(t, "POST", store+"/tool", `[`+strings.Repeat(`{},`, 200_000)+`{}]`).fails(t, 400, invalidRequest, "more than 101 calls")
}

func manyPairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":"v",`, i)
	}
	return b.String() + `"last":"v"`
}

// A page with contents ends early where it would be large, and the next goes on there.
func TestPagesBySize(t *testing.T) {
	s := newSite(t, nil)
	info, err := s.backend.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "large", Limits: memento.Limits{MemoryBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	store := stores + "/" + string(info.ID)
	for i := range 7 {
		s.admin.put(t, store, fmt.Sprintf("/n%d.md", i), strings.Repeat("word ", 180_000))
	}
	for _, listing := range []string{"/memories", "/memory_versions"} {
		seen, pages, page := 0, 0, ""
		for {
			answer := s.admin.get(t, store+listing+"?view=full"+page)
			data := answer["data"].([]any)
			if seen, pages = seen+len(data), pages+1; len(data) > 2 {
				t.Errorf("%s: a page with %d contents of 900 KB", listing, len(data))
			}
			next, more := answer["next_page"].(string)
			if !more {
				break
			}
			page = "&page=" + next
		}
		if seen != 7 || pages != 4 {
			t.Errorf("%s: %d of 7 on %d pages; want 4", listing, seen, pages)
		}
	}
	until(t, "memory is given back", func() bool { return s.load("memory").Used == 0 && s.load("scans").Used == 0 })
}

// As many exports are sent at once as there is memory for; more wait, and are told to
// come again. An import that unpacks to more than there is memory for is refused.
func TestArchivesWithinMemory(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.MemoryBudget, o.QueueTime = 24<<20, 50*time.Millisecond })
	one, other := s.as("one", apikey.RoleAdmin), s.as("other", apikey.RoleAdmin)
	store, others := one.newStore(t, "a"), other.newStore(t, "b")
	for i := range 3 {
		one.put(t, store, fmt.Sprintf("/n%d.md", i), "some text")
	}
	held := s.api.HoldMemory("one", one.keyID, 10<<20) // two exports' worth is left to the workspace
	r := one.do(t, "GET", store+"/export", nil)
	if r.status != 529 || r.header.Get("retry-after") == "" || r.header.Get("x-should-retry") != "true" {
		t.Errorf("an export without memory: %d %v", r.status, r.header)
	}
	if r := other.do(t, "GET", others+"/export", nil); r.status != http.StatusOK {
		t.Errorf("of another workspace: %d %s", r.status, r.text)
	}
	held()
	if r := one.do(t, "GET", store+"/export", nil); r.status != http.StatusOK {
		t.Errorf("with memory: %d %s", r.status, r.text)
	}
	bomb := zipped(append(make([]byte, 0, 40<<20), make([]byte, 40<<20)...))
	if r := one.do(t, "POST", store+"/import?contents_only=true", bomb); r.status != 400 && r.status != 413 {
		t.Errorf("a bomb: %d %s", r.status, r.text)
	}
	line := `{"type":"memory_version","content":"` + strings.Repeat("x", 20<<20) + `"}`
	if r := one.do(t, "POST", store+"/history", line); r.status != 413 {
		t.Errorf("a history with a line of 20 MB: %d %s", r.status, r.text)
	}
	until(t, "memory is given back", func() bool { return s.load("memory").Used == 0 && s.load("bodies").Used == 0 })
}

// To take back what was done to a store takes memory for what it holds: more than a key
// can have is refused before anything is read.
func TestGoingBackWithinMemory(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.MemoryBudget = 8 << 20 })
	store := s.admin.newStore(t, "a")
	const hour = "2020-01-01T00:00:00Z"
	undo := map[string]any{"actor": map[string]any{"kind": "user", "id": "nobody"}, "since": hour, "dry_run": true}
	restore := map[string]any{"as_of": hour, "dry_run": true}
	s.admin.do(t, "POST", store+"/undo", undo).ok(t)
	s.admin.do(t, "POST", store+"/restore", restore).ok(t)
	text := strings.Repeat("x", 90_000)
	for n := range 45 {
		s.admin.do(t, "POST", store+"/memories", map[string]any{"path": fmt.Sprintf("/%d", n), "content": text}).ok(t)
	}
	s.admin.do(t, "POST", store+"/undo", undo).fails(t, 413, "request_too_large", "memory_budget")
	s.admin.do(t, "POST", store+"/restore", restore).fails(t, 413, "request_too_large", "memory_budget")
	if l := s.load("memory"); l.Used != 0 {
		t.Errorf("afterwards: %+v", l)
	}
}
