package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

// A world is a workspace with a store in it, so that there is something to ask every
// endpoint for.
type world struct {
	site      *site
	workspace memento.Workspace
	by        map[apikey.Role]*caller
	before    time.Time // when the store held less

	ids             // of what there is
	imported []byte // an archive of another store
}

// ids name one thing of each kind.
type ids struct{ store, memory, version, key string }

var roles = []apikey.Role{apikey.RoleRead, apikey.RoleWrite, apikey.RoleAdmin}

// canary is in the contents, the paths, the names and the metadata of a world.
func (w *world) canary() string { return "canary-of-" + string(w.workspace) }

func newWorld(s *site, ws memento.Workspace) *world {
	t := s.t
	t.Helper()
	w := &world{site: s, workspace: ws, by: map[apikey.Role]*caller{}}
	for _, r := range roles {
		w.by[r] = s.as(ws, r)
	}
	admin := w.by[apikey.RoleAdmin]
	w.key = s.as(ws, apikey.RoleRead).keyID

	other := admin.newStore(t, "copied from")
	admin.put(t, other, "/imported.md", "imported")
	w.imported = admin.do(t, http.MethodGet, other+"/export", nil).text
	admin.delete(t, other)

	made := admin.post(t, stores, object{"name": w.canary(), "description": w.canary(), "metadata": object{"m": w.canary()}})
	w.store = text(t, made, "id")
	path := stores + "/" + w.store
	m := admin.put(t, path, "/"+w.canary()+".md", "first "+w.canary())
	w.memory, w.version = text(t, m, "id"), text(t, m, "memory_version_id")
	w.before = s.clock.tick()
	admin.post(t, path+"/memories/"+w.memory, object{"content": "second " + w.canary()})
	return w
}

// A question is a request to an endpoint that there is an answer to.
type question struct {
	query   string
	body    any
	changes bool // whether something is different afterwards
}

// question returns one for an endpoint.
func (w *world) question(e httpapi.Endpoint) question {
	const store, memory, version, key = "/v1/memory_stores/{store}", "/memories/{memory}", "/memory_versions/{version}", "/v1/admin/keys"
	path := "/" + w.canary() + ".md"
	sum := memento.HashContent("copied")
	history := fmt.Sprintf(`{"type":"memory_version","id":"memver_copied","memory_id":"mem_copied","operation":"created","path":"/copied.md",`+
		`"content":"copied","content_sha256":%q,"content_size_bytes":6,"created_at":"2026-01-01T00:00:00Z"}`+"\n"+`{"type":"end"}`+"\n", sum)
	q, ok := map[string]question{
		"POST /v1/memory_stores":              {body: object{"name": "new"}, changes: true},
		"GET /v1/memory_stores":               {},
		"GET " + store:                        {},
		"POST " + store:                       {body: object{"description": "other"}, changes: true},
		"DELETE " + store:                     {changes: true},
		"POST " + store + "/archive":          {changes: true},
		"POST " + store + "/memories":         {body: object{"path": "/new.md", "content": "new"}, changes: true},
		"GET " + store + "/memories":          {query: "view=full"},
		"GET " + store + memory:               {},
		"POST " + store + memory:              {body: object{"content": "third"}, changes: true},
		"PATCH " + store + memory:             {body: object{"path": "/moved.md"}, changes: true},
		"DELETE " + store + memory:            {changes: true},
		"GET " + store + "/memory_versions":   {query: "view=full"},
		"GET " + store + version:              {},
		"POST " + store + version + "/redact": {changes: true},

		"POST /v1/memory_stores/by-name":       {body: object{"name": "by name"}, changes: true},
		"GET /v1/memory_stores/changes":        {query: "recent=10&view=full"},
		"GET " + store + "/settings":           {},
		"POST " + store + "/settings":          {body: object{"settings": object{"read_only": []string{"/kept.md"}}}, changes: true},
		"GET " + store + "/usage":              {},
		"GET " + store + "/usage/daily":        {},
		"GET " + store + "/expiring":           {query: "before=9999-01-01T00:00:00Z"},
		"POST " + store + "/tool":              {body: object{"command": "view", "path": "/memories" + path}},
		"GET " + store + "/search":             {query: "query=canary"},
		"GET " + store + "/changes":            {query: "after=0&view=full"},
		"POST " + store + "/changes":           {body: object{"changes": []object{{"type": "put", "path": path, "content": "third"}}}, changes: true},
		"GET " + store + "/memories/by-path":   {query: "path=" + path},
		"POST " + store + version + "/restore": {changes: true},
		"POST " + store + "/restore":           {body: object{"as_of": w.before}, changes: true},
		"POST " + store + "/undo":              {body: object{"since": "2000-01-01T00:00:00Z", "actor": object{"kind": "api_key", "id": w.by[apikey.RoleAdmin].keyID}}, changes: true},
		"GET " + store + "/export":             {},
		"POST " + store + "/import":            {query: "contents_only=true", body: w.imported, changes: true},
		"GET " + store + "/entries":            {query: "contents=true"},
		"GET " + store + "/history":            {query: "contents=true"},
		"POST " + store + "/history":           {body: history, changes: true},
		"POST " + store + "/prune":             {body: object{"before": "9999-12-31T00:00:00Z"}, changes: true},
		"POST " + store + "/reads":             {body: object{"memory_ids": []string{w.memory}}},

		"GET /v1/whoami":                {},
		"GET " + key:                    {},
		"POST " + key:                   {body: object{"name": "new", "role": "admin"}, changes: true},
		"GET " + key + "/{key}":         {},
		"POST " + key + "/{key}/revoke": {changes: true},
		"POST " + key + "/{key}/rotate": {changes: true},
		"GET /openapi.json":             {},
	}[e.Method+" "+e.Pattern]
	if !ok {
		w.site.t.Fatalf("no question for %s %s: add one", e.Method, e.Pattern)
	}
	return q
}

// path is where an endpoint is for some IDs.
func (i ids) path(e httpapi.Endpoint) string {
	return strings.NewReplacer("{store}", i.store, "{memory}", i.memory, "{version}", i.version, "{key}", i.key).Replace(e.Pattern)
}

// ask puts the question of an endpoint, about some IDs. Of a stream it reads the
// first line.
func (w *world) ask(c *caller, e httpapi.Endpoint, about ids) *reply {
	t := w.site.t
	t.Helper()
	q := w.question(e)
	path := about.path(e)
	if q.query != "" {
		path += "?" + q.query
	}
	return c.knock(t, e.Method, path, q.body)
}

// knock is do, but of a stream of events it reads no more than the first line.
func (c *caller) knock(t *testing.T, method, path string, body any) *reply {
	t.Helper()
	if method != http.MethodGet || !strings.Contains(path, "/changes") {
		return c.do(t, method, path, body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.key != "" {
		request.Header.Set("x-api-key", c.key)
	}
	for i := 0; i < len(c.headers); i += 2 {
		request.Header.Add(c.headers[i], c.headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r := &reply{request: method + " " + path, status: response.StatusCode, header: response.Header}
	if response.StatusCode == http.StatusOK {
		r.text, err = bufio.NewReader(response.Body).ReadBytes('\n')
	} else if r.text, err = io.ReadAll(response.Body); err == nil {
		err = json.Unmarshal(r.text, &r.body)
	}
	if err != nil {
		t.Fatalf("%s: %d %q: %v", r.request, r.status, r.text, err)
	}
	return r
}

// state is all that a workspace holds, except when it was last read or used.
func (s *site) state(ws memento.Workspace) string {
	t := s.t
	t.Helper()
	var all []any
	keep := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for info, err := range s.backend.ListStores(t.Context(), ws, memento.StoreListOptions{IncludeArchived: true}) {
		keep(info, err)
		for e, err := range s.backend.List(t.Context(), info.ID, memento.ListOptions{Dir: memento.Root, Contents: true}) {
			e.Memory.ReadAt = time.Time{}
			keep(e, err)
		}
		for v, err := range s.backend.ListVersions(t.Context(), info.ID, memento.VersionListOptions{Contents: true}) {
			keep(v, err)
		}
	}
	for k, err := range s.backend.ListKeys(t.Context(), ws) {
		k.UsedAt = time.Time{}
		keep(k, err)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// without is the body of an answer without its request ID, which is never the same.
func (r *reply) without() string {
	id := r.header.Get("request-id")
	return string(bytes.ReplaceAll(r.text, []byte(id), []byte("req_")))
}

// names are the header's fields, except those that package http adds.
func (r *reply) names() map[string]bool {
	set := map[string]bool{}
	for name := range r.header {
		if name != "Date" && name != "Content-Length" && name != "Connection" {
			set[name] = true
		}
	}
	return set
}
