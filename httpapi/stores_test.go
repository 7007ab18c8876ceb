package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
)

var (
	storeFields = []string{
		"id", "type", "name", "description", "metadata", "created_at", "updated_at", "archived_at",
		"limits", "usage", "settings",
	}
	defaultLimits = object{
		"memory_bytes": 102400., "memories": 10000., "bytes": 104857600., "path_bytes": 1024., "path_depth": 512.,
	}
	defaultSettings = object{
		"sensitive": object{"mode": "mask"},
		"expiry":    object{"after": "0s"},
		"retention": object{"age": "720h0m0s", "versions": 10.},
	}
)

func TestStoreLife(t *testing.T) {
	s := newSite(t, writersRedact)
	c := s.as("a", apikey.RoleWrite)

	made := c.post(t, stores, object{"name": "Team notes"})
	keys(t, made, storeFields...)
	id := text(t, made, "id")
	path := stores + "/" + id
	if !strings.HasPrefix(id, "memstore_") {
		t.Errorf("id is %q", id)
	}
	if at := moment(t, made, "created_at"); !at.Equal(moment(t, made, "updated_at")) {
		t.Errorf("made at %v, updated at %v", at, made["updated_at"])
	}
	for name, want := range (object{
		"type": "memory_store", "name": "Team notes", "description": "", "metadata": object{}, "archived_at": nil,
		"limits": defaultLimits, "usage": object{"memories": 0., "bytes": 0.}, "settings": defaultSettings,
	}) {
		same(t, name, made[name], want)
	}
	same(t, "the store", c.get(t, path), made)

	// What changes nothing moves nothing, whatever its form.
	for _, body := range []any{nil, "", "null", " {} \n", object{}, object{"name": nil, "description": nil, "metadata": nil, "limits": nil, "settings": nil, "if_updated_at": nil},
		object{"name": "Team notes", "description": "", "metadata": object{"absent": nil}}} {
		same(t, fmt.Sprintf("after the update %v", body), c.post(t, path, body), made)
	}
	// Changes of memories move nothing either.
	memory := c.put(t, path, "/a.md", "some text")
	same(t, "updated_at after a change of memories", c.get(t, path)["updated_at"], made["updated_at"])
	same(t, "usage", c.get(t, path)["usage"], object{"memories": 1., "bytes": 9.})

	updated := c.post(t, path, object{"name": "Notes", "description": "What we know", "metadata": object{"team": "a", "tier": "1"}})
	keys(t, updated, storeFields...)
	if !moment(t, updated, "updated_at").After(moment(t, made, "updated_at")) {
		t.Errorf("updated at %v, made at %v", updated["updated_at"], made["updated_at"])
	}
	same(t, "name", updated["name"], "Notes")
	same(t, "description", updated["description"], "What we know")
	// Metadata is a patch.
	updated = c.post(t, path, object{"description": "", "metadata": object{"tier": nil, "lead": "ana", "absent": nil}})
	same(t, "metadata", updated["metadata"], object{"team": "a", "lead": "ana"})
	same(t, "name", updated["name"], "Notes")
	same(t, "description", updated["description"], "")
	same(t, "created_at", updated["created_at"], made["created_at"])

	archived := c.do(t, http.MethodPost, path+"/archive", nil).ok(t)
	keys(t, archived, storeFields...)
	if at := moment(t, archived, "archived_at"); !at.Equal(moment(t, archived, "updated_at")) || !at.After(moment(t, updated, "updated_at")) {
		t.Errorf("archived at %v, updated at %v, before at %v", at, archived["updated_at"], updated["updated_at"])
	}
	for _, body := range []any{nil, "", "{}", "null"} { // for good, and once
		same(t, "the archived store", c.post(t, path+"/archive", body), archived)
	}
	same(t, "the archived store", c.get(t, path), archived)

	// It takes nothing new, and gives away what it has.
	for _, body := range []object{{"name": "x"}, {"description": ""}, {"metadata": object{"a": "b"}}, {}} {
		c.do(t, http.MethodPost, path, body).fails(t, 400, invalidRequest, "archived")
	}
	mid := text(t, memory, "id")
	c.do(t, http.MethodPost, path+"/memories", object{"path": "/b.md", "content": ""}).fails(t, 400, invalidRequest, "archived")
	c.do(t, http.MethodPost, path+"/memories/"+mid, object{"content": "new"}).fails(t, 400, invalidRequest, "archived")
	c.do(t, http.MethodPost, path+"/memories/"+mid, object{}).fails(t, 400, invalidRequest, "archived")
	same(t, "content", c.get(t, path+"/memories/"+mid)["content"], "some text")
	c.delete(t, path+"/memories/"+mid)
	c.post(t, path+"/memory_versions/"+text(t, memory, "memory_version_id")+"/redact", nil)

	same(t, "answer to delete", c.delete(t, path), object{"id": id, "type": "memory_store_deleted"})
	c.do(t, http.MethodGet, path, nil).fails(t, 404, notFound, "memory store not found")
	c.do(t, http.MethodDelete, path, nil).fails(t, 404, notFound)
	c.do(t, http.MethodPost, path+"/archive", nil).fails(t, 404, notFound)
	c.do(t, http.MethodPost, path, object{"name": "x"}).fails(t, 404, notFound)
	same(t, "events", s.told(), []string{"memory_store.created " + id, "memory_store.archived " + id, "memory_store.deleted " + id})
}

// What a store must be like, when it is made and when it is changed.
func TestStoreFields(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "patched")
	pairs := func(n int) object {
		m := object{}
		for i := range n {
			m[fmt.Sprintf("key %d", i)] = "v"
		}
		return m
	}
	for _, tt := range []struct {
		name string
		body any
		want string // in the message; "" if it is good
	}{
		{"shortest name", object{"name": "a"}, ""},
		{"longest name", object{"name": strings.Repeat("é", 255)}, ""},
		{"name too long", object{"name": strings.Repeat("é", 256)}, "name"},
		{"empty name", object{"name": ""}, "name"},
		{"name with a newline", object{"name": "a\nb"}, "control character"},
		{"name with DEL", object{"name": "a\x7f"}, "control character"},
		{"name with a C1 control", object{"name": "a\u0085"}, "control character"},
		{"name of another type", object{"name": 5}, "name: must be a string, not number"},
		{"longest description", object{"name": "a", "description": strings.Repeat("é", 1024)}, ""},
		{"description with lines", object{"name": "a", "description": "a\nb"}, ""},
		{"description too long", object{"name": "a", "description": strings.Repeat("é", 1025)}, "description"},
		{"description of another type", object{"name": "a", "description": []string{}}, "description: must be a string"},
		{"most metadata", object{"name": "a", "metadata": pairs(16)}, ""},
		{"too much metadata", object{"name": "a", "metadata": pairs(17)}, "metadata"},
		{"longest key and value", object{"name": "a", "metadata": object{strings.Repeat("é", 64): strings.Repeat("é", 512)}}, ""},
		{"empty value", object{"name": "a", "metadata": object{"k": ""}}, ""},
		{"key too long", object{"name": "a", "metadata": object{strings.Repeat("é", 65): ""}}, "metadata key"},
		{"empty key", object{"name": "a", "metadata": object{"": "v"}}, "metadata key"},
		{"value too long", object{"name": "a", "metadata": object{"k": strings.Repeat("é", 513)}}, "metadata value"},
		{"value that is no string", object{"name": "a", "metadata": object{"k": 1}}, "metadata.k: must be a string, not number"},
		{"metadata that is no object", object{"name": "a", "metadata": "k"}, "metadata: must be an object"},
		{"unknown field", object{"name": "a", "names": "b"}, "names: extra inputs are not permitted"},
		{"field in another case", object{"name": "a", "Description": "b"}, "Description: extra inputs are not permitted"},
		{"field that is there twice", `{"name":"a","name":"b"}`, "name: must not be repeated"},
		{"lone surrogate", `{"name":"\ud800"}`, "surrogate"},
		{"lone surrogate beside an escaped escape", `{"name":"\\ufffd \udfff"}`, "surrogate"},
		{"pair of surrogates", `{"name":"\ud83d\ude00"}`, ""},
		{"not UTF-8", "{\"name\":\"\xff\"}", "UTF-8"},
		{"not JSON", `{"name":"a"`, "not valid JSON"},
		{"more than JSON", `{"name":"a"}{}`, "not valid JSON"},
		{"no object", `["name"]`, "must be a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{stores, store} {
				r := c.do(t, http.MethodPost, path, tt.body)
				if tt.want != "" {
					r.fails(t, 400, invalidRequest, tt.want)
					continue
				}
				keys(t, r.ok(t), storeFields...)
				if path == store { // back to what others expect
					for k := range r.body["metadata"].(object) {
						c.post(t, store, object{"metadata": object{k: nil}})
					}
				}
			}
		})
	}
	for _, body := range []any{nil, "", "{}", object{"name": nil}, object{"description": "x"}} {
		c.do(t, http.MethodPost, stores, body).fails(t, 400, invalidRequest, "name: field required")
	}
	c.do(t, http.MethodPost, stores, object{"name": "a", "metadata": object{"k": nil}}).
		fails(t, 400, invalidRequest, "metadata.k: must be a string, not null")

	// The most pairs count for the result of a patch.
	c.post(t, store, object{"metadata": pairs(16)})
	before := c.get(t, store)
	c.do(t, http.MethodPost, store, object{"metadata": object{"one": "more"}}).fails(t, 400, invalidRequest, "17 pairs")
	same(t, "the store after a refusal", c.get(t, store), before)
	c.post(t, store, object{"metadata": object{"one": "more", "key 0": nil}})
}

func TestStoreListing(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	same(t, "an empty listing", c.get(t, stores), object{"data": []any{}, "next_page": nil})

	const n = 41
	made := make([]object, n)
	for i := range made {
		made[i] = c.post(t, stores, object{"name": fmt.Sprintf("store %d", i%40)})
	}
	slices.Reverse(made) // newest first
	same(t, "the listing", c.pages(t, stores, 20), made)
	same(t, "the first page", items(t, c.get(t, stores)), made[:20])
	for _, limit := range []int{1, 20, 40, 41, 100} {
		path := fmt.Sprintf("%s?beta=true&limit=%d", stores, limit)
		same(t, path, c.pages(t, path, limit), made)
	}
	// A page that is full, and the last, says so.
	same(t, "next_page", c.get(t, stores+"?limit=41")["next_page"], nil)
	same(t, "after a store", c.pages(t, stores+"?limit=50&after="+text(t, made[0], "id"), 50), made[1:])

	t.Run("times", func(t *testing.T) {
		at := moment(t, made[20], "created_at")
		zone := time.FixedZone("", 2*60*60)
		for _, tt := range []struct {
			query string
			want  []object
		}{
			{"created_at%5Bgte%5D=" + url.QueryEscape(at.Format(time.RFC3339Nano)), made[:21]},
			{"created_at[lte]=" + url.QueryEscape(at.Format(time.RFC3339Nano)), made[20:]},
			{"created_at[gte]=" + url.QueryEscape(at.In(zone).Format(time.RFC3339Nano)), made[:21]},
			{"created_at[gte]=" + at.In(zone).Format(time.RFC3339Nano), made[:21]}, // its + is not escaped
			{"created_at[gte]=" + url.QueryEscape(at.Add(time.Microsecond).Format(time.RFC3339Nano)), made[:20]},
			{"created_at[lte]=" + url.QueryEscape(at.Add(-time.Microsecond).Format(time.RFC3339Nano)), made[21:]},
			{"created_at[gte]=" + url.QueryEscape(at.Format(time.RFC3339Nano)) + "&created_at[lte]=" + url.QueryEscape(at.Format(time.RFC3339Nano)), made[20:21]},
			{"created_at[gte]=2030-01-01T00:00:00Z", nil},
		} {
			same(t, tt.query, c.pages(t, stores+"?limit=7&"+tt.query, 7), tt.want)
		}
	})

	t.Run("archived", func(t *testing.T) {
		id := text(t, made[3], "id")
		archived := c.post(t, stores+"/"+id+"/archive", nil)
		all := slices.Clone(made)
		all[3] = archived
		living := slices.Delete(slices.Clone(made), 3, 4)
		same(t, "by default", c.pages(t, stores, 20), living)
		same(t, "without", c.pages(t, stores+"?include_archived=false", 20), living)
		same(t, "with", c.pages(t, stores+"?include_archived=true&limit=9", 9), all)
	})

	t.Run("name", func(t *testing.T) {
		same(t, "both of a name", c.pages(t, stores+"?name=store+0&limit=1", 1), []object{made[0], made[40]})
		same(t, "no such name", c.get(t, stores+"?name=store"), object{"data": []any{}, "next_page": nil})
	})

	// A page continues where the last one ended, even if that is gone, and
	// what came meanwhile is not in it.
	t.Run("changes between pages", func(t *testing.T) {
		first := c.get(t, stores+"?include_archived=true&limit=5")
		list := items(t, first)
		c.delete(t, stores+"/"+text(t, list[4], "id"))
		c.newStore(t, "newer")
		rest := c.pages(t, stores+"?include_archived=true&limit=50&page="+text(t, first, "next_page"), 50)
		same(t, "what follows", column(rest, "id"), column(made[5:], "id"))
	})

	t.Run("refused", func(t *testing.T) {
		store := c.newStore(t, "with a memory")
		c.put(t, store, "/a", "")
		c.put(t, store, "/b", "")
		ofMemories := text(t, c.get(t, store+"/memories?limit=1"), "next_page")
		for query, want := range map[string]string{
			"limit=0":                        "limit: must be a whole number from 1 to 100",
			"limit=101":                      "limit",
			"limit=-1":                       "limit",
			"limit=abc":                      "limit",
			"limit=1.5":                      "limit",
			"limit=99999999999999999999":     "limit",
			"limit=1&limit=1":                "limit: must not be repeated",
			"page=abc":                       "page: is not a cursor of this listing",
			"page=page_":                     "page",
			"page=page_c3g":                  "page", // sx
			"page=page_%21":                  "page",
			"page=" + ofMemories:             "page: is not a cursor of this listing",
			"include_archived=yes":           "include_archived: must be true or false",
			"created_at[gte]=yesterday":      "created_at[gte]: must be a time",
			"created_at[lte]=2026-09-26":     "created_at[lte]: must be a time",
			"name=%ff":                       "name: is not valid UTF-8",
			"name=%zz":                       "query",
			"created_at[gte]=1&name=a&limit": "created_at[gte]",
		} {
			c.do(t, http.MethodGet, stores+"?"+query, nil).fails(t, 400, invalidRequest, want)
		}
		// Nobody looks at these.
		c.get(t, stores+"?beta=true&beta=true&nobody=%ff&nobody=knows&limit=&page=&name=")
	})
}

// A store is nobody's but its workspace's, and what is no ID is nothing.
func TestStoresOfOthers(t *testing.T) {
	s := newSite(t, nil)
	c, other := s.as("a", apikey.RoleAdmin), s.as("b", apikey.RoleAdmin)
	store := c.newStore(t, "mine")
	memory := c.put(t, store, "/a.md", "text")
	same(t, "the other's listing", other.get(t, stores), object{"data": []any{}, "next_page": nil})
	version := "/memory_versions/" + text(t, memory, "memory_version_id")
	for _, tt := range []struct{ method, path string }{
		{"GET", ""}, {"POST", ""}, {"DELETE", ""}, {"POST", "/archive"},
		{"GET", "/memories"}, {"POST", "/memories"}, {"GET", "/memories/by-path?path=/a.md"},
		{"GET", "/memories/" + text(t, memory, "id")}, {"POST", "/memories/" + text(t, memory, "id")},
		{"PATCH", "/memories/" + text(t, memory, "id")}, {"DELETE", "/memories/" + text(t, memory, "id")},
		{"GET", "/memory_versions"}, {"GET", version}, {"POST", version + "/redact"}, {"POST", version + "/restore"},
		{"GET", "/settings"}, {"POST", "/settings"}, {"GET", "/usage"}, {"POST", "/tool"}, {"GET", "/search?query=a"},
		{"GET", "/changes"}, {"GET", "/changes?after=0"}, {"POST", "/changes"}, {"POST", "/restore"}, {"GET", "/export"}, {"POST", "/import"},
		{"GET", "/entries"}, {"GET", "/history"}, {"POST", "/history"}, {"POST", "/prune"}, {"POST", "/reads"},
	} {
		for _, in := range []struct {
			from  *caller
			store string
		}{
			{other, store},
			{c, stores + "/memstore_01"},
			{c, stores + "/mem_01"},
			{c, stores + "/memstore_a%2Fb"},
			{c, stores + "/memstore_%00"},
		} {
			in.from.do(t, tt.method, in.store+tt.path, nil).fails(t, 404, notFound, "memory store not found")
		}
	}
	same(t, "the store after all that", c.get(t, store+"/memories")["data"], []any{any(memory)})

	// SDKs let an empty ID through.
	for _, path := range []string{
		stores + "/", stores + "//memories", store + "/memories/", store + "//memories", store + "/memories//",
		store + "/memory_versions/", store + "/memory_versions//redact", "//v1/memory_stores", "/v1//memory_stores", stores + "//archive",
		stores + "/./x", stores + "/../memory_stores", stores + "/%2e%2e/memory_stores",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			c.do(t, method, path, nil).fails(t, 404, notFound)
		}
	}
}

func TestArchiveTellsOnce(t *testing.T) {
	s := newSite(t, nil)
	store := s.admin.newStore(t, "short-lived")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := s.admin.send(t, http.MethodPost, store+"/archive", nil)
			if err != nil || r.status != http.StatusOK {
				t.Errorf("archive: %v %v", r, err)
			}
		})
	}
	all.Wait()
	id := strings.TrimPrefix(store, stores+"/")
	same(t, "events", s.told(), []string{"memory_store.created " + id, "memory_store.archived " + id})
}

func TestStoreByName(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	byName := stores + "/by-name"

	// However many ask at once, one store is made.
	ids := make(chan string, 16)
	var all sync.WaitGroup
	for range cap(ids) {
		all.Go(func() {
			r, err := c.send(t, http.MethodPost, byName, object{"name": "user 7", "description": "of user 7"})
			if err != nil || r.status != http.StatusOK {
				t.Errorf("by-name: %v %v", r, err)
				return
			}
			ids <- r.body["id"].(string)
		})
	}
	all.Wait()
	close(ids)
	id := <-ids
	for other := range ids {
		if other != id {
			t.Errorf("two stores were made: %s and %s", id, other)
		}
	}
	same(t, "events", s.told(), []string{"memory_store.created " + id})
	list := items(t, c.get(t, stores))
	same(t, "stores", column(list, "name"), []any{"user 7"})
	same(t, "the store", c.post(t, byName, object{"name": "user 7"}), list[0])
	same(t, "description", list[0]["description"], "of user 7")

	// Names are a workspace's own, and those of archived stores are free.
	other := s.as("b", apikey.RoleWrite)
	if other.post(t, byName, object{"name": "user 7"})["id"] == id {
		t.Error("another workspace has the same store")
	}
	c.post(t, stores+"/"+id+"/archive", nil)
	if c.post(t, byName, object{"name": "user 7"})["id"] == id {
		t.Error("an archived store was found by name")
	}

	c.do(t, http.MethodPost, stores, object{"name": "user 7", "unique_name": true}).fails(t, 409, conflict, "name")
	c.newStore(t, "user 7") // names may repeat unless that is asked for
	c.do(t, http.MethodPost, byName, object{"name": "user 7"}).fails(t, 409, conflict, "several")
	for _, body := range []any{nil, object{"name": ""}, object{"name": nil}, object{"name": "a\n"}, object{"names": "a"}} {
		c.do(t, http.MethodPost, byName, body).fails(t, 400, invalidRequest, "name")
	}
	s.as("a", apikey.RoleRead).do(t, http.MethodPost, byName, object{"name": "a"}).fails(t, 403, noAccess, "write")
	c.do(t, http.MethodGet, byName, nil).fails(t, 405, invalidRequest)
}

func TestLimitsAndSettings(t *testing.T) {
	s := newSite(t, nil)
	admin, writer, reader := s.admin, s.as(memento.DefaultWorkspace, apikey.RoleWrite), s.as(memento.DefaultWorkspace, apikey.RoleRead)
	limited := object{"memory_bytes": 102400., "memories": 2., "bytes": 104857600., "path_bytes": 1024., "path_depth": 512.}

	// They are an admin's to choose.
	for _, body := range []object{{"limits": object{"memories": 2}}, {"settings": object{}}} {
		body["name"] = "limited"
		for _, path := range []string{stores, stores + "/by-name"} {
			writer.do(t, http.MethodPost, path, body).fails(t, 403, noAccess, "admin")
		}
	}
	writer.post(t, stores, object{"name": "of a writer", "limits": nil, "settings": nil})
	made := admin.post(t, stores, object{
		"name": "limited", "unique_name": true, "limits": object{"memories": 2},
		"settings": object{"sensitive": object{"mode": "off"}, "retention": object{"age": "forever"}},
	})
	same(t, "limits", made["limits"], limited)
	same(t, "settings", made["settings"], object{
		"sensitive": object{"mode": "off"}, "expiry": object{"after": "0s"}, "retention": object{"age": "forever", "versions": 10.},
	})
	store := stores + "/" + text(t, made, "id")
	for _, body := range []object{{"limits": object{"memories": 3}}, {"settings": object{}}} {
		writer.do(t, http.MethodPost, store, body).fails(t, 403, noAccess, "admin")
		writer.do(t, http.MethodPost, store+"/settings", body).fails(t, 403, noAccess, "admin")
	}
	writer.do(t, http.MethodPost, store+"/settings", nil).fails(t, 403, noAccess, "admin")

	answer := reader.get(t, store+"/settings")
	keys(t, answer, "type", "memory_store_id", "limits", "settings")
	same(t, "type", answer["type"], "memory_store_settings")
	same(t, "memory_store_id", answer["memory_store_id"], made["id"])
	same(t, "limits", answer["limits"], made["limits"])
	same(t, "settings", answer["settings"], made["settings"])
	same(t, "after no change", admin.post(t, store+"/settings", object{"limits": nil, "settings": nil}), answer)
	same(t, "updated_at after no change", admin.get(t, store)["updated_at"], made["updated_at"])

	// Here what is given replaces what there was, at any depth,
	answer = admin.post(t, store+"/settings", object{
		"limits":   object{"memory_bytes": 10},
		"settings": object{"retention": object{"versions": 3}, "read_only": []string{"/team/"}, "expiry": object{"after": "48h", "keep": []string{"/keep/"}}},
	})
	limited["memory_bytes"] = 10.
	same(t, "limits", answer["limits"], limited)
	same(t, "settings", answer["settings"], object{
		"sensitive": object{"mode": "off"}, "expiry": object{"after": "48h0m0s", "keep": []any{"/keep/"}},
		"retention": object{"age": "forever", "versions": 3.}, "read_only": []any{"/team/"},
	})
	same(t, "the store's settings", admin.get(t, store)["settings"], answer["settings"])
	answer = admin.post(t, store+"/settings", object{"settings": object{"read_only": []string{}}})
	if _, ok := answer["settings"].(object)["read_only"]; ok {
		t.Errorf("read_only is still there: %v", answer)
	}
	// and here all of it.
	updated := admin.post(t, store, object{"settings": object{"expiry": object{"after": "2h"}}})
	same(t, "settings", updated["settings"], object{
		"sensitive": object{"mode": "mask"}, "expiry": object{"after": "2h0m0s"}, "retention": object{"age": "720h0m0s", "versions": 10.},
	})
	same(t, "limits", updated["limits"], limited)
	updated = admin.post(t, store, object{"limits": object{"memories": 2}})
	limited["memory_bytes"] = 102400.
	same(t, "limits", updated["limits"], limited)
	same(t, "settings", admin.post(t, store, object{"settings": object{}})["settings"], defaultSettings)

	// An update may depend on the store being as it was.
	stale := object{"description": "new", "if_updated_at": made["updated_at"]}
	admin.do(t, http.MethodPost, store, stale).fails(t, 409, conflict, "changed since it was read")
	stale["if_updated_at"] = admin.get(t, store)["updated_at"]
	same(t, "description", admin.post(t, store, stale)["description"], "new")

	for _, tt := range []struct {
		body object
		want string
	}{
		{object{"limits": object{"memories": -1}}, "memories"},
		{object{"limits": object{"path_bytes": 1025}}, "path_bytes"},
		{object{"limits": object{"memories": "2"}}, "limits.memories: must be a whole number, not string"},
		{object{"limits": object{"memories": 1.5}}, "limits.memories: must be a whole number, not number 1.5"},
		{object{"limits": object{"Memories": 2}}, "limits.Memories: extra inputs are not permitted"},
		{object{"limits": []int{}}, "limits: must be an object"},
		{object{"settings": object{"colour": "red"}}, "settings.colour: extra inputs are not permitted"},
		{object{"settings": object{"expiry": object{"afer": "1h"}}}, "settings.expiry.afer: extra inputs are not permitted"},
		{object{"settings": object{"expiry": object{"after": "soon"}}}, "settings.expiry: must have durations"},
		{object{"settings": object{"expiry": object{"after": 5}}}, "settings.expiry.after: must be a string, not number"},
		{object{"settings": object{"expiry": object{"after": "1s"}}}, "expire"},
		{object{"settings": object{"retention": "forever"}}, "settings.retention: must be an object"},
		{object{"settings": object{"retention": object{"versions": -1}}}, "history"},
		{object{"settings": object{"sensitive": object{"mode": "on"}}}, "mask, reject or off"},
		{object{"settings": object{"read_only": []string{"/["}}}, "read-only"},
	} {
		before := admin.get(t, store)
		admin.do(t, http.MethodPost, store, tt.body).fails(t, 400, invalidRequest, tt.want)
		admin.do(t, http.MethodPost, store+"/settings", tt.body).fails(t, 400, invalidRequest, tt.want)
		same(t, "the store after a refusal", admin.get(t, store), before)
	}
	admin.do(t, http.MethodPost, store, object{"if_updated_at": "0001-01-01T00:00:00Z"}).fails(t, 400, invalidRequest, "if_updated_at")
	admin.do(t, http.MethodPost, store, object{"if_updated_at": "now"}).fails(t, 400, invalidRequest, "if_updated_at: must be a time")

	// They are kept.
	writer.put(t, store, "/a.md", "")
	writer.put(t, store, "/b.md", "")
	failure := writer.do(t, http.MethodPost, store+"/memories", object{"path": "/c.md", "content": ""}).fails(t, 400, invalidRequest, "memories")
	same(t, "code", failure["code"], "too_large")
	same(t, "limit", failure["limit"], any(object{"name": "memories", "max": 2., "used": 2., "want": 3.}))
	admin.post(t, store+"/settings", object{"settings": object{"read_only": []string{"/a.md"}}})
	path := store + "/memories/" + text(t, writer.get(t, store+"/memories/by-path?path=/a.md"), "id")
	same(t, "code", writer.do(t, http.MethodPost, path, object{"content": "x"}).fails(t, 400, invalidRequest, "read-only")["code"], "protected")
	same(t, "code", writer.do(t, http.MethodDelete, path, nil).fails(t, 400, invalidRequest, "read-only")["code"], "protected")

	// Nothing is changed about an archived store.
	admin.post(t, store+"/archive", nil)
	admin.do(t, http.MethodPost, store+"/settings", object{"limits": object{"memories": 5}}).fails(t, 400, invalidRequest, "archived")
	admin.get(t, store+"/settings")
}

func TestUsage(t *testing.T) {
	s := newSite(t, nil)
	made := s.admin.post(t, stores, object{"name": "small", "limits": object{"memories": 10, "bytes": 100}})
	store := stores + "/" + text(t, made, "id")
	usage := s.admin.get(t, store+"/usage")
	want := object{"type": "memory_store_usage", "memory_store_id": made["id"], "memories": 0., "bytes": 0., "limits": made["limits"], "near_limits": []any{}}
	same(t, "usage", usage, want)
	s.admin.put(t, store, "/a", strings.Repeat("x", 81))
	want["memories"], want["bytes"], want["near_limits"] = 1., 81., []any{"bytes"}
	same(t, "usage", s.admin.get(t, store+"/usage"), want)
	for i := range 8 {
		s.admin.put(t, store, fmt.Sprintf("/%d", i), "")
	}
	want["memories"], want["near_limits"] = 9., []any{"memories", "bytes"}
	same(t, "usage", s.as(memento.DefaultWorkspace, apikey.RoleRead).get(t, store+"/usage"), want)
}
