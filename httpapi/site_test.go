package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/httpapi"
	"memento/sensitive"
)

// A site is an API on a memstore, served over TCP.
type site struct {
	t       *testing.T
	url     string
	api     *httpapi.API
	backend *memstore.Backend
	clock   *clock
	admin   *caller // with a key of the default workspace

	mu     sync.Mutex
	events []httpapi.StoreEvent
}

// newSite starts a site; set may change its options.
func newSite(t *testing.T, set func(*httpapi.Options)) *site {
	t.Helper()
	s := &site{t: t, clock: &clock{now: time.Date(2026, 9, 26, 12, 0, 0, 0, time.UTC)}}
	s.backend = memstore.New(&memstore.Options{Now: s.clock.tick})
	opts := httpapi.Options{
		Auth:       httpapi.NewKeyAuth(s.backend, s.clock.time),
		Detector:   sensitive.Default(),
		Now:        s.clock.time,
		StoreEvent: s.happened,

		FailureDelay: -1, // except the test that is about it
	}
	if set != nil {
		set(&opts)
	}
	var err error
	if s.api, err = httpapi.New(s.backend, opts); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.api)
	s.url = server.URL
	t.Cleanup(func() {
		s.api.Close()
		server.Close()
		if err := s.backend.Close(); err != nil {
			t.Error(err)
		}
	})
	s.admin = s.as(memento.DefaultWorkspace, apikey.RoleAdmin)
	return s
}

// as returns a caller with a new key.
func (s *site) as(ws memento.Workspace, role apikey.Role) *caller {
	s.t.Helper()
	k, secret := storetest.NewKey(s.t, s.backend, ws, role, s.clock.time())
	return &caller{url: s.url, key: secret, keyID: string(k.ID)}
}

func (s *site) happened(_ context.Context, e httpapi.StoreEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// told returns the types of the events so far, each with the store's ID.
func (s *site) told() (events []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		events = append(events, e.Type+" "+string(e.Store))
	}
	return events
}

// A clock moves on by a second whenever the backend asks.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) tick() time.Time { return c.add(time.Second) }

func (c *clock) add(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// A caller has a key, and perhaps headers: pairs of a name and a value.
type caller struct {
	url, key, keyID string
	headers         []string
}

// with returns a caller that sends more headers.
func (c *caller) with(headers ...string) *caller {
	more := *c
	more.headers = append(append([]string(nil), c.headers...), headers...)
	return &more
}

// object is a JSON object.
type object = map[string]any

// A reply is what came back. Numbers in its object are float64.
type reply struct {
	request string
	status  int
	header  http.Header
	text    []byte
	body    object // nil if it is none
}

// do sends a request: body is nil for none, a string or bytes as they are, or
// anything else as JSON.
func (c *caller) do(t *testing.T, method, path string, body any) *reply {
	t.Helper()
	r, err := c.send(t, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// send is do for other goroutines than the test's own.
func (c *caller) send(t *testing.T, method, path string, body any) (*reply, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	case []byte:
		text = b
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("x-api-key", c.key)
	}
	for i := 0; i < len(c.headers); i += 2 {
		if c.headers[i+1] == "" {
			request.Header.Del(c.headers[i])
			continue
		}
		request.Header.Add(c.headers[i], c.headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request) // which follows no redirect
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	r := &reply{request: method + " " + path, status: response.StatusCode, header: response.Header}
	if r.text, err = io.ReadAll(response.Body); err != nil {
		return nil, fmt.Errorf("%s: %w", r.request, err)
	}
	if isJSON := response.Header.Get("Content-Type") == "application/json"; isJSON && method != http.MethodHead {
		var v any
		if err := json.Unmarshal(r.text, &v); err != nil {
			return nil, fmt.Errorf("%s: %d, and no JSON: %w", r.request, r.status, err)
		}
		r.body, _ = v.(object)
	}
	if id := response.Header.Get("request-id"); !strings.HasPrefix(id, "req_") {
		return nil, fmt.Errorf("%s: request-id is %q", r.request, id)
	}
	return r, nil
}

func (c *caller) get(t *testing.T, path string) object {
	t.Helper()
	return c.do(t, http.MethodGet, path, nil).ok(t)
}

func (c *caller) post(t *testing.T, path string, body any) object {
	t.Helper()
	return c.do(t, http.MethodPost, path, body).ok(t)
}

func (c *caller) delete(t *testing.T, path string) object {
	t.Helper()
	return c.do(t, http.MethodDelete, path, nil).ok(t)
}

// ok returns the object of an answer that is none of an error.
func (r *reply) ok(t *testing.T) object {
	t.Helper()
	if r.status != http.StatusOK || r.body == nil {
		t.Fatalf("%s: %d %s", r.request, r.status, r.text)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: content type %q", r.request, got)
	}
	return r.body
}

// fails checks an error and returns its object. The message must hold all the words.
func (r *reply) fails(t *testing.T, status int, kind string, words ...string) object {
	t.Helper()
	failure, _ := r.body["error"].(object)
	if r.status != status || failure["type"] != kind || r.body["type"] != "error" {
		t.Errorf("%s: %d %s; want %d %s", r.request, r.status, r.text, status, kind)
		return object{}
	}
	message, _ := failure["message"].(string)
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("%s: message %q; want %q in it", r.request, message, w)
		}
	}
	if message == "" || r.body["request_id"] != r.header.Get("request-id") {
		t.Errorf("%s: %s with request-id %q; want a message, and the same ID", r.request, r.text, r.header.Get("request-id"))
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: content type %q", r.request, got)
	}
	if want := map[int]string{http.StatusConflict: "false", 529: "true"}[status]; r.header.Get("x-should-retry") != want {
		t.Errorf("%s: x-should-retry is %q; want %q", r.request, r.header.Get("x-should-retry"), want)
	}
	return failure
}

// Types of errors.
const (
	invalidRequest = "invalid_request_error"
	noAccess       = "permission_error"
	notFound       = "not_found_error"
	conflict       = "conflict_error"
	precondition   = "memory_precondition_failed_error"
	pathConflict   = "memory_path_conflict_error"
)

const stores = "/v1/memory_stores"

// newStore makes a store, and returns its path.
func (c *caller) newStore(t *testing.T, name string) string {
	t.Helper()
	return stores + "/" + text(t, c.post(t, stores, object{"name": name}), "id")
}

// put makes a memory, and returns it.
func (c *caller) put(t *testing.T, store, path, content string) object {
	t.Helper()
	return c.post(t, store+"/memories", object{"path": path, "content": content})
}

// text returns a field that is a string.
func text(t *testing.T, o object, name string) string {
	t.Helper()
	s, ok := o[name].(string)
	if !ok {
		t.Fatalf("%s is %v in %v; want a string", name, o[name], o)
	}
	return s
}

// moment returns a field that is a time in UTC.
func moment(t *testing.T, o object, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text(t, o, name))
	if err != nil || at.Location() != time.UTC {
		t.Fatalf("%s is %v; want a time in UTC", name, o[name])
	}
	return at
}

// items returns the data of a page.
func items(t *testing.T, page object) (list []object) {
	t.Helper()
	data, ok := page["data"].([]any)
	if !ok {
		t.Fatalf("no data in %v", page)
	}
	for _, item := range data {
		list = append(list, item.(object))
	}
	return list
}

// column returns one field of each item.
func column(list []object, name string) (values []any) {
	for _, item := range list {
		values = append(values, item[name])
	}
	return values
}

// pages follows a listing to its end, and returns its items. No page may be empty
// but the only one.
func (c *caller) pages(t *testing.T, path string, most int) (all []object) {
	t.Helper()
	page := c.get(t, path)
	for {
		keys(t, page, "data", "next_page")
		list := items(t, page)
		all = append(all, list...)
		if len(list) > most {
			t.Fatalf("%s: a page of %d items; want at most %d", path, len(list), most)
		}
		if page["next_page"] == nil {
			return all
		}
		if len(list) == 0 {
			t.Fatalf("%s: an empty page with next_page", path)
		}
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		page = c.get(t, path+sep+"page="+text(t, page, "next_page"))
	}
}

// keys checks that an object has exactly these fields.
func keys(t *testing.T, o object, names ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, n := range names {
		want[n] = true
	}
	got := map[string]bool{}
	for n := range o {
		got[n] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// same checks that a value is what it should be. Numbers are float64.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}
