package httpapi_test

import (
	"net/http"
	"testing"

	"memento/backend/apikey"
)

// What came with one key, its sessions included, is taken back over HTTP; what others
// did stays.
func TestUndo(t *testing.T) {
	s := newSite(t, nil)
	good, bad, reader := s.as("a", apikey.RoleWrite), s.as("a", apikey.RoleWrite), s.as("a", apikey.RoleRead)
	store := good.newStore(t, "notes")
	a := good.put(t, store, "/a", "1\n2\n")
	good.put(t, store, "/b", "1\n")
	good.put(t, store, "/c", "1\n")
	since := s.clock.time()
	change := func(c *caller, content string) string {
		t.Helper()
		return text(t, c.post(t, store+"/memories/"+text(t, a, "id"), object{"content": content}), "memory_version_id")
	}
	first := change(bad, "1\nbad\n2\n")
	change(good, "1\nbad\n2\n3\n")
	second := change(bad.with("Memento-Actor", "session/sesn_1"), "1\nbad\nworse\n2\n3\n")
	bad.post(t, store+"/tool", object{"session_id": "sesn_2", "command": "create", "path": "/memories/new", "file_text": "bad"})
	bad.post(t, store+"/tool", object{"session_id": "sesn_2", "command": "rename", "old_path": "/memories/b", "new_path": "/memories/d"})
	bad.post(t, store+"/tool", object{"session_id": "sesn_2", "command": "str_replace", "path": "/memories/c", "old_str": "1", "new_str": "bad"})
	c := text(t, good.get(t, store+"/memories/by-path?path=/c"), "id")
	edit := good.post(t, store+"/memories/"+c, object{"content": "bad!\n"})

	body := object{"api_key_id": bad.keyID, "since": since, "dry_run": true}
	rehearsal := good.post(t, store+"/undo", body)
	keys(t, rehearsal, "type", "memory_store_id", "dry_run", "changes", "conflicts", "masked")
	same(t, "dry_run", rehearsal["dry_run"], any(true))
	changes := rehearsal["changes"].([]any)
	same(t, "the first change", changes[0], any(object{
		"memory_id": a["id"], "action": "revert", "path": "/a", "from": nil, "merged": true, "memory_version_ids": []any{first, second},
	}))
	same(t, "changes", len(changes), 3)
	conflict := rehearsal["conflicts"].([]any)[0].(object)
	same(t, "the conflict", conflict["reason"], any("edited"))
	same(t, "the conflict's path", conflict["path"], any("/c"))
	same(t, "what is in the way", conflict["other_version_ids"], any([]any{edit["memory_version_id"]}))

	delete(body, "dry_run")
	done := good.with("Memento-Actor", "session/sesn_carol").post(t, store+"/undo", body)
	same(t, "what was done", done["changes"], rehearsal["changes"])
	var contents []any
	for _, m := range reader.pages(t, store+"/memories?view=full", 20) {
		contents = append(contents, m["path"], m["content"])
	}
	same(t, "memories", contents, []any{"/a", "1\n2\n3\n", "/b", "1\n", "/c", "bad!\n"})
	newest := items(t, reader.get(t, store+"/memory_versions?limit=1"))[0]
	same(t, "created_by", newest["created_by"], any(object{"type": "session_actor", "session_id": "sesn_carol"}))
	same(t, "created_by_key_id", newest["created_by_key_id"], any(good.keyID))
	same(t, "again", good.post(t, store+"/undo", body)["changes"], any([]any{}))

	reader.do(t, http.MethodPost, store+"/undo", body).fails(t, 403, noAccess)
	for words, body := range map[string]object{
		"since": {"session_id": "x"}, "exactly one of session_id": {"since": since}, "one of session_id": {"since": since, "session_id": "x", "api_key_id": "y"},
		"kind and ID": {"since": since, "actor": object{"kind": "session"}}, "lies before": {"since": since, "until": "2000-01-01T00:00:00Z", "session_id": "x"},
		"actor.x": {"since": since, "actor": object{"x": 1}},
	} {
		good.do(t, http.MethodPost, store+"/undo", body).fails(t, 400, invalidRequest, words)
	}
	s.as("b", apikey.RoleAdmin).do(t, http.MethodPost, store+"/undo", body).fails(t, 404, notFound)
}
