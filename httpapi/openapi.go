package httpapi

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openAPI []byte

// openAPIJSON returns openapi.yaml as JSON.
var openAPIJSON = sync.OnceValues(func() ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(openAPI, &document); err != nil {
		return nil, err
	}
	return json.Marshal(document)
})

func (a *API) serveOpenAPI(c *call) error {
	text, err := openAPIJSON()
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(text)
	return nil
}
