package httpapi_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"memento/httpapi"
)

// The document describes every endpoint, and no other: its role, whether it is of
// the Memory Stores API, and whether it needs a key.
func TestOpenAPI(t *testing.T) {
	s := newSite(t, nil)
	document := (&caller{url: s.url}).get(t, "/openapi.json")
	same(t, "openapi", document["openapi"], "3.1.0")

	want := map[string]httpapi.Endpoint{}
	for _, e := range httpapi.Endpoints() {
		want[e.Method+" "+e.Pattern] = e
	}
	got := map[string]bool{}
	ids := map[string]bool{}
	for path, item := range document["paths"].(object) {
		for method, o := range item.(object) {
			if method == "parameters" {
				continue
			}
			operation, name := o.(object), strings.ToUpper(method)+" "+path
			got[name] = true
			e := want[name]
			role, _ := operation["x-memento-role"].(string)
			same(t, "role of "+name, role, string(e.Role))
			tags, _ := operation["tags"].([]any)
			if slices.Contains(tags, any("memento")) == e.Standard {
				t.Errorf("%s has the tags %v", name, tags)
			}
			if security, open := operation["security"].([]any); open != (e.Role == "") || len(security) > 0 {
				t.Errorf("%s: security is %v; its role is %q", name, operation["security"], e.Role)
			}
			id := text(t, operation, "operationId")
			if ids[id] || operation["summary"] == "" {
				t.Errorf("%s: operationId %q, summary %q", name, id, operation["summary"])
			}
			ids[id] = true
			responses := operation["responses"].(object)
			if responses["200"] == nil || (e.Role != "") != (responses["401"] != nil) || strings.Contains(path, "{") != (responses["404"] != nil) {
				t.Errorf("%s: responses are %v", name, slices.Sorted(maps.Keys(responses)))
			}
		}
	}
	same(t, "endpoints", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	same(t, "once more", (&caller{url: s.url}).do(t, http.MethodGet, "/openapi.json?beta=true", nil).body, document)
}
