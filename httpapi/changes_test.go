package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

func TestApplyChanges(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	changes := store + "/changes"
	a := c.put(t, store, "/a", "one")
	d := c.put(t, store, "/d/x", "x")
	c.put(t, store, "/d/y", "y")

	answer := c.with("Memento-Actor", "session/sesn_1").post(t, changes, object{"changes": []object{
		{"type": "put", "path": "/new", "content": "new", "if": object{"type": "absent"}},
		{"type": "put", "path": "/a", "content": "two", "if": ifHash(hashOfOne)},
		{"type": "move", "from": "/d", "path": "/e"},
		{"type": "remove", "path": "/new", "if": object{"type": "always"}},
		{"type": "move", "from": "/a", "path": "/b", "content": "three", "if": nil},
	}})
	keys(t, answer, "type", "versions", "usage", "limits", "settings", "masked")
	same(t, "type", answer["type"], "memory_changes")
	same(t, "usage", answer["usage"], object{"memories": 3., "bytes": 7.})
	same(t, "limits", answer["limits"], defaultLimits)
	same(t, "settings", answer["settings"], defaultSettings)
	same(t, "masked", answer["masked"], []any{})
	var versions []object
	for _, v := range answer["versions"].([]any) {
		v := v.(object)
		keys(t, v, append([]string{"created_by_key_id"}, versionFields...)...)
		same(t, "created_by_key_id", v["created_by_key_id"], any(c.keyID))
		same(t, "created_by", v["created_by"], any(object{"type": "session_actor", "session_id": "sesn_1"}))
		kept := c.get(t, store+"/memory_versions/"+text(t, v, "id")+"?view=basic")
		delete(kept, "renamed_from") // not in the answer to a write
		same(t, "the version", kept, v)
		versions = append(versions, v)
	}
	same(t, "operations", column(versions, "operation"), []any{"created", "modified", "modified", "modified", "deleted", "modified"})
	same(t, "paths", column(versions, "path"), []any{"/new", "/a", "/e/x", "/e/y", "/new", "/b"})
	same(t, "memory", c.get(t, store+"/memories/"+text(t, d, "id"))["path"], "/e/x")
	b := c.get(t, store+"/memories/by-path?path=/b")
	same(t, "id", b["id"], a["id"])
	same(t, "content", b["content"], "three")

	// All or nothing.
	before := c.pages(t, store+"/memories?view=full", 20)
	for _, tt := range []struct {
		change object
		status int
		kind   string
		code   string
	}{
		{object{"type": "put", "path": "/b", "content": "", "if": object{"type": "absent"}}, 409, pathConflict, "exist"},
		{object{"type": "put", "path": "/b", "content": "", "if": ifHash(hashOfOne)}, 409, precondition, "conflict"},
		{object{"type": "put", "path": "/b", "content": "", "if": object{"type": "memory_version", "memory_version_id": a["memory_version_id"]}}, 409, precondition, "conflict"},
		{object{"type": "put", "path": "/e", "content": ""}, 409, pathConflict, "is_dir"},
		{object{"type": "put", "path": "/b/x", "content": ""}, 409, pathConflict, "not_dir"},
		{object{"type": "move", "from": "/b", "path": "/e/x"}, 409, pathConflict, "exist"},
		{object{"type": "remove", "path": "/absent"}, 404, notFound, "not_exist"},
		{object{"type": "move", "from": "/absent", "path": "/x"}, 404, notFound, "not_exist"},
		{object{"type": "put", "path": "b", "content": ""}, 400, invalidRequest, "invalid_path"},
		{object{"type": "put", "path": "/x", "content": strings.Repeat("x", 102_401)}, 400, invalidRequest, "too_large"},
	} {
		failure := c.do(t, http.MethodPost, changes, object{"changes": []object{{"type": "put", "path": "/first", "content": ""}, tt.change}}).fails(t, tt.status, tt.kind)
		same(t, fmt.Sprintf("code of %v", tt.change), failure["code"], tt.code)
		if tt.kind == pathConflict && failure["conflicting_memory_id"] == nil {
			t.Errorf("%v: no conflicting_memory_id in %v", tt.change, failure)
		}
	}
	for body, want := range map[string]string{
		`{"changes":[{}]}`:                                                                        `changes[0]: the type of a change can be "put", "remove" or "move"`,
		`{"changes":[null]}`:                                                                      "changes[0]",
		`{"changes":[{"type":"write","path":"/x"}]}`:                                              "changes[0]",
		`{"changes":[{"type":"put","path":"/x"}]}`:                                                "changes[0]: a put needs content",
		`{"changes":[{"type":"put","path":"/x","content":5}]}`:                                    "changes[0].content: must be a string, not number",
		`{"changes":[{"type":"remove","path":"/x","contents":""}]}`:                               "changes[0].contents: extra inputs are not permitted",
		`{"changes":[{"type":"remove","path":"/a","if":{"type":"content_sha256","sha256":"x"}}]}`: "changes[0].if.sha256: extra inputs are not permitted",
		`{"changes":[{"type":"remove","path":"/a","if":{"type":"never"}}]}`:                       "changes[0].if: the type of a condition",
		`{"changes":[{"type":"remove","path":"/a","if":"always"}]}`:                               "changes[0].if: must be an object",
		`{"changes":{}}`: "changes: must be a list, not object",
		`[]`:             "must be a JSON object",
		`{"changes":[` + strings.Repeat("{},", 100_000) + "{}]}": "changes: has 100001 entries",
	} {
		c.do(t, http.MethodPost, changes, body).fails(t, 400, invalidRequest, want)
	}
	same(t, "memories after refusals", c.pages(t, store+"/memories?view=full", 20), before)
	same(t, "versions of no change", c.post(t, changes, object{"changes": []object{}})["versions"], []any{})
	same(t, "versions of what is so", c.post(t, changes, object{"changes": []object{{"type": "put", "path": "/b", "content": "three"}}})["versions"], []any{})

	secret := "ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1"
	answer = c.post(t, changes, object{"changes": []object{{"type": "put", "path": "/s", "content": "\n" + secret}}})
	if found, _ := answer["masked"].([]any); len(found) != 1 || found[0].(object)["path"] != "/s" || found[0].(object)["line"] != 2. {
		t.Errorf("masked is %v", answer["masked"])
	}
	s.as("a", apikey.RoleRead).do(t, http.MethodPost, changes, object{"changes": []object{}}).fails(t, 403, noAccess, "write")
}

// An event is one of a stream.
type event struct {
	name, id string
	data     object
}

// A listener reads a stream of events.
type listener struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Scanner
	cancel   context.CancelFunc
}

// listen connects to a stream; it is there once this returns.
func (c *caller) listen(t *testing.T, path string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound) // so that nothing hangs
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", c.key)
	for i := 0; i < len(c.headers); i += 2 {
		request.Header.Set(c.headers[i], c.headers[i+1])
	}
	l := &listener{t: t, cancel: cancel}
	if l.response, err = http.DefaultTransport.RoundTrip(request); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	if got := l.response.Header.Get("Content-Type"); l.response.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%s: %d %s", path, l.response.StatusCode, got)
	}
	l.lines = bufio.NewScanner(l.response.Body)
	l.lines.Buffer(nil, 1<<20)
	if line, ok := l.line(); !ok || line != ": connected" {
		t.Fatalf("%s: the stream begins with %q", path, line)
	}
	return l
}

func (l *listener) close() {
	l.cancel()
	l.response.Body.Close()
}

// line returns the next line that is not empty; false at the end.
func (l *listener) line() (string, bool) {
	for l.lines.Scan() {
		if text := l.lines.Text(); text != "" {
			return text, true
		}
	}
	return "", false
}

// next returns the next event; false if the stream ends.
func (l *listener) next() (e event, ok bool) {
	l.t.Helper()
	for {
		line, ok := l.line()
		if !ok {
			return e, false
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "":
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				l.t.Errorf("data %q: %v", value, err)
			}
			return e, true
		default:
			l.t.Errorf("line %q", line)
		}
	}
}

func (l *listener) must() event {
	l.t.Helper()
	e, ok := l.next()
	if !ok {
		l.t.Fatalf("the stream has ended: %v", l.lines.Err())
	}
	return e
}

func TestStreamOfChanges(t *testing.T) {
	s := newSite(t, nil)
	w, r := s.as("a", apikey.RoleWrite), s.as("a", apikey.RoleRead)
	store := w.newStore(t, "notes")
	changes := store + "/changes"
	first := w.put(t, store, "/a", "one")

	fromNow, fromStart := r.listen(t, changes), r.listen(t, changes+"?after=0&view=full")
	e := fromStart.must()
	version := r.get(t, store+"/memory_versions/"+text(t, first, "memory_version_id"))
	same(t, "event", e.name, "memory_version")
	same(t, "data", e.data, version)
	same(t, "id", e.id, fmt.Sprint(version["sequence"]))

	second := w.put(t, store, "/b", "two")
	w.delete(t, store+"/memories/"+text(t, second, "id"))
	for _, l := range []*listener{fromNow, fromStart} {
		e := l.must()
		same(t, "version", e.data["id"], second["memory_version_id"])
		want := any("two")
		if l == fromNow {
			want = nil
		}
		same(t, "content", e.data["content"], want)
		same(t, "operation", l.must().data["operation"], "deleted")
	}

	// It continues after what was seen, as the browser's EventSource or the
	// caller says, the first before the second.
	resumed := r.with("Last-Event-ID", e.id).listen(t, changes+"?after=0")
	same(t, "version", resumed.must().data["id"], second["memory_version_id"])
	same(t, "version", r.listen(t, changes+"?after="+e.id).must().data["id"], second["memory_version_id"])
	// What is not there any more is not sent.
	s.admin = s.as("a", apikey.RoleAdmin)
	w.put(t, store, "/c", "three")
	s.admin.post(t, store+"/prune", object{"before": memento.EndOfTime})
	after := r.listen(t, changes+"?after=1")
	same(t, "path", after.must().data["path"], "/c")

	for _, query := range []string{"after=x", "after=-1", "after=1.5", "after=1&after=2", "view=x"} {
		r.do(t, http.MethodGet, changes+"?"+query, nil).fails(t, 400, invalidRequest, query[:4])
	}
	r.with("Last-Event-ID", "x").do(t, http.MethodGet, changes, nil).fails(t, 400, invalidRequest, "ID of an event")

	// The end of the store is the end of its streams.
	fromNow.must() // of /c
	w.delete(t, store)
	e = fromNow.must()
	same(t, "event", e.name, "memory_store.deleted")
	same(t, "data", e.data, object{"id": first["memory_store_id"], "type": "memory_store_deleted"})
	if e, ok := fromNow.next(); ok || fromNow.lines.Err() != nil {
		t.Errorf("after the end: %v %v", e, fromNow.lines.Err())
	}
	r.do(t, http.MethodGet, changes+"?after=0", nil).fails(t, 404, notFound)
}

// A stream that has nothing to say says so regularly, and ends with the API.
func TestStreamHeartbeat(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Heartbeat = time.Millisecond })
	store := s.admin.newStore(t, "quiet")
	l := s.admin.listen(t, store+"/changes")
	for range 3 {
		if line, ok := l.line(); !ok || !strings.HasPrefix(line, ": ") {
			t.Errorf("a heartbeat is %q", line)
		}
	}
	s.api.Close()
	for {
		line, ok := l.line()
		if !ok {
			break
		}
		if !strings.HasPrefix(line, ": ") {
			t.Errorf("after Close: %q", line)
		}
	}
	if err := l.lines.Err(); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	s.admin.get(t, store) // other requests go on
}

// Changes that another server has made to the same backend are noticed too.
func TestStreamOfOthersChanges(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Poll = 5 * time.Millisecond })
	other, err := httpapi.New(s.backend, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, s.clock.time)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(other)
	defer server.Close()
	made := s.admin.post(t, stores, object{"name": "notes", "settings": object{"sensitive": object{"mode": "off"}}})
	store := stores + "/" + text(t, made, "id")
	l := s.admin.listen(t, store+"/changes")
	there := &caller{url: server.URL, key: s.admin.key}
	memory := there.put(t, store, "/a", "")
	same(t, "version", l.must().data["id"], memory["memory_version_id"])
	there.delete(t, store)
	same(t, "event", l.must().name, "memory_store.deleted")
}

// However often a client comes back, and however many write, it sees each change
// once, and in order.
func TestStreamWhileManyWrite(t *testing.T) {
	s := newSite(t, nil)
	c := s.admin
	store := c.newStore(t, "busy")
	const writers, each = 8, 40
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				r, err := c.send(t, http.MethodPost, store+"/tool", object{"command": "create", "path": fmt.Sprintf("/memories/%d-%d", w, i), "file_text": ""})
				if err != nil || r.status != http.StatusOK || r.body["is_error"] != nil {
					t.Errorf("create: %v %v", r, err)
					return
				}
			}
		})
	}
	var seen []any
	last := "0"
	for n := 0; len(seen) < writers*each; n++ {
		l := c.with("Last-Event-ID", last).listen(t, store+"/changes")
		for range 1 + n*7%13 { // and then it is cut off
			if len(seen) == writers*each {
				break
			}
			e := l.must()
			before, _ := strconv.Atoi(last)
			now, err := strconv.Atoi(e.id)
			if err != nil || now <= before || e.name != "memory_version" {
				t.Fatalf("event %s %q after %q", e.name, e.id, last)
			}
			last, seen = e.id, append(seen, e.data["id"])
		}
		l.close()
	}
	all.Wait()
	want := column(c.pages(t, store+"/memory_versions?limit=100", 100), "id")
	slices.Reverse(want)
	same(t, "versions", seen, want)
}
