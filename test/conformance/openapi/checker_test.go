package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

func init() {
	for _, kind := range []string{"application/x-ndjson", "text/event-stream", "application/gzip"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.FileBodyDecoder)
	}
}

// A checker is a transport that holds requests and answers against a document.
type checker struct {
	t        *testing.T
	document *openapi3.T
	mux      *http.ServeMux // finds the path of the document that a request is for

	mu   sync.Mutex
	seen map[string]bool // "METHOD PATH STATUS"
}

func newChecker(t *testing.T, d *openapi3.T) *checker {
	c := &checker{t: t, document: d, mux: http.NewServeMux(), seen: map[string]bool{}}
	for path := range d.Paths.Map() {
		c.mux.Handle(path, http.NotFoundHandler())
	}
	return c
}

// route returns the operation of a request; nil if the document has none.
func (c *checker) route(r *http.Request) (*routers.Route, map[string]string) {
	_, path := c.mux.Handler(r)
	item := c.document.Paths.Value(path)
	if item == nil || item.GetOperation(r.Method) == nil {
		return nil, nil
	}
	values := map[string]string{}
	given := strings.Split(r.URL.EscapedPath(), "/")
	for i, part := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			values[strings.TrimSuffix(name, "}")] = given[i]
		}
	}
	return &routers.Route{Spec: c.document, Path: path, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)}, values
}

// RoundTrip sends a request, and reports what the document does not say of it or of
// its answer. What an error answers need not be as the document has it.
func (c *checker) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	received, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(received))
	if err := c.check(r, sent, response, received); err != nil {
		c.t.Errorf("%s %s: %d %.1000s: %v", r.Method, r.URL, response.StatusCode, received, err)
	}
	return response, nil
}

func (c *checker) check(r *http.Request, sent []byte, response *http.Response, received []byte) error {
	route, values := c.route(r)
	if route == nil {
		switch response.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
			return c.conforms("Error", received)
		}
		return fmt.Errorf("the document has no such operation")
	}
	c.mu.Lock()
	c.seen[fmt.Sprint(route.Method, " ", route.Path, " ", response.StatusCode)] = true
	c.mu.Unlock()

	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(sent))
	if len(sent) == 0 {
		again.Body = http.NoBody
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true,
		MultiError:            true,
		AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
		SkipSettingDefaults:   true,
	}
	request := &openapi3filter.RequestValidationInput{Request: again, PathParams: values, Route: route, Options: options}
	if response.StatusCode == http.StatusOK {
		if err := openapi3filter.ValidateRequest(again.Context(), request); err != nil {
			return fmt.Errorf("the request was accepted, and should not have been: %w", err)
		}
		if err := c.knowsQuery(route, r); err != nil {
			return err
		}
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request, Status: response.StatusCode, Header: response.Header, Options: options,
	}
	if err := openapi3filter.ValidateResponse(again.Context(), answer.SetBodyBytes(received)); err != nil {
		return err
	}
	if response.Header.Get("Content-Type") == "application/x-ndjson" {
		return c.checkLines(received)
	}
	return nil
}

// knowsQuery refuses parameters that the document does not have.
func (c *checker) knowsQuery(route *routers.Route, r *http.Request) error {
	for name := range r.URL.Query() {
		known := slices.ContainsFunc(route.Operation.Parameters, func(p *openapi3.ParameterRef) bool {
			return p.Value.In == "query" && p.Value.Name == name
		})
		if !known && !slices.Contains([]string{"beta", "order", "order_by"}, name) {
			return fmt.Errorf("the document has no parameter %s", name)
		}
	}
	return nil
}

// conforms reports whether a text is JSON by one of the document's schemas.
func (c *checker) conforms(schema string, text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	return c.document.Components.Schemas[schema].Value.VisitJSON(v, openapi3.EnableJSONSchema2020())
}

// lineSchemas are the schemas of the lines of a stream, by their type.
var lineSchemas = map[string]string{
	"memory": "Memory", "memory_prefix": "Directory", "foreign_file": "Foreign", "memory_version": "Version",
	"memory_store_deleted": "StoreDeleted", "error": "Error", "end": "End",
}

func (c *checker) checkLines(text []byte) error {
	last := ""
	for line := range bytes.Lines(text) {
		var typed struct{ Type string }
		if err := json.Unmarshal(line, &typed); err != nil {
			return err
		}
		last = typed.Type
		if err := c.conforms(lineSchemas[last], line); err != nil {
			return fmt.Errorf("line %s: %w", line, err)
		}
	}
	if last != "end" && last != "error" {
		return fmt.Errorf("the stream ends with %q", last)
	}
	return nil
}

// want reports operations whose answers with a status were never seen, except
// some.
func (c *checker) want(status int, except ...string) {
	c.t.Helper()
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			name := method + " " + path
			documented := operation.Responses.Status(status) != nil
			if documented && !c.seen[fmt.Sprint(name, " ", status)] && !slices.Contains(except, operation.OperationID) {
				c.t.Errorf("%s was never answered with %d", name, status)
			}
		}
	}
}
