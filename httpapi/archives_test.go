package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

// lines returns the objects of a stream of JSON lines, which must have an end.
func (c *caller) lines(t *testing.T, path string) (list []object) {
	t.Helper()
	r := c.do(t, http.MethodGet, path, nil)
	if got := r.header.Get("Content-Type"); r.status != http.StatusOK || got != "application/x-ndjson" {
		t.Fatalf("%s: %d %s %s", path, r.status, got, r.text)
	}
	for line := range strings.Lines(string(r.text)) {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		list = append(list, o)
	}
	if n := len(list); n == 0 || len(list[n-1]) != 1 || list[n-1]["type"] != "end" {
		t.Fatalf("%s: no end: %s", path, r.text)
	}
	return list[:len(list)-1]
}

// life makes a store with some history, and returns its path.
func (c *caller) life(t *testing.T) string {
	t.Helper()
	made := c.post(t, stores, object{"name": "a life", "description": "of notes", "metadata": object{"k": "v"}})
	store := stores + "/" + text(t, made, "id")
	a := c.put(t, store, "/a.md", "one")
	c.with("Memento-Actor", "session/sesn_1").post(t, store+"/memories/"+text(t, a, "id"), object{"content": "two", "path": "/n/b.md"})
	gone := c.put(t, store, "/gone", "deleted")
	c.delete(t, store+"/memories/"+text(t, gone, "id"))
	c.put(t, store, "/n/c/d.md", "three\n")
	c.put(t, store, "/é", strings.Repeat("<ü>\r\n", 10_000))
	c.post(t, store+"/memory_versions/"+text(t, gone, "memory_version_id")+"/redact", nil)
	return store
}

// told is what a version says of its memory, without what is a store's own.
func told(list []object) (versions []object) {
	for _, v := range list {
		o := object{}
		for k, value := range v {
			if k != "memory_store_id" && k != "sequence" {
				o[k] = value
			}
		}
		versions = append(versions, o)
	}
	return versions
}

func TestExportAndImport(t *testing.T) {
	s := newSite(t, nil)
	admin, writer, reader := s.admin, s.as(memento.DefaultWorkspace, apikey.RoleWrite), s.as(memento.DefaultWorkspace, apikey.RoleRead)
	from := admin.life(t)
	contents := func(store string) (list []object) {
		t.Helper()
		for _, m := range reader.pages(t, store+"/memories?view=full", 20) {
			list = append(list, object{"path": m["path"], "content": m["content"]})
		}
		return list
	}
	export := func(query string) []byte {
		t.Helper()
		r := reader.do(t, http.MethodGet, from+"/export"+query, nil)
		id := strings.TrimPrefix(from, stores+"/")
		if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/gzip" || r.header.Get("Content-Disposition") != `attachment; filename="`+id+`.tar.gz"` {
			t.Fatalf("%s: %d %v", r.request, r.status, r.header)
		}
		return r.text
	}
	whole := admin.with("Content-Type", "", "Content-Type", "application/gzip")

	// With its history, a store comes back as it was.
	to := admin.newStore(t, "copy")
	answer := whole.post(t, to+"/import", export(""))
	same(t, "answer", answer, object{
		"type": "memory_import", "memory_store_id": strings.TrimPrefix(to, stores+"/"), "memories": 3., "versions": 6., "bytes": 60_009., "masked": nil,
	})
	same(t, "contents", contents(to), contents(from))
	same(t, "history", told(admin.pages(t, to+"/memory_versions?view=full", 20)), told(admin.pages(t, from+"/memory_versions?view=full", 20)))
	whole.do(t, http.MethodPost, to+"/import", export("")).fails(t, 409, conflict, "already has history")

	// Contents only are new memories of whoever reads them.
	to = writer.newStore(t, "contents")
	plain := export("?contents_only=true")
	answer = writer.post(t, to+"/import?contents_only=true", plain)
	same(t, "memories", answer["memories"], 3.)
	same(t, "versions", answer["versions"], 0.)
	same(t, "contents", contents(to), contents(from))
	list := writer.pages(t, to+"/memory_versions", 20)
	same(t, "operations", column(list, "operation"), []any{"created", "created", "created"})
	same(t, "created_by", list[0]["created_by"], any(object{"type": "api_actor", "api_key_id": writer.keyID}))
	// They only take the place of others if that is asked for.
	n := text(t, reader.get(t, to+"/memories/by-path?path=/n/b.md"), "id")
	writer.post(t, to+"/memories/"+n, object{"content": "changed"})
	failure := writer.do(t, http.MethodPost, to+"/import?contents_only=true", plain).fails(t, 409, pathConflict)
	if failure["conflicting_path"] == nil {
		t.Errorf("no conflicting_path in %v", failure)
	}
	same(t, "content", reader.get(t, to+"/memories/"+n)["content"], "changed")
	writer.post(t, to+"/import?contents_only=true&overwrite=true", export(""))
	same(t, "contents", contents(to), contents(from))

	// History says who did what, which is not for everybody to say.
	to = writer.newStore(t, "forged")
	writer.do(t, http.MethodPost, to+"/import", export("")).fails(t, 403, noAccess, "admin")
	reader.do(t, http.MethodPost, to+"/import?contents_only=true", plain).fails(t, 403, noAccess, "write")
	whole.do(t, http.MethodPost, to+"/import?overwrite=true", export("")).fails(t, 400, invalidRequest, "overwrite")
	whole.do(t, http.MethodPost, to+"/import", plain).fails(t, 400, invalidRequest, "contents_only=true")
	whole.do(t, http.MethodPost, to+"/import?contents_only=1", plain).fails(t, 400, invalidRequest, "contents_only: must be true or false")
	archive := export("")
	for _, bad := range [][]byte{nil, []byte("x"), archive[:len(archive)/2], append(bytes.Clone(archive), 'x'), []byte("{}")} {
		whole.do(t, http.MethodPost, to+"/import", bad).fails(t, 400, invalidRequest, "archive")
		writer.do(t, http.MethodPost, to+"/import?contents_only=true", bad).fails(t, 400, invalidRequest, "archive")
	}
	reader.do(t, http.MethodGet, from+"/export?contents_only=x", nil).fails(t, 400, invalidRequest, "contents_only")
	same(t, "versions after refusals", reader.get(t, to+"/memory_versions")["data"], []any{})
}

// What earlier versions let an admin record as an actor is exported, and imported again.
func TestActorsOfEarlierVersions(t *testing.T) {
	s := newSite(t, nil)
	from := s.admin.newStore(t, "old")
	ctx, id := t.Context(), memento.StoreID(strings.TrimPrefix(from, stores+"/"))
	for i, by := range []memento.Actor{
		{Kind: "robot", ID: "r2"}, {ID: "without a kind"}, {Kind: "robot"}, {Kind: memento.ActorUser, ID: strings.Repeat("x", 5000)}, {},
		{Kind: "robot", ID: "r2", Key: "apikey_1"}, {Kind: memento.ActorSession, ID: "sesn_1", Key: "apikey_1"}, {Key: "apikey_1"},
	} {
		p := memento.Path(fmt.Sprintf("/%d", i))
		done, err := s.backend.Apply(ctx, id, by, []memento.Change{memento.Put{Path: p, Content: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.backend.Apply(ctx, id, by, []memento.Change{memento.Remove{Path: p}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.backend.Redact(ctx, id, done.Versions[0].ID, by); err != nil {
			t.Fatal(err)
		}
	}
	to, again := s.admin.newStore(t, "archive"), s.admin.newStore(t, "lines")
	s.admin.do(t, http.MethodPost, to+"/import", s.admin.do(t, http.MethodGet, from+"/export", nil).text).ok(t)
	s.admin.do(t, http.MethodPost, again+"/history", s.admin.do(t, http.MethodGet, from+"/history?contents=true&oldest_first=true", nil).text).ok(t)
	want := told(s.admin.lines(t, from+"/history"))
	same(t, "the archive's history", told(s.admin.lines(t, to+"/history")), want)
	same(t, "the lines' history", told(s.admin.lines(t, again+"/history")), want)
}

// An archive is bounded both as it comes and as it is unpacked.
func TestImportTooLarge(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.MaxImport = 20_000 })
	from := s.admin.life(t)
	archive := s.admin.do(t, http.MethodGet, from+"/export", nil).text
	if len(archive) > 20_000 {
		t.Fatalf("the archive has %d bytes", len(archive))
	}
	to := s.admin.newStore(t, "copy")
	s.admin.do(t, http.MethodPost, to+"/import", archive).fails(t, 413, "request_too_large", "archive")
	s.admin.do(t, http.MethodPost, to+"/import?contents_only=true", archive).fails(t, 413, "request_too_large", "archive")
	s.admin.do(t, http.MethodPost, to+"/history", strings.Repeat(" ", 20_001)).fails(t, 413, "request_too_large", "20000 bytes")
	same(t, "versions", s.admin.get(t, to+"/memory_versions")["data"], []any{})
}
