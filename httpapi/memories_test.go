package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"memento"
	"memento/backend/apikey"
)

var memoryFields = []string{
	"id", "type", "memory_store_id", "memory_version_id", "path", "content", "content_sha256", "content_size_bytes",
	"created_at", "updated_at", "read_at",
}

const (
	hashOfOne   = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
	hashOfEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// ifHash is a precondition.
func ifHash(hash any) object { return object{"type": "content_sha256", "content_sha256": hash} }

// The wire reference's example of one memory's life, step by step.
func TestMemoryLife(t *testing.T) {
	s := newSite(t, writersRedact)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	memories := store + "/memories"

	one := c.post(t, memories, object{"path": "/a.md", "content": "one"})
	keys(t, one, memoryFields...)
	id := text(t, one, "id")
	for name, want := range (object{
		"type": "memory", "memory_store_id": strings.TrimPrefix(store, stores+"/"), "path": "/a.md", "content": nil,
		"content_sha256": hashOfOne, "content_size_bytes": 3., "updated_at": one["created_at"], "read_at": nil,
	}) {
		same(t, name, one[name], want)
	}
	if !strings.HasPrefix(id, "mem_") || !strings.HasPrefix(text(t, one, "memory_version_id"), "memver_") {
		t.Errorf("IDs are %s and %v", id, one["memory_version_id"])
	}

	taken := c.do(t, http.MethodPost, memories, object{"path": "/a.md", "content": "one"}).fails(t, 409, pathConflict)
	same(t, "conflicting_memory_id", taken["conflicting_memory_id"], id)
	same(t, "conflicting_path", taken["conflicting_path"], "/a.md")

	memory := memories + "/" + id
	toTwo := object{"content": "two", "precondition": ifHash(hashOfOne)}
	two := c.post(t, memory, toTwo)
	keys(t, two, memoryFields...)
	if two["memory_version_id"] == one["memory_version_id"] || !moment(t, two, "updated_at").After(moment(t, one, "updated_at")) {
		t.Errorf("made %v, then %v", one, two)
	}
	for _, name := range []string{"id", "path", "created_at", "content"} {
		same(t, name, two[name], one[name])
	}
	same(t, "the same update again", c.post(t, memory, toTwo), two)

	failure := c.do(t, http.MethodPost, memory, object{"content": "three", "precondition": ifHash(hashOfOne)}).fails(t, 409, precondition)
	if failure["conflicting_memory_id"] != nil || failure["conflicting_path"] != nil {
		t.Errorf("a precondition that fails has %v", failure)
	}
	same(t, "an empty update", c.post(t, memory, object{}), two)
	same(t, "an update without a body", c.post(t, memory, nil), two)
	c.do(t, http.MethodDelete, memory+"?expected_content_sha256="+hashOfOne, nil).fails(t, 409, precondition)
	got := c.get(t, memory)
	keys(t, got, memoryFields...)
	same(t, "content", got["content"], "two")

	same(t, "answer to delete", c.delete(t, memory), object{"id": id, "type": "memory_deleted"})
	c.do(t, http.MethodGet, memory, nil).fails(t, 404, notFound, "not found")
	c.do(t, http.MethodDelete, memory, nil).fails(t, 404, notFound)
	c.do(t, http.MethodPost, memory, object{"content": "x"}).fails(t, 404, notFound)

	versions := items(t, c.get(t, store+"/memory_versions?memory_id="+id))
	same(t, "operations", column(versions, "operation"), []any{"deleted", "modified", "created"})
	same(t, "the version of the creation", versions[2]["id"], one["memory_version_id"])
	same(t, "the version of the update", versions[1]["id"], two["memory_version_id"])
	redacted := c.post(t, store+"/memory_versions/"+text(t, one, "memory_version_id")+"/redact", nil)
	for _, name := range []string{"content", "content_sha256", "content_size_bytes", "path"} {
		if v, ok := redacted[name]; !ok || v != nil {
			t.Errorf("%s of a redacted version is %v", name, v)
		}
	}
}

func TestContents(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	memories := store + "/memories"
	for i, content := range []string{
		"", "\n", "a\r\nb\n", "\x00\x1f\x7f", "no newline at the end", "e\u0301 and \u00e9", "\ufeff", "\u2028\u2029", "😀", "\ufffd", `"\/<>&`,
		strings.Repeat("x", 102_400), strings.Repeat("é", 51_200),
	} {
		path := fmt.Sprintf("/%d", i)
		made := c.post(t, memories+"?view=full", object{"path": path, "content": content})
		same(t, "content", made["content"], content)
		same(t, "content_sha256", made["content_sha256"], memento.HashContent(content))
		same(t, "content_size_bytes", made["content_size_bytes"], float64(len(content)))
		same(t, "content of "+path, c.get(t, memories+"/"+text(t, made, "id"))["content"], content)
	}

	// Null is empty where something new is made, and what it was where something is changed.
	null := c.post(t, memories+"?view=full", object{"path": "/null", "content": nil})
	same(t, "content", null["content"], "")
	same(t, "content_sha256", null["content_sha256"], hashOfEmpty)
	memory := memories + "/" + text(t, null, "id")
	c.post(t, memory, object{"content": "some", "path": nil, "precondition": nil})
	same(t, "content", c.post(t, memory+"?view=full", object{"content": nil, "path": nil, "precondition": nil})["content"], "some")

	for _, tt := range []struct {
		body any
		want string
	}{
		{object{"path": "/x"}, "content: field required"},
		{object{"content": "x"}, "path: field required"},
		{object{"content": "x", "path": nil}, "path: field required"},
		{nil, "path: field required"},
		{object{"path": "/x", "content": strings.Repeat("x", 102_401)}, "memory_bytes"},
		{object{"path": "/x", "content": "x" + strings.Repeat("é", 51_200)}, "memory_bytes"},
		{object{"path": "/x", "content": 5}, "content: must be a string, not number"},
		{object{"path": "/x", "content": []string{"x"}}, "content: must be a string, not array"},
		{object{"path": 5, "content": "x"}, "path: must be a string, not number"},
		{object{"path": "/x", "content": "x", "precondition": ifHash(hashOfEmpty)}, "precondition: extra inputs are not permitted"},
		{"{\"path\":\"/x\",\"content\":\"\xff\"}", "UTF-8"},
		{`{"path":"/x","content":"\ud800"}`, "surrogate"},
		{`{"path":"/x","content":"\udc00\ud800"}`, "surrogate"},
		{`{"path":"/x","path":"/y","content":""}`, "path: must not be repeated"},
	} {
		c.do(t, http.MethodPost, memories, tt.body).fails(t, 400, invalidRequest, tt.want)
	}
	for _, tt := range []struct {
		body any
		want string
	}{
		{object{"content": strings.Repeat("x", 102_401)}, "memory_bytes"},
		{object{"contents": "x"}, "contents: extra inputs are not permitted"},
		{object{"content": true}, "content: must be a string, not bool"},
		{`{"content":"\uD800"}`, "surrogate"},
	} {
		before := c.get(t, memory)
		c.do(t, http.MethodPost, memory, tt.body).fails(t, 400, invalidRequest, tt.want)
		same(t, "the memory after a refusal", c.get(t, memory)["memory_version_id"], before["memory_version_id"])
	}
	same(t, "paths", len(items(t, c.get(t, memories+"?limit=100"))), 14)
}

func TestPaths(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	memories := store + "/memories"
	memory := memories + "/" + text(t, c.put(t, store, "/here", ""), "id")
	longest := "/" + strings.Repeat("é", 511) + "x"
	if len(longest) != 1024 {
		t.Fatal(len(longest))
	}
	for _, path := range []string{
		"", "/", "a.md", "//a", "/a/", "/a//b", "/./a", "/a/..", "/..", "/.", "/a/../b", "/a\x00b", "/a\nb", "/a\tb", "/a\x7f", "/a\u0085b",
		"/a\u200bb", "/a\u200eb", "/a\u2028b", "/a\u2029b", "/\ufeffa", "/e\u0301", "/\u212b", longest + "y", "/" + strings.Repeat("a/", 512), "memories", " /a",
	} {
		failure := c.do(t, http.MethodPost, memories, object{"path": path, "content": ""}).fails(t, 400, invalidRequest, "path: ")
		same(t, "code", failure["code"], "invalid_path")
		c.do(t, http.MethodPost, memory, object{"path": path}).fails(t, 400, invalidRequest, "path: ")
		c.do(t, http.MethodGet, memories+"/by-path?path="+url.QueryEscape(path), nil).fails(t, 400, invalidRequest, "path: ")
	}
	for _, path := range []string{"/…", "/a b", "/A", "/a", "/.hidden", "/dir/.hidden/x", longest, "/\u00e9", "/%2e%2e", `/a\b`, "/node_modules/x", "/ ", "/-", "/...", "/日本語.md"} {
		made := c.put(t, store, path, path)
		same(t, "path", made["path"], path)
		same(t, "the memory at "+path, c.get(t, memories+"/by-path?path="+url.QueryEscape(path))["id"], made["id"])
		same(t, "moved there and back", c.post(t, memories+"/"+text(t, made, "id"), object{"path": "/elsewhere"})["path"], "/elsewhere")
		same(t, "path", c.post(t, memories+"/"+text(t, made, "id"), object{"path": path})["path"], path)
	}
}

// A path is a memory or a directory, and taken but once.
func TestPathConflicts(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	memories := store + "/memories"
	file := c.put(t, store, "/a", "in the way")
	below := c.put(t, store, "/d/e/f", "below")
	moving := memories + "/" + text(t, c.put(t, store, "/moving", "text"), "id")
	for _, tt := range []struct {
		path string
		with object
		code string
	}{
		{"/a", file, "exist"},
		{"/a/b", file, "not_dir"},
		{"/a/b/c", file, "not_dir"},
		{"/d", below, "is_dir"},
		{"/d/e", below, "is_dir"},
		{"/d/e/f", below, "exist"},
	} {
		for what, r := range map[string]*reply{
			"create": c.do(t, http.MethodPost, memories, object{"path": tt.path, "content": ""}),
			"rename": c.do(t, http.MethodPost, moving, object{"path": tt.path, "content": "new"}),
		} {
			failure := r.fails(t, 409, pathConflict)
			same(t, what+" to "+tt.path+": conflicting_memory_id", failure["conflicting_memory_id"], tt.with["id"])
			same(t, what+" to "+tt.path+": conflicting_path", failure["conflicting_path"], tt.with["path"])
			if what == "create" { // for a move, all that exists is the same
				same(t, "code of "+tt.path, failure["code"], tt.code)
			}
		}
	}
	same(t, "what did not move", c.get(t, moving)["content"], "text")

	// A stale precondition is told before a path that is taken,
	c.do(t, http.MethodPost, moving, object{"path": "/a", "precondition": ifHash(hashOfOne)}).fails(t, 409, precondition)
	// and one that holds is about the memory, not about where it goes.
	c.do(t, http.MethodPost, moving, object{"path": "/a", "precondition": ifHash(memento.HashContent("text"))}).fails(t, 409, pathConflict)
	moved := c.post(t, moving, object{"path": "/d/e/g", "precondition": ifHash(memento.HashContent("text"))})
	same(t, "path", moved["path"], "/d/e/g")
	// A path that was left is free.
	c.put(t, store, "/moving", "another")
}

func TestUpdates(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	made := c.put(t, store, "/a", "one")
	memory := store + "/memories/" + text(t, made, "id")
	versions := func() []object {
		t.Helper()
		return items(t, c.get(t, store+"/memory_versions?view=full&memory_id="+text(t, made, "id")))
	}

	// A rename keeps the ID, and a rename with new contents is one version.
	renamed := c.post(t, memory+"?view=full", object{"path": "/b"})
	same(t, "id", renamed["id"], made["id"])
	same(t, "path", renamed["path"], "/b")
	same(t, "content", renamed["content"], "one")
	same(t, "created_at", renamed["created_at"], made["created_at"])
	both := c.post(t, memory+"?view=full", object{"path": "/c/d", "content": "two", "precondition": ifHash(hashOfOne)})
	same(t, "content", both["content"], "two")
	same(t, "content_sha256", both["content_sha256"], memento.HashContent("two"))
	list := versions()
	same(t, "paths", column(list, "path"), []any{"/c/d", "/b", "/a"})
	same(t, "contents", column(list, "content"), []any{"two", "one", "one"})
	same(t, "operations", column(list, "operation"), []any{"modified", "modified", "created"})
	same(t, "the newest version", list[0]["id"], both["memory_version_id"])

	// What is so already makes no version and moves no time, even if the
	// precondition does not hold any more, as when an answer was lost.
	for _, body := range []object{
		{"content": "two"}, {"path": "/c/d"}, {"path": "/c/d", "content": "two"}, {"precondition": ifHash(memento.HashContent("two"))},
		{"path": "/c/d", "content": "two", "precondition": ifHash(hashOfOne)},
		{"content": "two", "precondition": ifHash(hashOfOne)}, {"path": "/c/d", "precondition": ifHash(hashOfOne)},
	} {
		same(t, fmt.Sprintf("after %v", body), c.post(t, memory+"?view=full", body), both)
	}
	for _, body := range []object{
		{"precondition": ifHash(hashOfOne)}, {"content": "", "precondition": ifHash(hashOfOne)},
		{"path": "/c/d", "content": "one", "precondition": ifHash(hashOfOne)}, {"path": "/b", "content": "two", "precondition": ifHash(hashOfOne)},
	} {
		c.do(t, http.MethodPost, memory, body).fails(t, 409, precondition)
	}
	same(t, "versions", len(versions()), 3)

	for body, want := range map[string]string{
		`{"precondition":{}}`:                                                                              `precondition.type: must be "content_sha256"`,
		`{"precondition":{"type":"content_sha256"}}`:                                                       "precondition.content_sha256: field required",
		`{"precondition":{"type":"content_sha256","content_sha256":null}}`:                                 "precondition.content_sha256: field required",
		`{"precondition":{"content_sha256":"` + hashOfOne + `"}}`:                                          "precondition.type",
		`{"precondition":{"type":"etag","content_sha256":"` + hashOfOne + `"}}`:                            "precondition.type",
		`{"precondition":{"type":5,"content_sha256":"` + hashOfOne + `"}}`:                                 "precondition.type: must be a string, not number",
		`{"precondition":{"type":"content_sha256","content_sha256":"` + hashOfOne[1:] + `"}}`:              "precondition.content_sha256: must be the 64",
		`{"precondition":{"type":"content_sha256","content_sha256":"` + hashOfOne + `0"}}`:                 "precondition.content_sha256",
		`{"precondition":{"type":"content_sha256","content_sha256":""}}`:                                   "precondition.content_sha256",
		`{"precondition":{"type":"content_sha256","content_sha256":"` + strings.ToUpper(hashOfOne) + `"}}`: "precondition.content_sha256",
		`{"precondition":{"type":"content_sha256","content_sha256":7}}`:                                    "precondition.content_sha256: must be a string, not number",
		`{"precondition":{"type":"content_sha256","sha256":"` + hashOfOne + `"}}`:                          "precondition.sha256: extra inputs are not permitted",
		`{"precondition":"` + hashOfOne + `"}`:                                                             "precondition: must be an object",
		`{"preconditions":null}`:                                                                           "preconditions: extra inputs are not permitted",
	} {
		c.do(t, http.MethodPost, memory, body).fails(t, 400, invalidRequest, want)
	}

	// PATCH is how older SDKs update.
	patched := c.do(t, http.MethodPatch, memory, object{"content": "three", "precondition": ifHash(memento.HashContent("two"))}).ok(t)
	same(t, "content_sha256", patched["content_sha256"], memento.HashContent("three"))
	c.do(t, http.MethodPatch, memory, object{"content": "four", "precondition": ifHash(hashOfOne)}).fails(t, 409, precondition)

	for hash, want := range map[string]string{
		"":                         "expected_content_sha256: must be the 64",
		"x":                        "expected_content_sha256: must be the 64",
		hashOfOne[1:]:              "expected_content_sha256",
		strings.ToUpper(hashOfOne): "expected_content_sha256",
		hashOfOne + "&expected_content_sha256=" + hashOfOne: "must not be repeated",
	} {
		c.do(t, http.MethodDelete, memory+"?expected_content_sha256="+hash, nil).fails(t, 400, invalidRequest, want)
	}
	c.do(t, http.MethodDelete, memory+"?expected_content_sha256="+hashOfEmpty, nil).fails(t, 409, precondition)
	c.delete(t, memory+"?expected_content_sha256="+memento.HashContent("three"))
}

// What a view shows, and what it is if nobody says.
func TestViews(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	memories := store + "/memories"
	n := 0
	create := func(query string) object {
		n++
		return c.post(t, memories+query, object{"path": fmt.Sprintf("/%d", n), "content": "text"})
	}
	made := create("")
	memory := memories + "/" + text(t, made, "id")
	version := store + "/memory_versions/" + text(t, made, "memory_version_id")
	first := func(path string) func(string) object {
		return func(query string) object { return items(t, c.get(t, path+query))[0] }
	}
	for what, tt := range map[string]struct {
		do   func(query string) object
		full bool // by default
	}{
		"create":        {create, false},
		"update":        {func(q string) object { return c.post(t, memory+q, object{"content": "text"}) }, false},
		"retrieve":      {func(q string) object { return c.get(t, memory+q) }, true},
		"list":          {first(memories), false},
		"version":       {func(q string) object { return c.get(t, version+q) }, true},
		"list versions": {first(store + "/memory_versions"), false},
		"list, one level": {func(q string) object {
			return first(memories + "?depth=1&path_prefix=/")(strings.Replace(q, "?", "&", 1))
		}, false},
	} {
		for query, full := range map[string]bool{"": tt.full, "?view=": tt.full, "?view=basic": false, "?view=full": true, "?beta=true&view=full": true} {
			want := any(nil)
			if full {
				want = "text"
			}
			got := tt.do(query)
			content, there := got["content"]
			if content != want || !there || got["content_sha256"] != memento.HashContent("text") || got["content_size_bytes"] != 4. {
				t.Errorf("%s%s: %v; want content %v", what, query, got, want)
			}
		}
	}
	for _, path := range []string{memories, memory, version, store + "/memory_versions"} {
		for _, view := range []string{"all", "FULL", "full&view=full", "%ff"} {
			c.do(t, http.MethodGet, path+"?view="+view, nil).fails(t, 400, invalidRequest, "view")
		}
	}
	c.do(t, http.MethodPost, memories+"?view=x", object{"path": "/x", "content": ""}).fails(t, 400, invalidRequest, "view")
	c.do(t, http.MethodPost, memory+"?view=x", object{"content": "x"}).fails(t, 400, invalidRequest, "view")
	same(t, "content after refusals", c.get(t, memory)["content"], "text")
}

func TestMemoryListing(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	paths := func(list []object) []any { return column(list, "path") }

	t.Run("depth", func(t *testing.T) { // the wire reference's example
		store := c.newStore(t, "small")
		a := c.put(t, store, "/a.md", "a")
		x, y := c.put(t, store, "/n/x.md", "x"), c.put(t, store, "/n/y.md", "y")
		for query, want := range map[string][]any{
			"depth=1":                       {a, object{"type": "memory_prefix", "path": "/n/"}},
			"depth=1&path_prefix=/":         {a, object{"type": "memory_prefix", "path": "/n/"}},
			"path_prefix=/n/&depth=1":       {x, y},
			"path_prefix=%2Fn%2F":           {x, y},
			"depth=0":                       {a, x, y},
			"depth=":                        {a, x, y},
			"":                              {a, x, y},
			"path_prefix=/":                 {a, x, y},
			"path_prefix=/absent/":          {},
			"path_prefix=/a.md/":            {},
			"order_by=path&order=desc":      {a, x, y},
			"order_by=created_at&order=bad": {a, x, y},
		} {
			same(t, query, c.get(t, store+"/memories?"+query), object{"data": want, "next_page": nil})
		}
		same(t, "page by page", c.pages(t, store+"/memories?depth=1&limit=1", 1), []object{a, {"type": "memory_prefix", "path": "/n/"}})
		for query, want := range map[string]string{
			"path_prefix=/n":                  "path_prefix: must end in a slash",
			"path_prefix=n/":                  "path_prefix",
			"path_prefix=//":                  "path_prefix",
			"path_prefix=/n//":                "path_prefix",
			"path_prefix=/../":                "path_prefix",
			"path_prefix=/e%CC%81/":           "path_prefix",
			"path_prefix=/%00/":               "path_prefix",
			"path_prefix=/n/&path_prefix=/n/": "path_prefix: must not be repeated",
			"depth=2":                         "depth: must be a whole number from 0 to 1",
			"depth=-1":                        "depth",
			"depth=one":                       "depth",
			"limit=0":                         "limit: must be a whole number from 1 to 100",
			"limit=101":                       "limit",
			"limit=abc":                       "limit",
			"view=full&limit=101":             "limit",
			"page=page_bQA":                   "page", // m and NUL
			"page=page_bXg":                   "page", // mx
			"page=page_bQ":                    "page",
			"page=x":                          "page",
		} {
			c.do(t, http.MethodGet, store+"/memories?"+query, nil).fails(t, 400, invalidRequest, want)
		}
		// A cursor belongs to its listing.
		ofVersions := text(t, c.get(t, store+"/memory_versions?limit=1"), "next_page")
		c.do(t, http.MethodGet, store+"/memories?page="+ofVersions, nil).fails(t, 400, invalidRequest, "page: is not a cursor of this listing")
	})

	t.Run("order and pages", func(t *testing.T) {
		store := c.newStore(t, "large")
		var want []any
		for _, path := range []string{"/n.md", "/n/a", "/n-b", "/n0", "/N", "/é", "/😀", "/￿x", "/a b", "/a/b/c", "/a/b/d", "/a.b"} {
			c.put(t, store, path, path)
			want = append(want, path)
		}
		for i := range 60 {
			path := fmt.Sprintf("/many/%02d", i)
			c.put(t, store, path, "x")
			want = append(want, path)
		}
		slices.SortFunc(want, func(a, b any) int { return strings.Compare(a.(string), b.(string)) }) // by bytes
		for _, limit := range []int{1, 7, 20, 71, 72, 73, 100} {
			same(t, fmt.Sprintf("limit %d", limit), paths(c.pages(t, fmt.Sprintf("%s/memories?limit=%d", store, limit), limit)), want)
		}
		same(t, "by default", len(items(t, c.get(t, store+"/memories"))), 20)
		for _, limit := range []int{5, 20, 21, 100} { // with contents, a page has 20 at most
			list := c.pages(t, fmt.Sprintf("%s/memories?view=full&limit=%d", store, limit), min(limit, 20))
			same(t, "with contents", paths(list), want)
			same(t, "a content", list[0]["content"], list[0]["path"])
		}
		rolled := []any{"/N", "/a b", "/a.b", "/a/", "/many/", "/n-b", "/n.md", "/n/", "/n0", "/é", "/￿x", "/😀"}
		for _, limit := range []int{1, 2, 3, 5, 11, 12, 100} {
			same(t, "one level", paths(c.pages(t, fmt.Sprintf("%s/memories?depth=1&limit=%d", store, limit), limit)), rolled)
		}
		same(t, "two below", paths(c.pages(t, store+"/memories?depth=1&path_prefix=/a/", 20)), []any{"/a/b/"})
	})
}

// A listing has every memory that is there all the time, once, in order, whatever
// else is written meanwhile: for clients that keep copies, what is missing is gone.
func TestListingWhileOthersWrite(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "busy")
	var stay []any
	for i := range 50 {
		path := fmt.Sprintf("/%02d/stays", i)
		c.put(t, store, path, "x")
		stay = append(stay, path)
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				path := fmt.Sprintf("/%02d/%d", random.IntN(50), w)
				r, err := c.send(t, http.MethodPost, store+"/memories", object{"path": path, "content": "x"})
				if err == nil && r.status == http.StatusOK {
					_, err = c.send(t, http.MethodDelete, store+"/memories/"+r.body["id"].(string), nil)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 5 {
		for _, query := range []string{"limit=3", "limit=20&view=full", "depth=0&limit=100"} {
			list := column(c.pages(t, store+"/memories?"+query, 100), "path")
			if !slices.IsSortedFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) }) {
				t.Errorf("%s: not in order: %v", query, list)
			}
			if u := slices.Compact(slices.Clone(list)); len(u) != len(list) {
				t.Errorf("%s: something is there twice: %v", query, list)
			}
			list = slices.DeleteFunc(list, func(p any) bool { return !strings.HasSuffix(p.(string), "/stays") })
			same(t, query, list, stay)
		}
	}
	close(stop)
	all.Wait()
}

func TestMemoryByPath(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleRead)
	store := s.as("a", apikey.RoleWrite).newStore(t, "notes")
	w := s.as("a", apikey.RoleWrite)
	made := w.put(t, store, "/d/a b.md", "text")
	byPath := store + "/memories/by-path"
	got := c.get(t, byPath+"?path="+url.QueryEscape("/d/a b.md"))
	keys(t, got, memoryFields...)
	same(t, "id", got["id"], made["id"])
	same(t, "content", got["content"], "text")
	same(t, "content", c.get(t, byPath+"?view=basic&path=/d/a+b.md")["content"], nil)
	same(t, "code", c.do(t, http.MethodGet, byPath+"?path=/d", nil).fails(t, 404, notFound, "directory")["code"], "is_dir")
	same(t, "code", c.do(t, http.MethodGet, byPath+"?path=/x", nil).fails(t, 404, notFound)["code"], "not_exist")
	c.do(t, http.MethodGet, byPath, nil).fails(t, 400, invalidRequest, "path")
	c.do(t, http.MethodGet, byPath+"?path=/a&path=/b", nil).fails(t, 400, invalidRequest, "path: must not be repeated")
}

// Reading is noted, unless it is asked not to be.
func TestReads(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleRead)
	w := s.as("a", apikey.RoleWrite)
	store := w.newStore(t, "notes")
	made := w.put(t, store, "/a", "text")
	memory := store + "/memories/" + text(t, made, "id")
	unread := func() {
		t.Helper()
		if got := c.get(t, memory+"?peek=true"); got["read_at"] != nil {
			t.Errorf("read_at is %v", got["read_at"])
		}
	}
	c.get(t, store+"/memories?view=full")
	c.get(t, store+"/memories/by-path?path=/a&peek=true")
	w.post(t, memory, object{"content": "new"})
	unread()
	same(t, "reads", c.post(t, store+"/reads", object{"memory_ids": []string{}}), object{"type": "memory_reads", "marked": true})
	c.post(t, store+"/reads", nil)
	unread()
	c.post(t, store+"/reads", object{"memory_ids": []any{made["id"], "mem_unknown"}})
	if at := moment(t, c.get(t, memory+"?peek=true"), "read_at"); at.IsZero() {
		t.Error("not read")
	}
	c.get(t, memory)
	c.do(t, http.MethodPost, store+"/reads", object{"memory_ids": "mem_1"}).fails(t, 400, invalidRequest, "memory_ids: must be a list")
	c.do(t, http.MethodPost, store+"/reads", object{"memory_ids": []int{1}}).fails(t, 400, invalidRequest, "memory_ids")
	c.do(t, http.MethodPost, store+"/reads", object{"memory_ids": make([]string, 100_001)}).fails(t, 400, invalidRequest, "memory_ids: has 100001 entries")
	c.do(t, http.MethodGet, memory+"?peek=x", nil).fails(t, 400, invalidRequest, "peek")
}

// IDs of one store mean nothing in another.
func TestMemoriesOfOtherStores(t *testing.T) {
	s := newSite(t, writersRedact)
	c := s.as("a", apikey.RoleWrite)
	store, other := c.newStore(t, "mine"), c.newStore(t, "other")
	made := c.put(t, store, "/a.md", "text")
	id, version := text(t, made, "id"), text(t, made, "memory_version_id")
	for _, path := range []string{
		other + "/memories/" + id, store + "/memories/mem_1", store + "/memories/" + version, store + "/memories/x", store + "/memories/mem_%2F",
		store + "/memories/mem_" + strings.Repeat("x", 200),
	} {
		c.do(t, http.MethodGet, path, nil).fails(t, 404, notFound)
		c.do(t, http.MethodPost, path, object{"content": "x"}).fails(t, 404, notFound)
		c.do(t, http.MethodPatch, path, object{"content": "x"}).fails(t, 404, notFound)
		c.do(t, http.MethodDelete, path, nil).fails(t, 404, notFound)
	}
	for _, path := range []string{
		other + "/memory_versions/" + version, store + "/memory_versions/memver_1", store + "/memory_versions/" + id, store + "/memory_versions/x",
	} {
		c.do(t, http.MethodGet, path, nil).fails(t, 404, notFound)
		c.do(t, http.MethodPost, path+"/redact", nil).fails(t, 404, notFound)
		c.do(t, http.MethodPost, path+"/restore", nil).fails(t, 404, notFound)
	}
	same(t, "versions in another store", c.get(t, other+"/memory_versions?memory_id="+id), object{"data": []any{}, "next_page": nil})
	same(t, "content", c.get(t, store+"/memories/"+id)["content"], "text")
}

// What looks like a secret is replaced before it is written, and answers show what
// was written.
func TestRedactedContents(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	secret := "ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1"
	made := c.post(t, store+"/memories?view=full", object{"path": "/a.md", "content": "token " + secret})
	content := text(t, made, "content")
	if strings.Contains(content, secret) || !strings.Contains(content, "[REDACTED:") {
		t.Errorf("content is %q", content)
	}
	same(t, "content_sha256", made["content_sha256"], memento.HashContent(content))
	same(t, "content", c.get(t, store+"/memories/"+text(t, made, "id"))["content"], content)
	failure := c.do(t, http.MethodPost, store+"/memories", object{"path": "/" + secret, "content": ""}).fails(t, 400, invalidRequest)
	same(t, "code", failure["code"], "sensitive")
	if findings, _ := failure["findings"].([]any); len(findings) != 1 {
		t.Errorf("findings are %v", failure["findings"])
	}
}
