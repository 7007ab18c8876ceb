package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/httpapi"
)

// nowhere are requests to what there is not, which without a key look like others.
var nowhere = []httpapi.Endpoint{
	{Method: "GET", Pattern: "/"},
	{Method: "GET", Pattern: "/v1/nothing"},
	{Method: "PUT", Pattern: "/v1/memory_stores"},
	{Method: "POST", Pattern: "/openapi.json"},
	{Method: "GET", Pattern: "/v1//memory_stores"},
	{Method: "OPTIONS", Pattern: "/v1/memory_stores/{store}"},
	{Method: "DELETE", Pattern: "/healthz"},
}

// Without a key that is valid nobody hears anything but that: not whether there is
// such an endpoint, or such a store.
func TestUnauthenticated(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	admin := w.by[apikey.RoleAdmin]
	revoked, expired := s.as("acme", apikey.RoleAdmin), s.as("acme", apikey.RoleAdmin)
	admin.post(t, "/v1/admin/keys/"+revoked.keyID+"/revoke", nil)
	if _, err := s.backend.UpdateKey(t.Context(), "acme", memento.KeyID(expired.keyID), apikey.Update{ExpiresAt: s.clock.time()}); err != nil {
		t.Fatal(err)
	}
	const required, invalid = "a key is required: send it as x-api-key, or as Authorization: Bearer", "invalid key"
	last := admin.key[len(admin.key)-1]
	for _, tt := range []struct {
		name    string
		headers []string
		message string
	}{
		{"nothing", nil, required},
		{"another scheme", []string{"Authorization", "Basic YTpi"}, required},
		{"no token", []string{"Authorization", "Bearer"}, required},
		{"an empty token", []string{"Authorization", "Bearer   "}, required},
		{"no scheme", []string{"Authorization", admin.key}, required},
		{"a key of nobody", []string{"x-api-key", apikey.NewSecret()}, invalid},
		{"a token of nobody", []string{"Authorization", "Bearer " + apikey.NewSecret()}, invalid},
		{"a word", []string{"x-api-key", "letmein"}, invalid},
		{"the prefix", []string{"x-api-key", apikey.SecretPrefix}, invalid},
		{"a key except its last character", []string{"x-api-key", admin.key[:len(admin.key)-1] + string('A'+(last-'A'+1)%26)}, invalid},
		{"a key without its last character", []string{"x-api-key", admin.key[:len(admin.key)-1]}, invalid},
		{"a key and more", []string{"x-api-key", admin.key + "A"}, invalid},
		{"a key in capitals", []string{"x-api-key", strings.ToUpper(admin.key)}, invalid},
		{"the ID of a key", []string{"x-api-key", admin.keyID}, invalid},
		{"a long key", []string{"x-api-key", apikey.SecretPrefix + strings.Repeat("A", 16<<10)}, invalid},
		{"a revoked key", []string{"x-api-key", revoked.key}, invalid},
		{"a key that has ended", []string{"x-api-key", expired.key}, invalid},
		{"a wrong key before a right token", []string{"x-api-key", apikey.NewSecret(), "Authorization", "Bearer " + admin.key}, invalid},
		{"two keys", []string{"x-api-key", admin.key, "x-api-key", admin.key}, "several keys were sent; send one"},
		{"two tokens", []string{"Authorization", "Bearer " + admin.key, "Authorization", "Bearer " + admin.key}, "several keys were sent; send one"},
		{"a key of its own workspace", []string{"x-api-key", apikey.NewSecret(), "anthropic-workspace-id", "acme"}, invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nobody := (&caller{url: s.url}).with(tt.headers...)
			before := s.state("acme")
			for _, e := range append(httpapi.Endpoints(), nowhere...) {
				if e.Role == "" && e.Pattern == "/openapi.json" && e.Method == "GET" {
					if r := nobody.do(t, e.Method, e.Pattern, nil); r.status != http.StatusOK {
						t.Errorf("%s: %d", r.request, r.status)
					}
					continue
				}
				var body any
				if e.Role != "" {
					body = w.question(e).body
				}
				r := nobody.do(t, e.Method, w.ids.path(e), body)
				r.fails(t, http.StatusUnauthorized, "authentication_error")
				want := fmt.Sprintf(`{"type":"error","error":{"type":"authentication_error","message":%q},"request_id":"req_"}`+"\n", tt.message)
				if got := r.without(); got != want {
					t.Errorf("%s: %s; want %s", r.request, got, want)
				}
				if diff := cmp.Diff(map[string]bool{"Content-Type": true, "Request-Id": true, "X-Content-Type-Options": true, "Cache-Control": true, "Www-Authenticate": true}, r.names()); diff != "" {
					t.Errorf("%s: header (-want +got):\n%s", r.request, diff)
				}
			}
			if diff := cmp.Diff(before, s.state("acme")); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
		})
	}
}

// What a role does not allow is refused, and leaves nothing behind; what only reads
// leaves nothing behind either.
func TestRoles(t *testing.T) {
	s := newSite(t, nil)
	n := 0
	for _, e := range httpapi.Endpoints() {
		for _, role := range roles {
			n++
			w := newWorld(s, memento.Workspace(fmt.Sprint("w", n)))
			before := s.state(w.workspace)
			r := w.ask(w.by[role], e, w.ids)
			changed := before != s.state(w.workspace)
			switch {
			case e.Role != "" && !role.Allows(e.Role):
				r.fails(t, http.StatusForbidden, noAccess, "the role "+string(e.Role))
				if changed {
					t.Errorf("%s as %s: refused, and did something", r.request, role)
				}
			case r.status != http.StatusOK:
				t.Errorf("%s as %s: %d %s", r.request, role, r.status, r.text)
			case changed != w.question(e).changes:
				t.Errorf("%s as %s: something changed: %v", r.request, role, changed)
			}
		}
	}
}

// Some requests need more than their endpoint does.
func TestRolesOfFields(t *testing.T) {
	const store = "/v1/memory_stores/{store}"
	create := object{"command": "create", "path": "/memories/new.md", "file_text": "x"}
	for _, tt := range []struct {
		method, path string
		body         any
		headers      []string
		needs        apikey.Role
	}{
		{"POST", stores, object{"name": "a", "limits": object{"memories": 5}}, nil, apikey.RoleAdmin},
		{"POST", stores, object{"name": "a", "settings": object{"sensitive": object{"mode": "off"}}}, nil, apikey.RoleAdmin},
		{"POST", stores + "/by-name", object{"name": "a", "limits": object{"memories": 5}}, nil, apikey.RoleAdmin},
		{"POST", stores + "/by-name", object{"name": "a", "settings": object{"read_only": []string{"/**"}}}, nil, apikey.RoleAdmin},
		{"POST", store, object{"limits": object{"memories": 5}}, nil, apikey.RoleAdmin},
		{"POST", store, object{"settings": object{"sensitive": object{"mode": "off"}}}, nil, apikey.RoleAdmin},
		{"POST", store + "/import", nil, nil, apikey.RoleAdmin},
		{"POST", store + "/import?contents_only=false", nil, nil, apikey.RoleAdmin},
		{"POST", store + "/memories", object{"path": "/new.md", "content": ""}, []string{"Memento-Actor", "session/sesn_1"}, apikey.RoleWrite},
		{"POST", store + "/memories", object{"path": "/new.md", "content": ""}, []string{"Memento-Actor", "user/ann"}, apikey.RoleAdmin},
		{"POST", store + "/memories", object{"path": "/new.md", "content": ""}, []string{"Memento-Actor", "api_key/apikey_1"}, apikey.RoleAdmin},
		{"POST", store + "/memories", object{"path": "/new.md", "content": ""}, []string{"Memento-Actor", "service_account/x"}, apikey.RoleAdmin},
		{"POST", store + "/memories", object{"path": "/new.md", "content": ""}, []string{"Memento-Actor", "system/"}, apikey.RoleAdmin},
		{"POST", store + "/memories", object{"path": "/new.md", "content": ""}, []string{"Memento-Actor", "/"}, apikey.RoleAdmin},
		{"POST", store + "/tool", create, []string{"Memento-Actor", "user/ann"}, apikey.RoleAdmin},
		{"POST", store + "/changes", object{"changes": []object{}}, []string{"Memento-Actor", "user/ann"}, apikey.RoleAdmin},
		{"DELETE", store + "/memories/{memory}", nil, []string{"Memento-Actor", "user/ann"}, apikey.RoleAdmin},
		{"POST", store + "/memory_versions/{version}/redact", nil, []string{"Memento-Actor", "user/ann"}, apikey.RoleAdmin},
		{"POST", store + "/memory_versions/{version}/restore", nil, []string{"Memento-Actor", "user/ann"}, apikey.RoleAdmin},
	} {
		s := newSite(t, nil)
		w := newWorld(s, "acme")
		for _, role := range roles {
			before := s.state("acme")
			r := w.by[role].with(tt.headers...).do(t, tt.method, w.ids.path(httpapi.Endpoint{Pattern: tt.path}), tt.body)
			switch allowed := role.Allows(tt.needs); {
			case allowed == (r.status == http.StatusForbidden):
				t.Errorf("%s with %v as %s: %d %s", r.request, tt.headers, role, r.status, r.text)
			case !allowed && before != s.state("acme"):
				t.Errorf("%s as %s: refused, and did something", r.request, role)
			}
		}
	}
}

// A key that reads may let an agent look, and nothing else.
func TestToolOfReader(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	before := s.state("acme")
	path := stores + "/" + w.store + "/tool"
	file := "/memories/" + w.canary() + ".md"
	for _, input := range []object{
		{"command": "create", "path": "/memories/new.md", "file_text": "x"},
		{"command": "str_replace", "path": file, "old_str": "second", "new_str": "third"},
		{"command": "insert", "path": file, "insert_line": 0, "insert_text": "x"},
		{"command": "delete", "path": file},
		{"command": "rename", "old_path": file, "new_path": "/memories/moved.md"},
	} {
		got := w.by[apikey.RoleRead].post(t, path, object{"calls": []object{input, {"command": "view", "path": file}}, "session_id": "sesn_1"})
		results, _ := got["content"].([]any)
		if len(results) != 2 || results[0].(object)["is_error"] != true || results[1].(object)["is_error"] == true ||
			!strings.Contains(results[1].(object)["content"].(string), "second "+w.canary()) {
			t.Errorf("%v: %v", input, got)
		}
	}
	if diff := cmp.Diff(before, s.state("acme")); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

// What is another workspace's looks, to every endpoint and every role, like what
// never was.
func TestIsolation(t *testing.T) {
	s := newSite(t, nil)
	theirs, own := newWorld(s, "acme"), newWorld(s, "rival")
	never := ids{
		store:   string(backend.NewStoreID(s.clock.time())),
		memory:  string(backend.NewMemoryID(s.clock.time())),
		version: string(backend.NewVersionID(s.clock.time(), 7)),
		key:     string(apikey.NewID(s.clock.time())),
	}
	// What others have open is not open to all.
	theirs.by[apikey.RoleRead].get(t, stores+"/"+theirs.store+"/memories")
	theirState, ownState := s.state("acme"), s.state("rival")

	for _, e := range httpapi.Endpoints() {
		type pair struct{ foreign, none ids }
		var pairs []pair
		if strings.Contains(e.Pattern, "{store}") {
			pairs = append(pairs, pair{theirs.ids, never}, pair{ids{store: theirs.store, memory: own.memory, version: own.version}, ids{store: never.store, memory: own.memory, version: own.version}})
		}
		if strings.Contains(e.Pattern, "{memory}") || strings.Contains(e.Pattern, "{version}") {
			pairs = append(pairs, pair{ids{store: own.store, memory: theirs.memory, version: theirs.version}, ids{store: own.store, memory: never.memory, version: never.version}})
		}
		if strings.Contains(e.Pattern, "{key}") {
			pairs = append(pairs, pair{theirs.ids, never})
		}
		for _, p := range pairs {
			for _, role := range roles {
				if !role.Allows(e.Role) {
					continue
				}
				foreign, none := own.ask(own.by[role], e, p.foreign), own.ask(own.by[role], e, p.none)
				foreign.fails(t, http.StatusNotFound, notFound)
				if diff := cmp.Diff(none.without(), foreign.without()); diff != "" || none.status != foreign.status {
					t.Errorf("%s as %s: what is foreign is not like what is not (-none +foreign):\n%s", foreign.request, role, diff)
				}
				if diff := cmp.Diff(none.names(), foreign.names()); diff != "" {
					t.Errorf("%s: header (-none +foreign):\n%s", foreign.request, diff)
				}
			}
		}
	}
	if diff := cmp.Diff(theirState, s.state("acme")); diff != "" {
		t.Errorf("something of theirs changed:\n%s", diff)
	}
	if diff := cmp.Diff(ownState, s.state("rival")); diff != "" {
		t.Errorf("something of their own changed:\n%s", diff)
	}
}

// What is asked for by something else than a path has nothing of another workspace
// either, and foreign IDs and cursors in it are like those that never were.
func TestIsolationOfAnswers(t *testing.T) {
	s := newSite(t, nil)
	theirs, own := newWorld(s, "acme"), newWorld(s, "rival")
	admin := own.by[apikey.RoleAdmin]
	never := ids{store: string(backend.NewStoreID(s.clock.time())), memory: string(backend.NewMemoryID(s.clock.time())), version: string(backend.NewVersionID(s.clock.time(), 7))}
	store := stores + "/" + own.store
	for _, e := range httpapi.Endpoints() {
		r := own.ask(own.by[apikey.RoleAdmin], e, own.ids)
		for _, secret := range []string{theirs.canary(), theirs.store, theirs.memory, theirs.version, theirs.key, "acme"} {
			if strings.Contains(string(r.text), secret) || strings.Contains(fmt.Sprint(r.header), secret) {
				t.Errorf("%s: has %s in it: %s", r.request, secret, r.text)
			}
		}
		if e.Method == "DELETE" || strings.HasSuffix(e.Pattern, "/archive") {
			own = newWorld(s, "rival")
			store = stores + "/" + own.store
		}
	}
	cursor := func(w *world, id string) string { // of a listing of stores, after one
		page := w.by[apikey.RoleAdmin].get(t, stores+"?limit=1")
		next, ok := page["next_page"].(string)
		if !ok {
			w.by[apikey.RoleAdmin].newStore(t, "one more")
			next = text(t, w.by[apikey.RoleAdmin].get(t, stores+"?limit=1"), "next_page")
		}
		return next
	}
	for _, tt := range []struct {
		method, path string
		body         func(ids) any
	}{
		{"GET", "/memory_versions?memory_id={memory}", nil},
		{"GET", "/history?memory_id={memory}", nil},
		{"GET", "/search?query=" + theirs.canary(), nil},
		{"GET", "/memories/by-path?path=/" + theirs.canary() + ".md", nil},
		{"POST", "/reads", func(i ids) any { return object{"memory_ids": []string{i.memory}} }},
		{"POST", "/prune", func(i ids) any { return object{"before": "2000-01-01T00:00:00Z", "memory_id": i.memory} }},
		{"POST", "/changes", func(i ids) any {
			return object{"changes": []object{{"type": "put", "path": "/a.md", "content": "x", "if": object{"type": "memory_version", "memory_version_id": i.version}}}}
		}},
	} {
		about := func(i ids) *reply {
			var body any
			if tt.body != nil {
				body = tt.body(i)
			}
			path := strings.NewReplacer("{memory}", i.memory).Replace(tt.path)
			return admin.do(t, tt.method, store+path, body)
		}
		foreign, none := about(theirs.ids), about(never)
		if foreign.status != none.status || foreign.without() != none.without() {
			t.Errorf("%s: %d %s; of what is not: %d %s", foreign.request, foreign.status, foreign.text, none.status, none.text)
		}
		if strings.Contains(strings.ReplaceAll(string(foreign.text), theirs.canary()+".md", ""), theirs.canary()) {
			t.Errorf("%s: %s", foreign.request, foreign.text)
		}
	}
	for _, item := range items(t, admin.get(t, stores+"?page="+cursor(theirs, theirs.store))) {
		if strings.Contains(fmt.Sprint(item), "acme") {
			t.Errorf("after a foreign cursor: %v", item)
		}
	}
	if got := admin.get(t, stores+"?name="+theirs.canary()); len(items(t, got)) != 0 {
		t.Errorf("by a foreign name: %v", got)
	}
	// A name is unique in a workspace, and says nothing about others.
	made := admin.post(t, stores+"/by-name", object{"name": theirs.canary()})
	if made["id"] == theirs.store {
		t.Error("a foreign store was found by its name")
	}
	admin.post(t, stores, object{"name": "second of " + theirs.canary(), "unique_name": true})
}

// A request that names a workspace is meant for that one only.
func TestWorkspaceHeader(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	newWorld(s, "rival")
	reader := w.by[apikey.RoleRead]
	for value, allowed := range map[string]bool{"acme": true, "rival": false, "nowhere": false, "ACME": false, "acme ": true, "": true} {
		r := reader.with("anthropic-workspace-id", value).do(t, "GET", "/v1/whoami", nil)
		if !allowed {
			r.fails(t, http.StatusForbidden, noAccess, "another workspace")
		} else if r.status != http.StatusOK || r.body["workspace_id"] != "acme" {
			t.Errorf("%q: %d %s", value, r.status, r.text)
		}
		if got := r.header.Get("anthropic-workspace-id"); got != "acme" {
			t.Errorf("%q: the answer is of workspace %q", value, got)
		}
	}
	foreign := reader.with("anthropic-workspace-id", "rival").do(t, "GET", stores+"/"+w.store, nil)
	foreign.fails(t, http.StatusForbidden, noAccess)
}

// Who makes a change is the key's holder, or whom they may speak for.
func TestActors(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	store := stores + "/" + w.store
	long := strings.Repeat("x", 256)
	n := 0
	for _, tt := range []struct {
		role   apikey.Role
		values []string // of the header
		want   object   // nil if it is refused
	}{
		{apikey.RoleWrite, nil, object{"type": "api_actor", "api_key_id": w.by[apikey.RoleWrite].keyID}},
		{apikey.RoleWrite, []string{"session/sesn_1"}, object{"type": "session_actor", "session_id": "sesn_1"}},
		{apikey.RoleWrite, []string{"session/a%2Fb%20%C3%A9/c"}, object{"type": "session_actor", "session_id": "a/b é/c"}},
		{apikey.RoleWrite, []string{"session/" + long}, object{"type": "session_actor", "session_id": long}},
		{apikey.RoleWrite, []string{"session/" + long + "x"}, nil},
		{apikey.RoleWrite, []string{"session/"}, nil},
		{apikey.RoleWrite, []string{"session"}, nil},
		{apikey.RoleWrite, []string{" "}, nil},
		{apikey.RoleWrite, []string{"session/%zz"}, nil},
		{apikey.RoleWrite, []string{"session/%0a"}, nil},
		{apikey.RoleWrite, []string{"session/%00"}, nil},
		{apikey.RoleWrite, []string{"session/%c2%85"}, nil},
		{apikey.RoleWrite, []string{"session/%ff"}, nil},
		{apikey.RoleWrite, []string{"session/a%e2%80%aeb"}, nil},
		{apikey.RoleAdmin, []string{"session/a%e2%80%a8b"}, nil},
		{apikey.RoleWrite, []string{"Session/sesn_1"}, nil},
		{apikey.RoleWrite, []string{"session/sesn_1", "session/sesn_2"}, nil},
		{apikey.RoleWrite, []string{"user/ann"}, nil},
		{apikey.RoleAdmin, []string{"user/ann"}, object{"type": "user_actor", "user_id": "ann"}},
		{apikey.RoleAdmin, []string{"system/"}, object{"type": "system_actor"}},
		{apikey.RoleAdmin, []string{"/"}, nil}, // which is said as null
		{apikey.RoleAdmin, []string{"robot/7"}, nil},
		{apikey.RoleAdmin, []string{"user/%ff"}, nil},
		{apikey.RoleAdmin, []string{strings.Repeat("k", 33) + "/7"}, nil},
		{apikey.RoleAdmin, []string{`a"b/7`}, nil},
	} {
		n++
		c := w.by[tt.role]
		for _, v := range tt.values {
			c = c.with("Memento-Actor", v)
		}
		r := c.do(t, "POST", store+"/memories", object{"path": fmt.Sprintf("/%d.md", n), "content": ""})
		if tt.want == nil && len(tt.values) == 1 && tt.values[0] == "/" {
			if by := w.made(r)["created_by"]; by != nil {
				t.Errorf("%q: by %v", tt.values, by)
			}
			continue
		}
		if tt.want == nil {
			if r.status != http.StatusBadRequest && r.status != http.StatusForbidden {
				t.Errorf("%q as %s: %d %s", tt.values, tt.role, r.status, r.text)
			}
			continue
		}
		same(t, fmt.Sprint(tt.values), w.made(r)["created_by"], tt.want)
	}
	// A session that a tool call names comes before the header's.
	w.by[apikey.RoleWrite].with("Memento-Actor", "session/header").post(t, store+"/tool", object{"command": "create", "path": "/memories/tool.md", "file_text": "", "session_id": "body"})
	m := w.by[apikey.RoleRead].get(t, store+"/memories/by-path?path=/tool.md")
	v := w.by[apikey.RoleRead].get(t, store+"/memory_versions/"+text(t, m, "memory_version_id"))
	same(t, "the tool's actor", v["created_by"], object{"type": "session_actor", "session_id": "body"})
	same(t, "the tool's key", v["created_by_key_id"], any(w.by[apikey.RoleWrite].keyID))
}

// A version says with which key it was made on somebody's behalf. Only an admin can
// name another key.
func TestActorKeys(t *testing.T) {
	s := newSite(t, nil)
	w := newWorld(s, "acme")
	store := stores + "/" + w.store
	writer, admin, reader := w.by[apikey.RoleWrite], w.by[apikey.RoleAdmin], w.by[apikey.RoleRead]
	n := 0
	put := func(c *caller) *reply {
		n++
		return c.do(t, "POST", store+"/memories", object{"path": fmt.Sprintf("/key%d.md", n), "content": ""})
	}
	session := writer.with("Memento-Actor", "session/sesn_1")
	made := w.made(put(session))
	same(t, "the session's key", made["created_by_key_id"], any(writer.keyID))
	same(t, "the key's own", w.made(put(writer))["created_by_key_id"], nil)
	same(t, "a user's", w.made(put(admin.with("Memento-Actor", "user/ann")))["created_by_key_id"], any(admin.keyID))
	same(t, "another key's", w.made(put(admin.with("Memento-Actor", "api_key/apikey_1")))["created_by_key_id"], any(admin.keyID))
	copied := admin.with("Memento-Actor", "session/sesn_1").with("Memento-Actor-Key", "apikey%5F1")
	same(t, "a copy's", w.made(put(copied))["created_by_key_id"], any("apikey_1"))

	for _, c := range []*caller{session, writer} {
		put(c.with("Memento-Actor-Key", "apikey_1")).fails(t, 403, noAccess, "admin")
	}
	for _, bad := range []string{"%zz", "%ff", strings.Repeat("x", 257)} {
		put(copied.with("Memento-Actor-Key", bad)).fails(t, 400, invalidRequest, "Memento-Actor-Key")
	}

	same(t, "what came with the key", len(items(t, reader.get(t, store+"/memory_versions?created_by_key_id="+writer.keyID))), 2)
	same(t, "what a session did with it", len(items(t, reader.get(t, store+"/memory_versions?session_id=sesn_1&created_by_key_id="+writer.keyID))), 1)
	same(t, "its history", len(reader.lines(t, store+"/history?actor_key_id="+writer.keyID)), 2)

	other := w.made(put(writer))
	writer.post(t, store+"/memories/"+text(t, other, "memory_id"), object{"content": "new"})
	redacted := admin.with("Memento-Actor", "user/ann").post(t, store+"/memory_versions/"+text(t, other, "id")+"/redact", nil)
	same(t, "the redactor's key", redacted["redacted_by_key_id"], any(admin.keyID))
}

// made returns the version that a request has made.
func (w *world) made(r *reply) object {
	t := w.site.t
	t.Helper()
	return w.by[apikey.RoleRead].get(t, stores+"/"+w.store+"/memory_versions/"+text(t, r.ok(t), "memory_version_id"))
}

// Of two credentials the key counts.
func TestCredentials(t *testing.T) {
	s := newSite(t, nil)
	one, two := s.as("one", apikey.RoleRead), s.as("two", apikey.RoleRead)
	for _, tt := range []struct {
		headers []string
		want    memento.Workspace
	}{
		{[]string{"x-api-key", one.key}, "one"},
		{[]string{"X-API-KEY", one.key}, "one"},
		{[]string{"Authorization", "Bearer " + one.key}, "one"},
		{[]string{"Authorization", "bearer   " + one.key}, "one"},
		{[]string{"x-api-key", one.key, "Authorization", "Bearer " + one.key}, "one"},
		{[]string{"x-api-key", one.key, "Authorization", "Bearer " + two.key}, "one"},
		{[]string{"Authorization", "Bearer " + one.key, "x-api-key", two.key}, "two"},
		{[]string{"x-api-key", one.key, "Authorization", "Basic YTpi"}, "one"},
	} {
		who := (&caller{url: s.url}).with(tt.headers...).get(t, "/v1/whoami")
		if who["workspace_id"] != string(tt.want) {
			t.Errorf("%v: %v; want workspace %s", tt.headers, who, tt.want)
		}
	}
}

// A key that ends lets nobody in from that moment, however often it was used before.
func TestKeysEnd(t *testing.T) {
	s := newSite(t, nil)
	asks := func(c *caller) int { t.Helper(); return c.do(t, "GET", "/v1/whoami", nil).status }
	at := s.clock.time().Add(time.Hour)
	k, secret, err := apikey.New(memento.DefaultWorkspace, "for an hour", apikey.RoleRead, s.clock.time(), at)
	if err == nil {
		err = s.backend.AddKey(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	hourly := &caller{url: s.url, key: secret}
	s.clock.add(at.Sub(s.clock.time()) - time.Microsecond)
	if got := asks(hourly); got != http.StatusOK {
		t.Errorf("just before the end: %d", got)
	}
	s.clock.add(time.Microsecond)
	if got := asks(hourly); got != http.StatusUnauthorized {
		t.Errorf("at the end: %d", got)
	}

	revoked := s.as(memento.DefaultWorkspace, apikey.RoleAdmin)
	if got := asks(revoked); got != http.StatusOK {
		t.Errorf("before it is revoked: %d", got)
	}
	s.admin.post(t, "/v1/admin/keys/"+revoked.keyID+"/revoke", nil)
	if got := asks(revoked); got != http.StatusUnauthorized {
		t.Errorf("after it was revoked: %d", got)
	}

	// With a key that revokes itself the answer still comes.
	own := s.as(memento.DefaultWorkspace, apikey.RoleAdmin)
	own.post(t, "/v1/admin/keys/"+own.keyID+"/revoke", nil)
	if got := asks(own); got != http.StatusUnauthorized {
		t.Errorf("after it revoked itself: %d", got)
	}

	rotated := s.as(memento.DefaultWorkspace, apikey.RoleWrite)
	if got := asks(rotated); got != http.StatusOK {
		t.Errorf("before it is rotated: %d", got)
	}
	next := s.admin.post(t, "/v1/admin/keys/"+rotated.keyID+"/rotate", object{"grace_seconds": 60})
	for _, c := range []*caller{rotated, {url: s.url, key: text(t, next, "key")}} {
		if got := asks(c); got != http.StatusOK {
			t.Errorf("in the time of grace: %d", got)
		}
	}
	s.clock.add(time.Minute)
	if got := asks(rotated); got != http.StatusUnauthorized {
		t.Errorf("after the time of grace: %d", got)
	}
}
