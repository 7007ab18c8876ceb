package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
)

func TestEntries(t *testing.T) {
	s := newSite(t, writersRedact)
	store := s.as("a", apikey.RoleWrite).life(t)
	c := s.as("a", apikey.RoleRead)
	memories := c.pages(t, store+"/memories", 20)
	same(t, "all", c.lines(t, store+"/entries"), memories)
	full := c.pages(t, store+"/memories?view=full", 20)
	same(t, "with contents", c.lines(t, store+"/entries?contents=true"), full)
	same(t, "below a directory", c.lines(t, store+"/entries?path_prefix=/n/"), memories[:2])
	same(t, "the first", c.lines(t, store+"/entries?limit=1"), memories[:1])
	same(t, "after the first", c.lines(t, store+"/entries?limit=1&after=/n/b.md"), memories[1:2])
	below := c.lines(t, store+"/entries?depth=1")
	same(t, "directories", below, []object{
		{"type": "memory_prefix", "path": "/n/", "memories": 2., "content_size_bytes": 9., "updated_at": memories[1]["updated_at"]},
		memories[2],
	})
	same(t, "two levels", column(c.lines(t, store+"/entries?depth=2"), "path"), []any{"/n/b.md", "/n/c/", "/é"})
	same(t, "after a directory", c.lines(t, store+"/entries?depth=1&after=/n/"), below[1:])
	same(t, "in brief", column(c.lines(t, store+"/entries?brief=true"), "path"), column(memories, "path"))
	for query, want := range map[string]string{
		"depth=-1": "depth", "limit=-1": "limit", "contents=1": "contents: must be true or false", "brief=x": "brief", "path_prefix=n": "path_prefix",
	} {
		c.do(t, http.MethodGet, store+"/entries?"+query, nil).fails(t, 400, invalidRequest, want)
	}
}

func TestHistory(t *testing.T) {
	s := newSite(t, nil)
	admin, reader := s.admin, s.as(memento.DefaultWorkspace, apikey.RoleRead)
	store := admin.life(t)
	versions := reader.pages(t, store+"/memory_versions?view=full", 20)
	oldest := make([]object, len(versions))
	for i, v := range versions {
		delete(v, "renamed_from") // which follows from the versions before
		oldest[len(versions)-1-i] = v
	}
	history := store + "/history"
	same(t, "all", reader.lines(t, history+"?contents=true"), versions)
	same(t, "oldest first", reader.lines(t, history+"?contents=true&oldest_first=true"), oldest)
	same(t, "a part", reader.lines(t, fmt.Sprintf("%s?contents=true&oldest_first=true&limit=2&after=%v", history, oldest[0]["sequence"])), oldest[1:3])
	same(t, "without contents", column(reader.lines(t, history), "content"), make([]any, len(versions)))
	of := func(query string) []any {
		t.Helper()
		return column(reader.lines(t, history+"?oldest_first=true&"+query), "operation")
	}
	same(t, "of a memory", of("memory_id="+text(t, oldest[0], "memory_id")), []any{"created", "modified"})
	same(t, "of a path", of("path=/n"), []any{"modified", "created"})
	same(t, "of an operation", of("operation=deleted"), []any{"deleted"})
	same(t, "of an actor", of("actor_kind=session&actor_id=sesn_1"), []any{"modified"})
	same(t, "of a kind of actor", len(of("actor_kind=api_key")), len(versions)-1)
	same(t, "of a time", of("created_at[lte]="+text(t, oldest[1], "created_at")), []any{"created", "modified"})
	same(t, "of another time", of("created_at[gte]="+text(t, oldest[len(oldest)-1], "created_at")), []any{"created"})
	for query, want := range map[string]string{
		"after=x": "after", "after=-1": "after", "limit=x": "limit", "operation=x": "operation", "oldest_first=x": "oldest_first", "contents=x": "contents", "created_at[gte]=x": "created_at[gte]",
	} {
		reader.do(t, http.MethodGet, history+"?"+query, nil).fails(t, 400, invalidRequest, want)
	}

	// What comes out goes in elsewhere, as it is and as one.
	stream := reader.do(t, http.MethodGet, history+"?contents=true&oldest_first=true", nil).text
	to := admin.newStore(t, "copy")
	ndjson := admin.with("Content-Type", "", "Content-Type", "application/x-ndjson")
	lines := strings.SplitAfter(strings.TrimSuffix(string(stream), "\n"), "\n")
	head := strings.Join(lines[:len(lines)-1], "")
	for body, want := range map[string]string{
		"":                                       `the last line must be {"type":"end"}`,
		head:                                     `the last line must be {"type":"end"}`,
		head + "{\"type\":\"end\"}\n" + lines[0]: fmt.Sprintf("line %d: follows the end line", len(lines)+1),
		head + "x\n":                             fmt.Sprintf("line %d: is not a memory_version", len(lines)),
		head + "{\"type\":\"memory\"}\n":         fmt.Sprintf("line %d: is not a memory_version", len(lines)),
		lines[0] + "{\"path\":\"\xff\"}":         "line 2: is not a memory_version",
	} {
		ndjson.do(t, http.MethodPost, to+"/history", body).fails(t, 400, invalidRequest, want)
	}
	forged := strings.Replace(string(stream), hashOfOne, hashOfEmpty, 1)
	ndjson.do(t, http.MethodPost, to+"/history", forged).fails(t, 400, invalidRequest, "")
	same(t, "versions after refusals", reader.get(t, to+"/memory_versions")["data"], []any{})
	same(t, "answer", ndjson.post(t, to+"/history", stream), object{"type": "memory_history_import", "versions": float64(len(versions)), "masked": []any{}})
	same(t, "history", told(reader.lines(t, to+"/history?contents=true")), told(versions))
	same(t, "answer to nothing", ndjson.post(t, to+"/history", "{\"type\":\"end\"}\n")["versions"], 0.)
	failure := ndjson.do(t, http.MethodPost, to+"/history", stream).fails(t, 409, pathConflict)
	same(t, "code", failure["code"], "exist")
	s.as(memento.DefaultWorkspace, apikey.RoleWrite).do(t, http.MethodPost, to+"/history", stream).fails(t, 403, noAccess, "admin")
}

func TestPrune(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.life(t)
	prune := store + "/prune"
	before := memento.EndOfTime
	want := object{"type": "memory_history_collection", "memory_store_id": strings.TrimPrefix(store, stores+"/"), "versions": 3., "bytes": 3., "dry_run": true}
	same(t, "the rehearsal", s.admin.post(t, prune, object{"before": before, "dry_run": true}), want)
	same(t, "versions after it", len(s.admin.pages(t, store+"/memory_versions", 20)), 6)
	want["dry_run"], want["versions"], want["bytes"] = false, 2., 0.
	same(t, "what goes if two of each stay", s.admin.post(t, prune, object{"before": before, "keep": 2}), want)
	memory := text(t, s.admin.get(t, store+"/memories/by-path?path=/n/b.md"), "id")
	want["versions"], want["bytes"] = 1., 3.
	same(t, "what goes of one memory", s.admin.post(t, prune, object{"before": before, "memory_id": memory}), want)
	same(t, "versions", len(s.admin.pages(t, store+"/memory_versions", 20)), 3)
	want["versions"], want["bytes"] = 0., 0.
	same(t, "before all that", s.admin.post(t, prune, object{"before": "2020-01-01T00:00:00+01:00"}), want)
	for body, words := range map[string]string{
		"": "before: field required", `{"keep":1}`: "before: field required", `{"before":"now"}`: "before: must be a time",
		`{"before":"2026-09-26T12:00:00Z","keep":-1}`:  "keep: must not be negative",
		`{"before":"2026-09-26T12:00:00Z","keep":"1"}`: "keep: must be a whole number, not string",
		`{"before":"2026-09-26T12:00:00Z","all":true}`: "all: extra inputs are not permitted",
	} {
		s.admin.do(t, http.MethodPost, prune, body).fails(t, 400, invalidRequest, words)
	}
	s.as(memento.DefaultWorkspace, apikey.RoleWrite).do(t, http.MethodPost, prune, object{"before": before}).fails(t, 403, noAccess, "admin")
}

// A client whose clock is wrong removes nothing by it, and nobody more than usual
// without saying so.
func TestPruneOfFuture(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.life(t)
	prune := store + "/prune"
	count := func() int { return len(s.admin.pages(t, store+"/memory_versions", 20)) }
	all := count()
	year := s.clock.time().AddDate(1, 0, 0)
	s.admin.do(t, http.MethodPost, prune, object{"before": year}).fails(t, 400, invalidRequest, "before: lies in the future by the server's clock")
	s.admin.do(t, http.MethodPost, prune, object{"before": year, "force": true}).fails(t, 400, invalidRequest, "before: lies in the future")
	same(t, "versions", count(), all)

	memory := text(t, s.admin.get(t, store+"/memories/by-path?path=/n/b.md"), "id")
	for i := range 30 {
		s.admin.post(t, store+"/memories/"+memory, object{"content": fmt.Sprint("version ", i)})
	}
	all = count()
	s.clock.add(3 * 24 * time.Hour)
	before := s.clock.time().Add(-time.Hour)
	s.admin.do(t, http.MethodPost, prune, object{"before": before}).fails(t, 400, invalidRequest, "more than usual")
	same(t, "versions", count(), all)
	if gone := s.admin.post(t, prune, object{"before": before, "force": true})["versions"].(float64); gone < 30 {
		t.Errorf("by force %v versions are gone", gone)
	}
}
