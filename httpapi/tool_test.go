package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

// toolUse is a tool_use block.
func toolUse(id string, input any) object {
	return object{"type": "tool_use", "id": id, "name": "memory", "input": input}
}

// list returns the elements of an answer that is an array.
func (r *reply) list(t *testing.T) []any {
	t.Helper()
	var list []any
	if err := json.Unmarshal(r.text, &list); err != nil || r.status != http.StatusOK {
		t.Fatalf("%s: %d %s", r.request, r.status, r.text)
	}
	return list
}

func TestTool(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	tool := store + "/tool"
	view := object{"command": "view", "path": "/memories"}
	create := object{"command": "create", "path": "/memories/a.md", "file_text": "one\n"}
	const empty = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"

	// A block, with whatever else the model puts into it,
	answer := c.post(t, tool, toolUse("toolu_1", view))
	keys(t, answer, "type", "tool_use_id", "content")
	same(t, "type", answer["type"], "tool_result")
	same(t, "tool_use_id", answer["tool_use_id"], "toolu_1")
	if !strings.HasPrefix(text(t, answer, "content"), empty) || !strings.HasSuffix(text(t, answer, "content"), "\t/memories") {
		t.Errorf("content is %q", answer["content"])
	}
	block := toolUse("toolu_2", create)
	block["caller"] = object{"type": "direct"}
	same(t, "answer", c.post(t, tool, block), object{"type": "tool_result", "tool_use_id": "toolu_2", "content": "File created successfully at: /memories/a.md"})
	// and what it is refused is its own to read.
	same(t, "answer", c.post(t, tool, block), object{"type": "tool_result", "tool_use_id": "toolu_2", "content": "Error: File /memories/a.md already exists", "is_error": true})
	// A bare input has no ID to answer to.
	same(t, "answer", c.post(t, tool, object{"command": "view", "path": "/memories/a.md", "view_range": []int{1, -1}}),
		object{"type": "tool_result", "content": "Here's the content of /memories/a.md with line numbers:\n     1\tone"})

	// A list is done in its order, whatever becomes of each.
	results := c.do(t, http.MethodPost, tool, []any{
		toolUse("1", object{"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "two"}),
		toolUse("2", object{"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "three"}),
		object{"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b/c.md"},
		toolUse("4", object{"command": "delete", "path": "/memories/b"}),
		5,
	}).list(t)
	if len(results) != 5 {
		t.Fatalf("results are %v", results)
	}
	for i, want := range []object{
		{"tool_use_id": "1"},
		{"tool_use_id": "2", "is_error": true},
		{"content": "Successfully renamed /memories/a.md to /memories/b/c.md"},
		{"tool_use_id": "4", "content": "Successfully deleted /memories/b"},
		{"is_error": true},
	} {
		got := results[i].(object)
		for name, value := range want {
			same(t, fmt.Sprintf("%s of result %d", name, i), got[name], value)
		}
		if _, there := got["is_error"]; there != (want["is_error"] != nil) {
			t.Errorf("result %d is %v", i, got)
		}
	}
	same(t, "answer to an empty list", c.do(t, http.MethodPost, tool, "[]").list(t), []any{})
	// So is an object of calls.
	answer = c.post(t, tool, object{"calls": []any{toolUse("1", create), view}})
	keys(t, answer, "type", "content")
	same(t, "type", answer["type"], "memory_tool_results")
	if content := answer["content"].([]any); len(content) != 2 || content[0].(object)["tool_use_id"] != "1" || content[1].(object)["is_error"] != nil {
		t.Errorf("content is %v", content)
	}

	// What is no call at all is for the agent to correct, too.
	for body, want := range map[string]string{
		`{}`:                  "command",
		`{"command":"touch"}`: "command",
		`{"command":"create","path":"/memories/x"}`:             "file_text",
		`{"command":"view","path":"/memories/../x"}`:            "would escape /memories directory",
		`{"type":"tool_use","id":"1","name":"memory"}`:          "",
		`{"type":"tool_use","id":"1","name":"bash","input":{}}`: "Tool 'bash' not found",
		`"view"`:  "",
		`{"comma`: "",
		"{\"command\":\"create\",\"path\":\"/memories/x\",\"file_text\":\"\xff\"}": "UTF-8",
	} {
		answer := c.post(t, tool, body)
		if content := text(t, answer, "content"); answer["is_error"] != true || !strings.Contains(content, want) {
			t.Errorf("%s: %v; want an error with %q", body, answer, want)
		}
	}
	// What is no request is an error.
	for body, want := range map[string]string{
		"":                            "tool_use block",
		" \n":                         "tool_use block",
		`[{"command"`:                 "not valid JSON",
		`{"calls":{}}`:                "calls: must be a list, not object",
		`{"calls":[],"call":1}`:       "call: extra inputs are not permitted",
		`{"calls":[],"session_id":5}`: "session_id: must be a string",
		`{"command":"view","path":"/memories","session_id":5}`: "session_id: must be a string",
		"[" + strings.Repeat("{},", 100) + "{}]":               "101 calls",
	} {
		c.do(t, http.MethodPost, tool, body).fails(t, 400, invalidRequest, want)
	}

	// A store that is gone is no business of the agent's.
	gone := c.newStore(t, "gone")
	c.post(t, gone+"/tool", view)
	c.delete(t, gone)
	c.do(t, http.MethodPost, gone+"/tool", view).fails(t, 404, notFound)
	// One that is archived is.
	c.post(t, store+"/archive", nil)
	if answer := c.post(t, tool, object{"command": "create", "path": "/memories/x", "file_text": ""}); answer["is_error"] != true {
		t.Errorf("in an archived store: %v", answer)
	}
}

// Who makes a change by the tool is the session, if one is named, and else the key.
func TestToolActor(t *testing.T) {
	s := newSite(t, nil)
	c := s.admin
	store := c.newStore(t, "notes")
	tool := store + "/tool"
	n := 0
	create := func() object {
		n++
		return object{"command": "create", "path": fmt.Sprintf("/memories/%d", n), "file_text": ""}
	}
	in := func(call object, session any) object {
		call["session_id"] = session
		return call
	}
	key := object{"type": "api_actor", "api_key_id": c.keyID}
	session := func(id string) object { return object{"type": "session_actor", "session_id": id} }
	for _, tt := range []struct {
		name string
		c    *caller
		path string
		body any
		want object
	}{
		{"the key", c, tool, create(), key},
		{"bare", c, tool, in(create(), "sesn_1"), session("sesn_1")},
		{"block", c, tool, in(toolUse("1", create()), "sesn_2"), session("sesn_2")},
		{"calls", c, tool, object{"session_id": "sesn_3", "calls": []any{create()}}, session("sesn_3")},
		{"query", c, tool + "?session_id=sesn_4", create(), session("sesn_4")},
		{"query of a list", c, tool + "?session_id=sesn_5", []any{create()}, session("sesn_5")},
		{"body before query", c, tool + "?session_id=sesn_6", in(create(), "sesn_7"), session("sesn_7")},
		{"null", c, tool, in(create(), nil), key},
		{"empty", c, tool, object{"session_id": "", "calls": []any{create()}}, key},
		{"header", c.with("Memento-Actor", "session/sesn%2F8"), tool, create(), session("sesn/8")},
		{"session before header", c.with("Memento-Actor", "user/ana"), tool, in(create(), "sesn_9"), session("sesn_9")},
		{"a user", c.with("Memento-Actor", "user/ana"), tool, create(), object{"type": "user_actor", "user_id": "ana"}},
	} {
		r := tt.c.do(t, http.MethodPost, tt.path, tt.body)
		if r.status != http.StatusOK || strings.Contains(string(r.text), "is_error") {
			t.Errorf("%s: %d %s", tt.name, r.status, r.text)
		}
		newest := items(t, c.get(t, store+"/memory_versions?limit=1"))[0]
		same(t, tt.name+": path", newest["path"], fmt.Sprintf("/%d", indexOf(tt.body)))
		same(t, tt.name+": created_by", newest["created_by"], any(tt.want))
	}
	c.do(t, http.MethodPost, tool+"?session_id=a&session_id=b", create()).fails(t, 400, invalidRequest, "session_id: must not be repeated")
	for _, id := range []string{"a\nb", strings.Repeat("x", 257)} {
		c.do(t, http.MethodPost, tool, in(create(), id)).fails(t, 400, invalidRequest, "actor")
	}
	writer := s.as(memento.DefaultWorkspace, apikey.RoleWrite)
	for _, actor := range []string{"session", "session/a%zz", "session/a%0Ab"} {
		writer.with("Memento-Actor", actor).do(t, http.MethodPost, tool, create()).fails(t, 400, invalidRequest, "")
	}
	c.with("Memento-Actor", "robot/r2").do(t, http.MethodPost, tool, create()).fails(t, 400, invalidRequest, "the kinds are session, api_key, user")
	// Only an admin can be somebody else than an agent's session.
	writer.with("Memento-Actor", "user/ana").do(t, http.MethodPost, tool, create()).fails(t, 403, noAccess, "admin")
	writer.with("Memento-Actor", "session/sesn_10").post(t, tool, create())
}

// indexOf returns the number in the path that a body creates.
func indexOf(body any) (n int) {
	text, _ := json.Marshal(body)
	_, rest, _ := strings.Cut(string(text), "/memories/")
	fmt.Sscanf(rest, "%d", &n)
	return n
}

// A key that only reads can look.
func TestToolRoles(t *testing.T) {
	s := newSite(t, nil)
	store := s.as("a", apikey.RoleWrite).newStore(t, "notes")
	reader := s.as("a", apikey.RoleRead)
	s.as("a", apikey.RoleWrite).put(t, store, "/a.md", "text\n")
	answer := reader.post(t, store+"/tool", object{"command": "view", "path": "/memories/a.md"})
	same(t, "content", answer["content"], "Here's the content of /memories/a.md with line numbers:\n     1\ttext")
	for _, call := range []object{
		{"command": "create", "path": "/memories/b.md", "file_text": ""},
		{"command": "str_replace", "path": "/memories/a.md", "old_str": "text", "new_str": ""},
		{"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"},
		{"command": "delete", "path": "/memories/a.md"},
		{"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
	} {
		if answer := reader.post(t, store+"/tool", call); answer["is_error"] != true || !strings.Contains(text(t, answer, "content"), "read-only") {
			t.Errorf("%v: %v", call, answer)
		}
	}
	same(t, "versions", len(items(t, reader.get(t, store+"/memory_versions"))), 1)
}

// What the server allows the tool is its operator's to say.
func TestToolOptions(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Tool = memento.ToolOptions{CreateOverwrites: true, ViewChars: 100} })
	store := s.admin.newStore(t, "notes")
	for range 2 {
		s.admin.post(t, store+"/tool", object{"command": "create", "path": "/memories/a", "file_text": strings.Repeat("line\n", 100)})
	}
	same(t, "operation", items(t, s.admin.get(t, store+"/memory_versions?limit=1"))[0]["operation"], "created") // the same again is no change
	answer := s.admin.post(t, store+"/tool", object{"command": "create", "path": "/memories/a", "file_text": strings.Repeat("long\n", 100)})
	same(t, "is_error", answer["is_error"], nil)
	answer = s.admin.post(t, store+"/tool", object{"command": "view", "path": "/memories/a"})
	if content := text(t, answer, "content"); !strings.Contains(content, "view_range") || len(content) > 400 {
		t.Errorf("content is %q", content)
	}
}

func TestSearch(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	made := c.put(t, store, "/team/a.md", "first line\nthe Quick fox\njumped\n")
	c.put(t, store, "/team/quick.md", "nothing")
	c.put(t, store, "/other.md", "quickly")
	c.put(t, store, "/long.md", strings.Repeat("x", 1000)+" lazy dog "+strings.Repeat("y", 1000))
	search := s.as("a", apikey.RoleRead)

	answer := search.get(t, store+"/search?query=which+fox+is+quick%3F")
	keys(t, answer, "type", "memory_store_id", "data", "next_page")
	same(t, "type", answer["type"], "memory_search")
	best := items(t, answer)[0]
	if score, ok := best["score"].(float64); !ok || score <= 0 {
		t.Errorf("the score is %v", best["score"])
	}
	delete(best, "score")
	same(t, "best match", best, object{
		"type": "memory_match", "memory_id": made["id"], "memory_store_id": made["memory_store_id"], "path": "/team/a.md",
		"line": 2., "snippet": "the Quick fox", "passage": object{"first_line": 1., "last_line": 3., "text": "first line\nthe Quick fox\njumped"},
		"words": []any{"Quick", "fox"}, "memory": made,
	})
	same(t, "any word", found(t, search, store, "quick+fox+absent"), []string{"/team/a.md", "/team/quick.md", "/other.md"})
	same(t, "every word", found(t, search, store, "quick+fox&match=all"), []string{"/team/a.md"})
	same(t, "no word of those", found(t, search, store, "quick+fox+absent&match=all"), []string{})
	same(t, "a must", found(t, search, store, "quick+%2Bfox"), []string{"/team/a.md"})
	same(t, "a phrase", found(t, search, store, "%22quick+fox%22"), []string{"/team/a.md"})
	same(t, "without a word", found(t, search, store, "quick+-fox"), []string{"/team/quick.md", "/other.md"})
	same(t, "some", len(found(t, search, store, "quick&limit=2")), 2)
	for _, query := range []string{"quick+dir:/team", "quick&path_prefix=/team/"} {
		same(t, "in a directory", len(found(t, search, store, query)), 2)
	}
	for _, m := range items(t, search.get(t, store+"/search?query=quick")) {
		if keys(t, m, "type", "memory_id", "memory_store_id", "path", "line", "snippet", "passage", "words", "score", "memory"); m["path"] == "/team/quick.md" {
			same(t, "line of a match in the path", m["line"], nil)
			same(t, "snippet of a match in the path", m["snippet"], "")
			same(t, "passage of a match in the path", m["passage"], nil)
			same(t, "words of a match in the path", m["words"], []any{})
		}
	}
	passage := text(t, items(t, search.get(t, store+"/search?query=lazy+dog"))[0]["passage"].(object), "text")
	if !strings.Contains(passage, "lazy dog") || len(passage) > 400 {
		t.Errorf("the passage of a long line has %d bytes: %q", len(passage), passage)
	}
	for _, query := range []string{"", ".,%21", "absent", "quick&path_prefix=/absent/", "-quick"} {
		same(t, query, found(t, search, store, query), []string{})
	}
	same(t, "no query", search.get(t, store+"/search")["data"], []any{})
	for query, want := range map[string]string{
		"query=" + strings.Repeat("x", 10_001): "query: has more than",
		"query=a&query=b":                      "query: must not be repeated",
		"query=a&path_prefix=/team":            "path_prefix: must end in a slash",
		"query=a&limit=0":                      "limit: must be a whole number from 1 to 10000",
		"query=a&limit=10001":                  "limit",
		"query=a&match=some":                   `match: must be "any" or "all"`,
		"query=a&page=page_bQ":                 "page: is not a cursor of this listing",
		"query=%ff":                            "query: is not valid UTF-8",
	} {
		search.do(t, http.MethodGet, store+"/search?"+query, nil).fails(t, 400, invalidRequest, want)
	}
}

// found returns the paths that a search finds on its first page, best first.
func found(t *testing.T, c *caller, store, query string) (paths []string) {
	t.Helper()
	paths = []string{}
	for _, m := range items(t, c.get(t, store+"/search?query="+query)) {
		paths = append(paths, text(t, m, "path"))
	}
	return paths
}

// The pages of a search have each match once, even if memories are written between them.
func TestSearchPages(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	const count = 23
	memories := map[string]string{} // by path
	for i := range count {
		path := fmt.Sprintf("/%02d.md", i)
		memories[path] = text(t, c.put(t, store, path, "needle "+strings.Repeat("hay ", i)), "id")
	}
	seen := map[string]int{}
	query := store + "/search?limit=5&query=needle"
	page, pages := c.get(t, query), 0
	for ; ; pages++ {
		var last object
		for _, m := range items(t, page) {
			seen[text(t, m, "path")]++
			last = m
		}
		if page["next_page"] == nil {
			break
		}
		next := "&page=" + text(t, page, "next_page")
		switch pages {
		case 0: // what comes before all others
			c.put(t, store, "/needle/needle.md", "# needle\nneedle needle")
		case 1: // what the next page begins after
			c.do(t, http.MethodDelete, store+"/memories/"+memories[text(t, last, "path")], nil)
		case 2: // it comes first now
			c.post(t, store+"/memories/"+memories[text(t, last, "path")], object{"content": "# needle\nneedle needle needle"})
		}
		c.do(t, http.MethodGet, strings.Replace(query, "needle", "pin", 1)+next, nil).fails(t, 400, invalidRequest, "page: is a cursor of another search")
		page = c.get(t, query+next)
	}
	for path := range memories {
		same(t, path, seen[path], 1)
	}
	same(t, "pages", pages, 4)
	same(t, "what was written after the first page", seen["/needle/needle.md"], 0)
}

// Calls count as writes by their commands, whatever else is in them.
func TestToolCountsWrites(t *testing.T) {
	const burst = 3
	s := newSite(t, func(o *httpapi.Options) { o.Rate = httpapi.Rate{Writes: 1, Burst: burst} })
	store := s.as("a", apikey.RoleWrite).newStore(t, "notes")
	tool := store + "/tool"
	view := func(path string) object { return object{"command": "view", "path": "/memories" + path} }
	create := func(path string) object {
		return object{"command": "create", "path": "/memories" + path, "file_text": ""}
	}
	for _, tt := range []struct {
		name   string
		body   any
		writes int
	}{
		{"a view", view("/created.md"), 0},
		{"a view of names of commands", view("/insert/delete/rename/str_replace"), 0},
		{"a view with an escape", `{"command":"view","path":"/memories/\u0061"}`, 0},
		{"a block that views", toolUse("create", view("/create")), 0},
		{"a create without a path", object{"command": "create", "file_text": ""}, 0},
		{"a create", create("/a"), 1},
		{"an escaped create", `{"\u0063ommand":"cre\u0061te","path":"/memories/b","file_text":""}`, 1},
		{"an insert", toolUse("1", object{"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": ""}), 1},
		{"a delete of nothing", object{"command": "delete", "path": "/memories/none"}, 1},
		{"three creates", []any{create("/1"), create("/2"), create("/3")}, 3},
		{"views and creates", object{"calls": []any{view("/create"), create("/4"), view(""), create("/5")}}, 2},
	} {
		c := s.as("a", apikey.RoleWrite) // a key of its own, with its own burst
		sent := 0
		for ; sent < 2*burst; sent++ {
			if r := c.do(t, http.MethodPost, tool, tt.body); r.status == http.StatusTooManyRequests {
				break
			} else if r.status != http.StatusOK {
				t.Fatalf("%s: %d %s", tt.name, r.status, r.text)
			}
		}
		want := 2 * burst
		if tt.writes > 0 {
			want = burst / tt.writes
		}
		if sent != want {
			t.Errorf("%s: %d requests were within the burst of %d writes; want %d", tt.name, sent, burst, want)
		}
	}
}

// A view is executed each time, also if its path has the name of a command that writes.
func TestToolRepeatsViews(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	view := toolUse("toolu_1", object{"command": "view", "path": "/memories/created.md"})
	retry := c.with("X-Stainless-Retry-Count", "1").with("Idempotency-Key", "one")
	same(t, "is_error", retry.post(t, store+"/tool", view)["is_error"], true)
	c.put(t, store, "/created.md", "text\n")
	same(t, "content", retry.post(t, store+"/tool", view)["content"], "Here's the content of /memories/created.md with line numbers:\n     1\ttext")
}
