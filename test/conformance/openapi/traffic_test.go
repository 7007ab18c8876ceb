package openapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

const stores = "/v1/memory_stores"

// TestTraffic runs every operation, with every answer that a client can bring about.
func TestTraffic(t *testing.T) {
	s := newSite(t, nil)
	check := newChecker(t, loadDocument(t, s.url, true))
	admin, writer, reader := s.as(t, apikey.RoleAdmin, check), s.as(t, apikey.RoleWrite, check), s.as(t, apikey.RoleRead, check)

	t.Run("stores", func(t *testing.T) { runStores(t, admin, writer) })
	t.Run("memories", func(t *testing.T) { runMemories(t, admin, writer) })
	t.Run("versions", func(t *testing.T) { runVersions(t, admin, writer) })
	t.Run("tool", func(t *testing.T) { runTool(t, writer, reader) })
	t.Run("changes", func(t *testing.T) { runChanges(t, admin, check) })
	t.Run("workspace changes", func(t *testing.T) { runWorkspaceChanges(t, admin, check) })
	t.Run("copies", func(t *testing.T) { runCopies(t, admin, writer) })
	t.Run("keys", func(t *testing.T) { runKeys(t, admin) })
	admin.do(http.StatusOK, http.MethodGet, "/openapi.json", nil)
	t.Run("refusals", func(t *testing.T) { runRefusals(t, s, check) })

	check.want(http.StatusOK)
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict} {
		check.want(status, unreachable[status]...)
	}
}

// unreachable are operations whose answers need more than a client: a backend
// without some power, other processes, or a web page.
var unreachable = map[int][]string{
	http.StatusBadRequest: {"listKeys", "getKey"},
	http.StatusForbidden:  {"openAPI"},
	http.StatusConflict:   {"restoreStore", "undoChanges"},
}

func runStores(t *testing.T, admin, writer *caller) {
	full := object{
		"name": "full", "description": "of everything", "metadata": object{"a": "b"}, "unique_name": true,
		"limits": object{"memories": 10, "bytes": 1000},
		"settings": object{
			"sensitive": object{"mode": "mask", "personal": true, "instructions": "mark", "allow": []string{"a"}, "allow_patterns": []string{"b+"}, "allow_paths": []string{"/p"}},
			"expiry":    object{"after": "48h", "keep": []string{"/k"}},
			"retention": object{"age": "forever", "versions": 5},
			"read_only": []string{"/policies", "*.lock"},
		},
	}
	store := stores + "/" + id(t, admin.post(stores, full), "id")
	admin.do(http.StatusConflict, http.MethodPost, stores, full)
	admin.post(stores, object{"name": "null", "description": nil, "metadata": nil, "unique_name": nil, "limits": nil, "settings": nil})
	writer.do(http.StatusForbidden, http.MethodPost, stores, full)
	writer.do(http.StatusBadRequest, http.MethodPost, stores, object{"name": "x", "names": 1})
	writer.post(stores+"/by-name", object{"name": "user 7"})
	writer.post(stores+"/by-name", object{"name": "user 7"})
	writer.post(stores, object{"name": "user 7"})
	writer.do(http.StatusConflict, http.MethodPost, stores+"/by-name", object{"name": "user 7"})
	writer.do(http.StatusBadRequest, http.MethodPost, stores+"/by-name", object{"name": ""})

	page := admin.get(stores + "?limit=1&beta=true&include_archived=true&name=user+7&created_at%5Bgte%5D=2020-01-01T00:00:00Z&created_at%5Blte%5D=2120-01-01T00:00:00Z")
	admin.get(stores + "?limit=1&page=" + id(t, page, "next_page"))
	admin.get(stores + "?after=" + strings.TrimPrefix(store, stores+"/"))
	admin.do(http.StatusBadRequest, http.MethodGet, stores+"?limit=0", nil)

	described := admin.get(store)
	writer.post(store, object{"description": "new", "metadata": object{"a": nil, "b": "c"}})
	writer.post(store, nil)
	writer.post(store, object{"name": nil, "description": nil, "metadata": nil, "limits": nil, "settings": nil, "if_updated_at": nil})
	admin.do(http.StatusConflict, http.MethodPost, store, object{"if_updated_at": described["updated_at"]})
	admin.post(store, object{"settings": full["settings"], "limits": object{"path_depth": 3, "path_bytes": nil}})
	admin.do(http.StatusBadRequest, http.MethodPost, store, object{"name": ""})

	admin.get(store + "/settings")
	admin.post(store+"/settings", object{"settings": object{"retention": object{"versions": 1}, "read_only": nil}, "limits": object{"bytes": 10}})
	admin.post(store+"/settings", object{"settings": object{"read_only": []string{}}})
	admin.post(store+"/settings", nil)
	admin.do(http.StatusBadRequest, http.MethodPost, store+"/settings", object{"settings": object{"x": 1}})
	writer.post(store+"/memories", object{"path": "/near", "content": "123456789"})
	admin.get(store + "/usage")
	admin.get(store + "/usage/daily?days=3")
	admin.do(http.StatusBadRequest, http.MethodGet, store+"/usage/daily?days=0", nil)
	admin.post(store+"/settings", object{"settings": object{"expiry": object{"after": "24h"}}})
	admin.get(store + "/expiring")
	admin.do(http.StatusBadRequest, http.MethodGet, store+"/expiring?before=soon", nil)

	admin.post(store+"/archive", nil)
	admin.post(store+"/archive", "{}")
	admin.do(http.StatusBadRequest, http.MethodPost, store+"/archive", object{"x": 1})
	admin.get(store)
	admin.delete(store)
}

func runMemories(t *testing.T, admin, c *caller) {
	store := stores + "/" + id(t, c.post(stores, object{"name": "memories"}), "id")
	memories := store + "/memories"
	made := c.post(memories+"?view=full", object{"path": "/n/a.md", "content": "one"})
	c.post(memories, object{"path": "/empty", "content": nil})
	c.do(http.StatusConflict, http.MethodPost, memories, object{"path": "/n", "content": ""})
	c.do(http.StatusBadRequest, http.MethodPost, memories, object{"path": "n", "content": ""})
	c.do(http.StatusBadRequest, http.MethodPost, memories, object{"path": "/large", "content": strings.Repeat("x", 102_401)})
	c.do(http.StatusBadRequest, http.MethodPost, memories, object{"path": "/ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1", "content": ""})

	page := c.get(memories + "?depth=1&limit=1&order_by=path&order=asc")
	c.get(memories + "?depth=1&limit=1&page=" + id(t, page, "next_page"))
	c.get(memories + "?depth=0&view=full&path_prefix=/n/")
	c.get(memories + "?path_prefix=/")
	c.do(http.StatusBadRequest, http.MethodGet, memories+"?depth=2", nil)
	memory := memories + "/" + id(t, made, "id")
	c.get(memory)
	c.get(memory + "?view=basic&peek=true")
	c.do(http.StatusBadRequest, http.MethodGet, memory+"?view=x", nil)
	c.get(memories + "/by-path?path=/n/a.md")
	c.get(memories + "/by-path?peek=true&view=basic&path=/n/a.md")
	c.do(http.StatusBadRequest, http.MethodGet, memories+"/by-path", nil)
	c.do(http.StatusNotFound, http.MethodGet, memories+"/by-path?path=/n", nil)

	hash := func(of string) object {
		return object{"type": "content_sha256", "content_sha256": memento.HashContent(of)}
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch} {
		c.do(http.StatusOK, method, memory+"?view=full", object{"content": "two", "path": "/m", "precondition": hash("one")})
		c.do(http.StatusOK, method, memory, nil)
		c.do(http.StatusOK, method, memory, object{"content": nil, "path": nil, "precondition": nil})
		c.do(http.StatusConflict, method, memory, object{"content": "three", "precondition": hash("one")})
		c.do(http.StatusConflict, method, memory, object{"path": "/empty"})
		c.do(http.StatusBadRequest, method, memory, object{"precondition": object{}})
	}
	c.do(http.StatusConflict, http.MethodDelete, memory+"?expected_content_sha256="+memento.HashContent("x"), nil)
	c.do(http.StatusBadRequest, http.MethodDelete, memory+"?expected_content_sha256=x", nil)
	c.post(store+"/reads", object{"memory_ids": []string{id(t, made, "id"), "mem_unknown"}})
	c.post(store+"/reads", nil)
	c.do(http.StatusBadRequest, http.MethodPost, store+"/reads", object{"ids": nil})
	c.get(memory)
	admin.do(http.StatusOK, http.MethodDelete, memory+"?expected_content_sha256="+memento.HashContent("two"), nil)

	c.get(store + "/search?query=empty&limit=5")
	c.post(memories, object{"path": "/found", "content": "two words\nare found"})
	c.get(store + "/search?query=words&path_prefix=/")
	c.post(memories, object{"path": "/words/found", "content": "others"}) // found by its path only
	page = c.get(store + "/search?query=which+words%3F&limit=1&match=any")
	c.get(store + "/search?query=which+words%3F&limit=1&page=" + id(t, page, "next_page"))
	c.get(store + "/search?query=words+found&match=all")
	c.do(http.StatusBadRequest, http.MethodGet, store+"/search?query=x&match=x", nil)
	c.do(http.StatusBadRequest, http.MethodGet, store+"/search?limit=x", nil)
}

func runVersions(t *testing.T, admin, c *caller) {
	store := stores + "/" + id(t, c.post(stores, object{"name": "versions"}), "id")
	versions := store + "/memory_versions"
	made := c.post(store+"/memories", object{"path": "/a", "content": "one"})
	memory := store + "/memories/" + id(t, made, "id")
	for i, actor := range []string{"session/sesn_1", "user/ana", "service_account/svac_1", "system/expiry"} {
		admin.with("Memento-Actor", actor).post(memory, object{"content": fmt.Sprint(i)})
	}
	page := c.get(versions + "?limit=3&view=full&memory_id=" + id(t, made, "id"))
	c.get(versions + "?limit=3&view=full&memory_id=" + id(t, made, "id") + "&page=" + id(t, page, "next_page"))
	c.get(versions + "?operation=modified&session_id=sesn_1&created_at[gte]=2020-01-01T00:00:00%2B02:00&created_at[lte]=2120-01-01T00:00:00Z")
	for _, filter := range []string{"api_key_id=a", "service_account_id=a", "user_id=a"} {
		c.get(versions + "?" + filter)
	}
	c.do(http.StatusBadRequest, http.MethodGet, versions+"?operation=x", nil)
	first := versions + "/" + id(t, made, "memory_version_id")
	c.get(first)
	c.get(first + "?view=basic")
	c.do(http.StatusBadRequest, http.MethodGet, first+"?view=x", nil)
	c.post(first+"/restore", nil)
	c.do(http.StatusBadRequest, http.MethodPost, first+"/restore", object{"x": 1})
	then := time.Now().UTC().Format(time.RFC3339Nano)
	c.delete(memory)
	c.get(versions + "?operation=deleted&view=full")
	c.post(store+"/memories", object{"path": "/a/b", "content": ""})
	c.do(http.StatusConflict, http.MethodPost, first+"/restore", nil)
	c.post(store+"/restore", object{"as_of": then, "dry_run": true})
	c.post(store+"/restore", object{"as_of": then})
	c.do(http.StatusBadRequest, http.MethodPost, store+"/restore", nil)
	c.post(store+"/undo", object{"session_id": "sesn_1", "since": then, "dry_run": true})
	c.post(store+"/undo", object{"actor": object{"kind": "user", "id": "ana"}, "since": then, "until": then})
	c.do(http.StatusBadRequest, http.MethodPost, store+"/undo", object{"since": then})

	admin.with("Memento-Actor", "session/sesn_1").post(first+"/redact", nil)
	admin.post(first+"/redact", "{}")
	admin.do(http.StatusBadRequest, http.MethodPost, first+"/redact", object{"x": 1})
	c.get(first)
	newest := versions + "/" + id(t, c.get(versions + "?limit=1")["data"].([]any)[0].(object), "id")
	admin.do(http.StatusBadRequest, http.MethodPost, newest+"/redact", nil)

	before := "9999-12-31T00:00:00Z"
	admin.post(store+"/prune", object{"before": before, "keep": 2, "memory_id": "mem_1", "dry_run": true})
	admin.post(store+"/prune", object{"before": before, "keep": nil})
	admin.do(http.StatusBadRequest, http.MethodPost, store+"/prune", nil)
}

func runTool(t *testing.T, c, reader *caller) {
	store := stores + "/" + id(t, c.post(stores, object{"name": "tool"}), "id")
	tool := store + "/tool"
	create := object{"command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\n"}
	use := object{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": create, "caller": object{"type": "direct"}}
	c.post(tool, use)
	c.post(tool+"?session_id=sesn_1", use)
	c.post(tool, object{"command": "view", "path": "/memories/a.md", "view_range": []int{1, -1}, "session_id": "sesn_1"})
	c.post(tool, []any{
		use, object{"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": nil},
		object{"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "zero"},
	})
	c.post(tool, object{"session_id": "sesn_1", "calls": []any{
		object{"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"}, object{"command": "delete", "path": "/memories/b.md"},
	}})
	c.do(http.StatusBadRequest, http.MethodPost, tool, nil)
	reader.post(tool, create)
}

func runChanges(t *testing.T, c *caller, check *checker) {
	store := stores + "/" + id(t, c.post(stores, object{"name": "changes"}), "id")
	changes := store + "/changes"
	made := c.post(changes, object{"changes": []object{
		{"type": "put", "path": "/d/a", "content": "ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1", "if": object{"type": "absent"}},
		{"type": "put", "path": "/b", "content": "b", "if": nil},
		{"type": "move", "from": "/d", "path": "/e"},
		{"type": "move", "from": "/b", "path": "/c", "content": "c", "if": object{"type": "content_sha256", "content_sha256": memento.HashContent("b")}},
	}})
	version := made["versions"].([]any)[0].(object)
	c.do(http.StatusConflict, http.MethodPost, changes, object{"changes": []object{
		{"type": "remove", "path": "/e/a", "if": object{"type": "memory_version", "memory_version_id": id(t, version, "id") + "x"}},
	}})
	c.do(http.StatusConflict, http.MethodPost, changes, object{"changes": []object{{"type": "put", "path": "/e", "content": ""}}})
	c.do(http.StatusBadRequest, http.MethodPost, changes, object{"changes": []object{{"type": "write"}}})
	c.post(changes, object{"changes": nil})
	c.post(changes, nil)
	c.do(http.StatusBadRequest, http.MethodGet, changes+"?after=x", nil)

	// A stream ends with its store; the whole of it is looked at then.
	events := c.follow(check, changes+"?view=full&after=0", func(name string, events map[string]int) bool {
		if name == "memory_version" && events[name] == 4 {
			c.delete(store)
		}
		return false
	})
	if events["memory_version"] != 4 || events["memory_store.deleted"] != 1 || len(events) != 2 {
		t.Errorf("the stream had the events %v", events)
	}
}

// runWorkspaceChanges follows all stores: a stream that does not end by itself.
func runWorkspaceChanges(t *testing.T, c *caller, check *checker) {
	newStore := func() string {
		store := stores + "/" + id(t, c.post(stores, object{"name": "followed"}), "id")
		c.post(store+"/memories", object{"path": "/a", "content": "a"})
		return store
	}
	store, later := newStore(), ""
	events := c.follow(check, stores+"/changes?recent=1&view=full", func(name string, events map[string]int) bool {
		switch {
		case name == "" && later == "": // connected
			later = newStore()
		case name == "memory_version" && events[name] == 2:
			c.delete(store)
		}
		return name == "memory_store.deleted"
	})
	if events["memory_version"] != 2 || events["memory_store"] != 2 || events["memory_store.deleted"] != 1 || len(events) != 3 {
		t.Errorf("the stream had the events %v", events)
	}
	c.delete(later)
	c.do(http.StatusBadRequest, http.MethodGet, stores+"/changes?recent=x", nil)
}

// follow reads a stream of events to its end, or until enough returns true, and checks each
// event and the whole. enough is called with the name of each event, or "" for a comment, and
// with how many events of each name there were.
func (c *caller) follow(check *checker, path string, enough func(name string, events map[string]int) bool) map[string]int {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("x-api-key", c.key)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	events := map[string]int{}
	name, ended := "", false
	lines := bufio.NewScanner(io.TeeReader(response.Body, &text))
	for !ended && lines.Scan() {
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "":
			if value != "" {
				ended = enough("", events)
			}
		case "event":
			name = value
			events[name]++
		case "data":
			schema := map[string]string{"memory_version": "Version", "memory_store": "Store", "memory_store.deleted": "StoreDeleted"}[name]
			if err := check.conforms(schema, []byte(value)); err != nil {
				c.t.Errorf("event %s: %s: %v", name, value, err)
			}
			ended = enough(name, events)
		}
	}
	if lines.Err() != nil {
		c.t.Error(lines.Err())
	}
	if err := check.check(r, nil, response, text.Bytes()); err != nil {
		c.t.Errorf("the stream: %v", err)
	}
	return events
}

func runCopies(t *testing.T, admin, writer *caller) {
	newStore := func(name string) string {
		return stores + "/" + id(t, writer.post(stores, object{"name": name}), "id")
	}
	from := newStore("from")
	writer.post(from+"/tool", object{"command": "create", "path": "/memories/d/a", "file_text": "one"})
	writer.post(from+"/tool", object{"command": "create", "path": "/memories/b", "file_text": "ghp_nothing"})
	writer.post(from+"/tool", object{"command": "delete", "path": "/memories/b"})

	writer.do(http.StatusOK, http.MethodGet, from+"/entries?contents=true", nil)
	writer.do(http.StatusOK, http.MethodGet, from+"/entries?depth=1&brief=true&limit=1", nil)
	writer.do(http.StatusOK, http.MethodGet, from+"/entries?path_prefix=/d/&after=/d/", nil)
	writer.do(http.StatusBadRequest, http.MethodGet, from+"/entries?depth=x", nil)
	writer.do(http.StatusOK, http.MethodGet, from+"/history?memory_id=mem_1&path=/d&operation=created&actor_kind=session&actor_id=x&created_at[gte]=2020-01-01T00:00:00Z&created_at[lte]=2120-01-01T00:00:00Z&after=1&limit=1", nil)
	writer.do(http.StatusBadRequest, http.MethodGet, from+"/history?limit=x", nil)
	_, history := writer.do(http.StatusOK, http.MethodGet, from+"/history?contents=true&oldest_first=true", nil)

	to := newStore("to")
	ndjson := admin.with("Content-Type", "application/x-ndjson")
	ndjson.post(to+"/history", history)
	ndjson.do(http.StatusConflict, http.MethodPost, to+"/history", history)
	ndjson.do(http.StatusBadRequest, http.MethodPost, to+"/history", "{}")

	_, archive := writer.do(http.StatusOK, http.MethodGet, from+"/export", nil)
	_, contents := writer.do(http.StatusOK, http.MethodGet, from+"/export?contents_only=true", nil)
	writer.do(http.StatusBadRequest, http.MethodGet, from+"/export?contents_only=x", nil)
	gz := admin.with("Content-Type", "application/gzip")
	gz.post(newStore("imported")+"/import", archive)
	gz.do(http.StatusConflict, http.MethodPost, to+"/import", archive)
	gz.do(http.StatusConflict, http.MethodPost, to+"/import?contents_only=true", contents)
	gz.post(to+"/import?contents_only=true&overwrite=true", contents)
	gz.do(http.StatusBadRequest, http.MethodPost, to+"/import", "x")
}

func runKeys(t *testing.T, admin *caller) {
	const keys = "/v1/admin/keys"
	admin.get("/v1/whoami")
	made := admin.post(keys, object{"name": "app", "role": "write", "expires_at": "2120-01-01T00:00:00+01:00"})
	hash := func(secret string) string { return memento.HashContent(secret) }
	secret := apikey.NewSecret()
	own := object{"name": "own", "role": "read", "id": "apikey_own", "key_sha256": hash(secret), "hint": secret[len(secret)-4:], "expires_at": nil}
	admin.post(keys, own)
	admin.do(http.StatusConflict, http.MethodPost, keys, own)
	admin.do(http.StatusBadRequest, http.MethodPost, keys, object{"name": "app", "role": "owner"})
	admin.get(keys)
	key := keys + "/" + id(t, made, "id")
	admin.get(key)
	admin.post(key+"/rotate", nil)
	admin.post(keys+"/apikey_own/rotate", object{"grace_seconds": 5, "id": "apikey_next", "key_sha256": hash("another"), "hint": nil})
	admin.do(http.StatusConflict, http.MethodPost, keys+"/apikey_next/rotate", object{"id": "apikey_next", "key_sha256": hash("yet another")})
	admin.do(http.StatusBadRequest, http.MethodPost, key+"/rotate", object{"grace_seconds": -1})
	admin.post(key+"/revoke", nil)
	admin.post(key+"/revoke", "{}")
	admin.do(http.StatusBadRequest, http.MethodPost, key+"/revoke", object{"x": 1})
	admin.get(key)
	admin.get(keys)
}

// operations calls f for each operation of the document, with a path of its own.
func (c *checker) operations(f func(method, path string)) {
	replace := strings.NewReplacer("{store}", "memstore_1", "{memory}", "mem_1", "{version}", "memver_1", "{key}", "apikey_1")
	for path, item := range c.document.Paths.Map() {
		for method := range item.Operations() {
			f(method, replace.Replace(path))
		}
	}
}

// runRefusals asks everybody for everything.
func runRefusals(t *testing.T, s *site, check *checker) {
	nobody := &caller{t: t, url: s.url, checker: check}
	admin := s.as(t, apikey.RoleAdmin, check)
	strict := newSite(t, func(o *httpapi.Options) { o.StrictBetas = true })
	strictly := strict.as(t, apikey.RoleAdmin, check)
	check.operations(func(method, path string) {
		if path == "/openapi.json" {
			return
		}
		nobody.do(http.StatusUnauthorized, method, path, nil)
		admin.with("anthropic-workspace-id", "another").do(http.StatusForbidden, method, path, nil)
		if strings.Contains(path, "_1") {
			admin.do(http.StatusNotFound, method, strings.ReplaceAll(path, "by-path", "by-path?path=/a"), nil)
		}
		if path == stores+"/changes" {
			path += "?recent=x" // without a mistake it would not end
		}
		strictly.send(method, path)
	})
	admin.do(http.StatusNotFound, http.MethodGet, "/v1/nothing", nil)
	admin.do(http.StatusMethodNotAllowed, http.MethodPut, stores, nil)
}

// send sends a request whose status may be any that is documented.
func (c *caller) send(method, path string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("x-api-key", c.key)
	if response, err := c.checker.RoundTrip(r); err != nil {
		c.t.Error(err)
	} else {
		response.Body.Close()
	}
}

// An authenticator that lets nobody in, for a reason that is the server's.
type broken struct{ err error }

func (b broken) Authenticate(context.Context, string) (httpapi.Principal, error) {
	return httpapi.Principal{}, b.err
}

// TestTrouble has every operation answer that it cannot, for the reasons that are
// not the request's.
func TestTrouble(t *testing.T) {
	document := loadDocument(t, newSite(t, nil).url, true)
	everything := func(s *site, key string, status int, except ...string) {
		t.Helper()
		check := newChecker(t, document)
		c := &caller{t: t, url: s.url, key: key, checker: check}
		check.operations(func(method, path string) {
			if path != "/openapi.json" {
				c.do(status, method, path, nil)
			}
		})
		check.want(status, append(except, "openAPI")...)
	}
	for status, err := range map[int]error{
		http.StatusInternalServerError: errors.New("no idea"),
		http.StatusGatewayTimeout:      context.DeadlineExceeded,
		529:                            memento.ErrClosed,
	} {
		everything(newSite(t, func(o *httpapi.Options) { o.Auth = broken{err} }), "key", status)
	}

	limited := newSite(t, func(o *httpapi.Options) { o.Rate = httpapi.Rate{Reads: 0.1, Writes: 0.1, Burst: 1} })
	key := limited.key(t, apikey.RoleAdmin)
	c := &caller{t: t, url: limited.url, key: key, checker: newChecker(t, document)}
	c.send(http.MethodGet, stores)
	c.send(http.MethodPost, stores)
	everything(limited, key, http.StatusTooManyRequests)

	small := newSite(t, func(o *httpapi.Options) { o.MaxBody, o.MaxImport = 10, 10 })
	check := newChecker(t, document)
	c = small.as(t, apikey.RoleAdmin, check)
	check.tooLarge(small, c)
}

// tooLarge sends every operation that has a body one that is too large.
func (c *checker) tooLarge(s *site, from *caller) {
	backend, ctx := s.backend, from.t.Context()
	info, err := backend.CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{Name: "small", Settings: &memento.Settings{
		Sensitive: memento.Sensitive{Mode: memento.Off}, Retention: memento.DefaultSettings().Retention,
	}})
	if err != nil {
		from.t.Fatal(err)
	}
	done, err := backend.Apply(ctx, info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: ""}})
	if err != nil {
		from.t.Fatal(err)
	}
	whoami := from.get("/v1/whoami")
	replace := strings.NewReplacer("{store}", string(info.ID), "{memory}", string(done.Versions[0].Memory),
		"{version}", string(done.Versions[0].ID), "{key}", url.PathEscape(whoami["id"].(string)))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte("longer than what may come")); err != nil || z.Close() != nil {
		from.t.Fatal(err)
	}
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			switch body := operation.RequestBody; {
			case body == nil:
			case body.Value.Content["application/gzip"] != nil:
				from.do(http.StatusRequestEntityTooLarge, method, replace.Replace(path), zipped.String())
			default: // more than any of them may have
				from.do(http.StatusRequestEntityTooLarge, method, replace.Replace(path), object{"name": strings.Repeat("x", 400)})
			}
		}
	}
	c.want(http.StatusRequestEntityTooLarge)
}
