package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
)

var versionFields = []string{
	"id", "type", "memory_id", "memory_store_id", "operation", "path", "content", "content_sha256", "content_size_bytes",
	"created_by", "created_at", "redacted_at", "redacted_by", "sequence",
}

func TestVersions(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	made := c.put(t, store, "/a", "one")
	memory := store + "/memories/" + text(t, made, "id")
	c.post(t, memory, object{"content": "two", "path": "/b"})
	c.delete(t, memory)

	basic := items(t, c.get(t, store+"/memory_versions"))
	full := items(t, c.get(t, store+"/memory_versions?view=full"))
	want := []object{
		{"operation": "deleted", "path": "/b", "content": nil, "content_sha256": nil, "content_size_bytes": nil},
		{"operation": "modified", "path": "/b", "renamed_from": "/a", "content": "two", "content_sha256": memento.HashContent("two"), "content_size_bytes": 3.},
		{"operation": "created", "path": "/a", "content": "one", "content_sha256": hashOfOne, "content_size_bytes": 3.},
	}
	if len(basic) != 3 || len(full) != 3 {
		t.Fatalf("%d versions, with contents %d; want 3", len(basic), len(full))
	}
	for i, v := range full {
		fields := versionFields
		if i == 1 {
			fields = append(slices.Clone(fields), "renamed_from")
		}
		keys(t, v, fields...)
		for name, value := range want[i] {
			same(t, fmt.Sprintf("%s of version %d", name, i), v[name], value)
		}
		for name, value := range (object{
			"type": "memory_version", "memory_id": made["id"], "memory_store_id": made["memory_store_id"],
			"created_by": object{"type": "api_actor", "api_key_id": c.keyID}, "redacted_at": nil, "redacted_by": nil,
		}) {
			same(t, fmt.Sprintf("%s of version %d", name, i), v[name], value)
		}
		moment(t, v, "created_at")
		version := store + "/memory_versions/" + text(t, v, "id")
		same(t, "the version", c.get(t, version), v)
		same(t, "the version with contents", c.get(t, version+"?view=full"), v)
		v["content"] = nil
		same(t, "the version without contents", c.get(t, version+"?view=basic"), v)
		same(t, "the version in a listing", basic[i], v)
	}
	same(t, "the version of the creation", full[2]["id"], made["memory_version_id"])
	c.do(t, http.MethodGet, store+"/memory_versions/memver_1", nil).fails(t, 404, notFound)

	// It may not be known who made one.
	change := []memento.Change{memento.Put{Path: "/x", Content: ""}}
	if _, err := s.backend.Apply(t.Context(), memento.StoreID(text(t, made, "memory_store_id")), memento.Actor{}, change); err != nil {
		t.Fatal(err)
	}
	newest := items(t, c.get(t, store+"/memory_versions?limit=1"))[0]
	keys(t, newest, versionFields...)
	same(t, "created_by", newest["created_by"], nil)
}

func TestVersionListing(t *testing.T) {
	s := newSite(t, nil)
	admin := s.admin
	store := admin.newStore(t, "notes")
	path := store + "/memory_versions"
	same(t, "an empty history", admin.get(t, path), object{"data": []any{}, "next_page": nil})
	// Who makes which of the versions.
	by := map[string]*caller{
		"key":     admin,
		"other":   s.as(memento.DefaultWorkspace, apikey.RoleWrite),
		"session": admin.with("Memento-Actor", "session/sesn_1"),
		"service": admin.with("Memento-Actor", "service_account/svac_1"),
		"user":    admin.with("Memento-Actor", "user/ana%20b"),
		"system":  admin.with("Memento-Actor", "system/expiry"),
	}
	var versions []object // newest first
	note := func(memory object) {
		t.Helper()
		versions = append(versions, admin.get(t, path+"/"+text(t, memory, "memory_version_id")+"?view=basic"))
	}
	memories := map[string]object{}
	for _, who := range []string{"key", "other", "session", "service", "user", "system"} {
		memories[who] = by[who].put(t, store, "/"+who, who)
		note(memories[who])
	}
	for i := range 40 {
		for who, m := range map[string]object{"session": memories["key"], "key": memories["session"]} {
			note(by[who].post(t, store+"/memories/"+text(t, m, "id"), object{"content": fmt.Sprint(i)}))
		}
	}
	admin.delete(t, store+"/memories/"+text(t, memories["user"], "id"))
	versions = append(versions, items(t, admin.get(t, path+"?limit=1"))...)
	slices.Reverse(versions)
	same(t, "actors", column(versions[len(versions)-6:], "created_by"), []any{
		object{"type": "system_actor", "system_id": "expiry"},
		object{"type": "user_actor", "user_id": "ana b"},
		object{"type": "service_account_actor", "service_account_id": "svac_1"},
		object{"type": "session_actor", "session_id": "sesn_1"},
		object{"type": "api_actor", "api_key_id": by["other"].keyID},
		object{"type": "api_actor", "api_key_id": admin.keyID},
	})

	same(t, "the listing", admin.pages(t, path, 20), versions)
	for _, limit := range []int{1, 20, 43, 86, 87, 88, 100} {
		same(t, fmt.Sprintf("limit %d", limit), admin.pages(t, fmt.Sprintf("%s?limit=%d", path, limit), limit), versions)
	}
	contents := column(admin.pages(t, path+"?view=full&limit=100", 20), "content")
	same(t, "contents", contents[len(contents)-6:], []any{"system", "user", "service", "session", "other", "key"})

	where := func(query string, holds func(object) bool) {
		t.Helper()
		var want []object
		for _, v := range versions {
			if holds(v) {
				want = append(want, v)
			}
		}
		same(t, query, admin.pages(t, path+"?limit=9&"+query, 9), want)
	}
	ofKey, ofUser := text(t, memories["key"], "id"), text(t, memories["user"], "id")
	is := func(name string, value any) func(object) bool {
		return func(v object) bool { return v[name] == value }
	}
	made := func(name string, id any) func(object) bool {
		return func(v object) bool { return v["created_by"].(object)[name] == id }
	}
	nothing := func(object) bool { return false }
	where("memory_id="+ofKey, is("memory_id", any(ofKey)))
	where("memory_id="+ofUser, is("memory_id", any(ofUser))) // which is deleted
	where("memory_id=mem_unknown", nothing)
	where("operation=created", is("operation", "created"))
	where("operation=modified", is("operation", "modified"))
	where("operation=deleted", is("operation", "deleted"))
	where("session_id=sesn_1", made("session_id", "sesn_1"))
	where("session_id=sesn_2", nothing)
	where("session_id="+admin.keyID, nothing)
	where("api_key_id="+admin.keyID, made("api_key_id", admin.keyID))
	where("api_key_id="+by["other"].keyID, made("api_key_id", by["other"].keyID))
	where("service_account_id=svac_1", made("service_account_id", "svac_1"))
	where("user_id=ana+b", made("user_id", "ana b"))
	// All must hold, and nobody is two.
	where("session_id=sesn_1&api_key_id="+admin.keyID, nothing)
	where("session_id=sesn_1&service_account_id=sesn_1", nothing)
	where("session_id=sesn_1&operation=created", func(v object) bool { return v["path"] == "/session" && v["operation"] == "created" })
	where("session_id=sesn_1&operation=modified&memory_id="+ofKey, func(v object) bool { return v["memory_id"] == ofKey && v["operation"] == "modified" })
	where("operation=deleted&memory_id="+ofKey, nothing)
	at := moment(t, versions[40], "created_at")
	stamp := url.QueryEscape(at.Format(time.RFC3339Nano))
	from := func(v object) bool { return !moment(t, v, "created_at").Before(at) }
	to := func(v object) bool { return !moment(t, v, "created_at").After(at) }
	where("created_at[gte]="+stamp, from)
	where("created_at%5Blte%5D="+stamp, to)
	where("created_at[gte]="+stamp+"&created_at[lte]="+stamp, func(v object) bool { return from(v) && to(v) })
	where("created_at[gte]="+at.In(time.FixedZone("", 5*60*60)).Format(time.RFC3339Nano)+"&session_id=sesn_1", func(v object) bool {
		return from(v) && made("session_id", "sesn_1")(v)
	})
	where("order_by=x&order=y&beta=true&memory_id=", func(object) bool { return true })

	ofMemories := text(t, admin.get(t, store+"/memories?limit=1"), "next_page")
	for query, want := range map[string]string{
		"operation=created&operation=deleted": "operation: must not be repeated",
		"operation=renamed":                   `operation: must be "created", "modified" or "deleted"`,
		"limit=0":                             "limit: must be a whole number from 1 to 100",
		"limit=101":                           "limit",
		"view=complete":                       `view: must be "basic" or "full"`,
		"created_at[gte]=now":                 "created_at[gte]: must be a time",
		"page=page_djA":                       "page: is not a cursor of this listing", // v0
		"page=page_di0x":                      "page",                                  // v-1
		"page=page_dng":                       "page",                                  // vx
		"page=" + ofMemories:                  "page: is not a cursor of this listing",
	} {
		admin.do(t, http.MethodGet, path+"?"+query, nil).fails(t, 400, invalidRequest, want)
	}
}

func TestRedaction(t *testing.T) {
	s := newSite(t, writersRedact)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	made := c.put(t, store, "/a", "one")
	id := text(t, made, "id")
	memory := store + "/memories/" + id
	version := func(v any) string { return store + "/memory_versions/" + v.(string) }
	first := version(made["memory_version_id"])

	// The newest version of a memory that there is cannot be redacted,
	failure := c.do(t, http.MethodPost, first+"/redact", nil).fails(t, 400, invalidRequest, "newest version")
	same(t, "code", failure["code"], "head")
	second := version(c.post(t, memory, object{"content": "two"})["memory_version_id"])
	// an older one can.
	before := c.get(t, first)
	redacted := c.post(t, first+"/redact", "{}")
	keys(t, redacted, versionFields...)
	for _, name := range versionFields {
		switch name {
		case "content", "content_sha256", "content_size_bytes", "path":
			same(t, name, redacted[name], nil)
		case "redacted_at":
			moment(t, redacted, name)
		case "redacted_by":
			same(t, name, redacted[name], any(object{"type": "api_actor", "api_key_id": c.keyID}))
		default:
			same(t, name, redacted[name], before[name])
		}
	}
	same(t, "the redacted version", c.get(t, first), redacted)
	same(t, "the redacted version in a listing", items(t, c.get(t, store+"/memory_versions?view=full&operation=created"))[0], redacted)
	// Repeating it keeps when and by whom, whatever the form of the empty body.
	other := s.as("a", apikey.RoleWrite)
	for _, body := range []any{nil, "", "{}", "null", " \n"} {
		same(t, "redacted again", other.post(t, first+"/redact", body), redacted)
	}
	for _, tt := range []struct {
		c    *caller
		body any
	}{
		{other.with("Content-Type", "application/json"), nil}, // as Python sends it
		{other.with("Content-Type", ""), nil},
		{other.with("Content-Type", "application/json; charset=utf-8"), "{}"},
	} {
		same(t, "redacted again", tt.c.post(t, first+"/redact", tt.body), redacted)
	}
	c.do(t, http.MethodPost, first+"/redact", object{"reason": "x"}).fails(t, 400, invalidRequest, "reason: extra inputs are not permitted")
	c.do(t, http.MethodPost, first+"/redact", "[]").fails(t, 400, invalidRequest, "must be a JSON object")
	c.with("Content-Type", "", "Content-Type", "text/plain").do(t, http.MethodPost, first+"/redact", "{}").fails(t, 400, invalidRequest, "Content-Type")
	s.as("a", apikey.RoleRead).do(t, http.MethodPost, second+"/redact", nil).fails(t, 403, noAccess, "write")

	// Once the memory is deleted all can be, the deletion included, and in an
	// archived store too.
	c.delete(t, memory)
	c.post(t, store+"/archive", nil)
	c.post(t, second+"/redact", nil)
	deletion := version(items(t, c.get(t, store+"/memory_versions?operation=deleted"))[0]["id"])
	same(t, "path of the redacted deletion", c.post(t, deletion+"/redact", nil)["path"], nil)
	list := items(t, c.get(t, store+"/memory_versions?view=full&memory_id="+id))
	same(t, "operations", column(list, "operation"), []any{"deleted", "modified", "created"})
	for _, name := range []string{"path", "content", "content_sha256", "content_size_bytes"} {
		same(t, name, column(list, name), []any{nil, nil, nil})
	}
}

func TestRestoreVersion(t *testing.T) {
	s := newSite(t, writersRedact)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	made := c.put(t, store, "/a", "one")
	memory := store + "/memories/" + text(t, made, "id")
	first := store + "/memory_versions/" + text(t, made, "memory_version_id")
	changed := c.post(t, memory, object{"content": "two", "path": "/b"})

	restored := c.with("Memento-Actor", "session/sesn_9").post(t, first+"/restore", nil)
	keys(t, restored, memoryFields...)
	same(t, "id", restored["id"], made["id"])
	same(t, "path", restored["path"], "/b") // where the memory is now
	same(t, "content_sha256", restored["content_sha256"], hashOfOne)
	same(t, "content", restored["content"], nil)
	same(t, "read_at", restored["read_at"], nil)
	same(t, "actor", items(t, c.get(t, store+"/memory_versions?limit=1"))[0]["created_by"], any(object{"type": "session_actor", "session_id": "sesn_9"}))
	same(t, "restored again", c.post(t, first+"/restore", "{}"), restored)

	c.delete(t, memory)
	again := c.post(t, first+"/restore", nil)
	same(t, "path", again["path"], "/a")
	if again["id"] == made["id"] {
		t.Error("a deleted memory has come back under its own ID")
	}
	taken := c.do(t, http.MethodPost, store+"/memory_versions/"+text(t, changed, "memory_version_id")+"/restore", nil)
	same(t, "path", taken.ok(t)["path"], "/b")
	c.delete(t, store+"/memories/"+text(t, again, "id"))
	inTheWay := c.put(t, store, "/a", "in the way")
	failure := c.do(t, http.MethodPost, first+"/restore", nil).fails(t, 409, pathConflict)
	same(t, "conflicting_memory_id", failure["conflicting_memory_id"], inTheWay["id"])

	deletion := text(t, items(t, c.get(t, store+"/memory_versions?operation=deleted&limit=1"))[0], "id")
	c.do(t, http.MethodPost, store+"/memory_versions/"+deletion+"/restore", nil).fails(t, 400, invalidRequest, "deletion")
	c.post(t, first+"/redact", nil)
	c.do(t, http.MethodPost, first+"/restore", nil).fails(t, 400, invalidRequest, "redacted")
	c.do(t, http.MethodPost, first+"/restore", object{"x": 1}).fails(t, 400, invalidRequest, "x: extra inputs")
	s.as("a", apikey.RoleRead).do(t, http.MethodPost, first+"/restore", nil).fails(t, 403, noAccess)
}

func TestRestoreStore(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	kept := c.put(t, store, "/kept", "one")
	gone := c.put(t, store, "/gone", "here")
	then := s.clock.time().Format(time.RFC3339Nano)
	c.post(t, store+"/memories/"+text(t, kept, "id"), object{"content": "two"})
	c.delete(t, store+"/memories/"+text(t, gone, "id"))
	c.put(t, store, "/new", "")
	changed := c.pages(t, store+"/memories?view=full", 20)

	want := object{
		"type": "memory_restoration", "memory_store_id": kept["memory_store_id"], "dry_run": true,
		"written": []any{"/kept", "/gone"}, "removed": []any{"/new"}, "lost": []any{}, "masked": []any{},
	}
	same(t, "the rehearsal", c.post(t, store+"/restore", object{"as_of": then, "dry_run": true}), want)
	same(t, "the store after it", c.pages(t, store+"/memories?view=full", 20), changed)
	want["dry_run"] = false
	same(t, "the restoration", c.post(t, store+"/restore", object{"as_of": then}), want)
	list := c.pages(t, store+"/memories?view=full", 20)
	same(t, "paths", column(list, "path"), []any{"/gone", "/kept"})
	same(t, "contents", column(list, "content"), []any{"here", "one"})
	want["written"], want["removed"] = []any{}, []any{}
	same(t, "once more", c.post(t, store+"/restore", object{"as_of": then}), want)

	for body, words := range map[string]string{
		"":                      "as_of: field required",
		`{"as_of":"yesterday"}`: "as_of: must be a time",
		`{"as_of":7}`:           "as_of: must be a time",
		`{"as_of":"2026-09-26T12:00:00Z","dry_run":"yes"}`: "dry_run: must be true or false, not string",
		`{"at":"2026-09-26T12:00:00Z"}`:                    "at: extra inputs are not permitted",
	} {
		c.do(t, http.MethodPost, store+"/restore", body).fails(t, 400, invalidRequest, words)
	}
	s.as("a", apikey.RoleRead).do(t, http.MethodPost, store+"/restore", object{"as_of": then}).fails(t, 403, noAccess)
}
