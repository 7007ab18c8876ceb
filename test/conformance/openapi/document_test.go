package openapi

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestDocument checks the document by the rules of OpenAPI 3.1, and its examples by
// its schemas.
func TestDocument(t *testing.T) {
	d := loadDocument(t, newSite(t, nil).url, false)
	if !d.IsOpenAPI31OrLater() {
		t.Errorf("the document is of OpenAPI %s", d.OpenAPI)
	}
	examples := 0
	for name, s := range d.Components.Schemas {
		for _, example := range s.Value.Examples {
			examples++
			if err := s.Value.VisitJSON(example, openapi3.EnableJSONSchema2020()); err != nil {
				t.Errorf("the example of %s: %v", name, err)
			}
		}
	}
	if examples == 0 {
		t.Error("no schema has an example")
	}
}

// loadDocument asks a server for its document. A strict one allows no field of an
// object that is not described.
func loadDocument(t *testing.T, url string, strict bool) *openapi3.T {
	t.Helper()
	r, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s: %v", r.StatusCode, text, err)
	}
	if strict {
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		closeObjects(document["components"].(map[string]any)["schemas"])
		if text, err = json.Marshal(document); err != nil {
			t.Fatal(err)
		}
	}
	d, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	return d
}

// closeObjects allows no other properties to schemas that name some.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if s["properties"] != nil && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, part := range s {
			closeObjects(part)
		}
	case []any:
		for _, part := range s {
			closeObjects(part)
		}
	}
}
