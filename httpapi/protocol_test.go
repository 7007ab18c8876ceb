package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"memento/backend/apikey"
	"memento/httpapi"
)

// What the hosted service refuses is refused if that is asked for.
func TestBetas(t *testing.T) {
	const memory, agents = "agent-memory-2026-07-22", "managed-agents-2026-04-01"
	for _, tt := range []struct {
		name    string
		headers []string
		refused string // by a strict server; "" if not
	}{
		{"none", nil, memory},
		{"memory", []string{memory}, ""},
		{"agents", []string{agents}, ""},
		{"both on one line", []string{memory + "," + agents}, "together"},
		{"both on two lines", []string{agents, memory}, "together"},
		{"among others on one line", []string{"a, " + memory + " ,b"}, ""},
		{"among others on several lines", []string{"oauth-2025-04-20,x", agents, "y"}, ""},
		{"twice", []string{memory, memory + "," + memory}, ""},
		{"another", []string{"context-management-2025-06-27"}, memory},
		{"empty", []string{"", ","}, memory},
		{"in another case", []string{strings.ToUpper(memory)}, memory},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				s := newSite(t, func(o *httpapi.Options) { o.StrictBetas = strict })
				c := s.admin.with("anthropic-version", "2023-06-01")
				for _, h := range tt.headers {
					if h == "" {
						h = " "
					}
					c = c.with("anthropic-beta", h)
				}
				r := c.do(t, http.MethodGet, stores+"?beta=true", nil)
				if strict && tt.refused != "" {
					r.fails(t, 400, invalidRequest, "anthropic-beta", tt.refused)
				} else {
					r.ok(t)
				}
				c.get(t, "/v1/whoami") // is memento's own
			}
		})
	}
	for version, refused := range map[string]bool{"": true, "2023-06-01": false, "2026-10-21": false, "2023-01-01": true, "x": true} {
		for _, strict := range []bool{false, true} {
			s := newSite(t, func(o *httpapi.Options) { o.StrictBetas = strict })
			c := s.admin.with("anthropic-beta", memory)
			if version != "" {
				c = c.with("anthropic-version", version)
			}
			if r := c.do(t, http.MethodGet, stores, nil); strict && refused {
				r.fails(t, 400, invalidRequest, "anthropic-version")
			} else {
				r.ok(t)
			}
		}
	}
}

// Whatever is asked for that there is not, the answer is an error in JSON.
func TestRoutes(t *testing.T) {
	s := newSite(t, nil)
	c := s.admin
	store := c.newStore(t, "notes")
	made := c.put(t, store, "/a", "text")
	memory := store + "/memories/" + text(t, made, "id")
	version := store + "/memory_versions/" + text(t, made, "memory_version_id")

	for _, path := range []string{"/", "/v1", "/v1/", "/v2/memory_stores", "/v1/memory_store", "/v1/messages", store + "/unknown", memory + "/x", version + "/undo", "/v1/whoami/x", "/favicon.ico", "/%"[:1] + "%20"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS"} {
			c.do(t, method, path, nil).fails(t, 404, notFound, "openapi.json")
		}
	}
	for path, allowed := range map[string]string{
		stores:                     "GET, POST",
		store:                      "DELETE, GET, POST",
		store + "/archive":         "POST",
		store + "/memories":        "GET, POST",
		memory:                     "DELETE, GET, PATCH, POST",
		store + "/memory_versions": "GET",
		version:                    "GET",
		version + "/redact":        "POST",
		store + "/changes":         "GET, POST",
		store + "/settings":        "GET, POST",
		"/v1/admin/keys":           "GET, POST",
		"/v1/whoami":               "GET",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			if slices.Contains(strings.Split(allowed, ", "), method) {
				continue
			}
			r := c.do(t, method, path, nil)
			r.fails(t, 405, invalidRequest, method)
			same(t, "Allow of "+path, r.header.Get("Allow"), allowed)
		}
	}

	// HEAD is GET without the body.
	for _, path := range []string{stores, store, store + "/memories", memory, store + "/memory_versions", version, "/v1/whoami", store + "/export", store + "/entries", store + "/changes?after=0", "/openapi.json"} {
		r := c.do(t, http.MethodHead, path, nil)
		if r.status != http.StatusOK || len(r.text) > 0 || r.header.Get("Content-Type") == "" {
			t.Errorf("HEAD %s: %d %q %q", path, r.status, r.header.Get("Content-Type"), r.text)
		}
	}
	if r := c.do(t, http.MethodHead, store+"/memories/mem_1", nil); r.status != http.StatusNotFound {
		t.Errorf("HEAD of nothing: %d", r.status)
	}

	// Every answer names itself, its workspace, and nothing to keep.
	first, second := c.do(t, http.MethodGet, stores, nil), c.do(t, http.MethodGet, store+"/memories/mem_1", nil)
	if first.header.Get("request-id") == second.header.Get("request-id") {
		t.Error("two requests have one ID")
	}
	for _, r := range []*reply{first, second} {
		same(t, "workspace", r.header.Get("anthropic-workspace-id"), "default")
		same(t, "cache-control", r.header.Get("cache-control"), "no-store")
	}
	c.with("anthropic-workspace-id", "default").get(t, stores)
	c.with("anthropic-workspace-id", "other").do(t, http.MethodGet, stores, nil).fails(t, 403, noAccess, "workspace")
}

// A body is JSON, or is not there.
func TestBodies(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.MaxBody = 1000 })
	c := s.admin
	body := object{"name": "a"}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"} {
		c.with("Content-Type", "", "Content-Type", kind).post(t, stores, body)
	}
	c.with("Content-Type", "").post(t, stores, body)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", "application/jsonp"} {
		c.with("Content-Type", "", "Content-Type", kind).do(t, http.MethodPost, stores, body).fails(t, 400, invalidRequest, "Content-Type: must be application/json (with curl, use --json)")
	}
	large := object{"name": strings.Repeat("x", 1000)}
	c.do(t, http.MethodPost, stores, large).fails(t, 413, "request_too_large", "1000 bytes")

	// One that is sent in pieces is the same.
	r, err := http.NewRequest(http.MethodPost, s.url+stores, io.MultiReader(strings.NewReader(`{"name":`), bytes.NewReader([]byte(`"b"}`))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || r.ContentLength != 0 {
		t.Errorf("in pieces: %d", answer.StatusCode)
	}
}

func TestWhoAmI(t *testing.T) {
	s := newSite(t, nil)
	for _, role := range []apikey.Role{apikey.RoleRead, apikey.RoleWrite, apikey.RoleAdmin} {
		c := s.as("team-a", role)
		same(t, "identity", c.get(t, "/v1/whoami"), object{
			"type": "identity", "id": c.keyID, "workspace_id": "team-a", "role": string(role),
			"actor": object{"type": "api_actor", "api_key_id": c.keyID},
		})
	}
}
