package openapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/httpapi"
	"memento/sensitive"
)

// A site is an API in memory, served over TCP.
type site struct {
	url     string
	api     *httpapi.API
	backend *memstore.Backend
}

// newSite starts a site; set may change its options.
func newSite(t *testing.T, set func(*httpapi.Options)) *site {
	t.Helper()
	s := &site{backend: memstore.New(nil)}
	opts := httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, nil), Detector: sensitive.Default()}
	if set != nil {
		set(&opts)
	}
	var err error
	if s.api, err = httpapi.New(s.backend, opts); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.api)
	s.url = server.URL
	t.Cleanup(func() {
		s.api.Close()
		server.Close()
		if err := s.backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// key returns the secret of a new key of the workspace "default".
func (s *site) key(t *testing.T, role apikey.Role) string {
	t.Helper()
	k, secret, err := apikey.New(memento.DefaultWorkspace, "a key", role, time.Now(), time.Time{})
	if err == nil {
		err = s.backend.AddKey(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// A caller sends requests through a checker.
type caller struct {
	t       *testing.T
	url     string
	key     string
	checker *checker
	headers map[string]string
}

func (s *site) as(t *testing.T, role apikey.Role, c *checker) *caller {
	return &caller{t: t, url: s.url, key: s.key(t, role), checker: c}
}

func (c *caller) with(name, value string) *caller {
	more := *c
	more.headers = map[string]string{name: value}
	for k, v := range c.headers {
		more.headers[k] = v
	}
	return &more
}

type object = map[string]any

// do sends a request, expects a status, and returns the answer: its object, or an
// empty one, and its text. body is a string as it is, nil for none, or else JSON.
func (c *caller) do(status int, method, path string, body any) (object, string) {
	c.t.Helper()
	text, isText := body.(string)
	if body != nil && !isText {
		raw, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(raw)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	response, err := c.checker.RoundTrip(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if response.StatusCode != status {
		c.t.Errorf("%s %s: %d %s; want %d", method, path, response.StatusCode, answer, status)
	}
	o := object{}
	if err := json.Unmarshal(answer, &o); err != nil {
		o = object{}
	}
	return o, string(answer)
}

func (c *caller) get(path string) object {
	c.t.Helper()
	o, _ := c.do(http.StatusOK, http.MethodGet, path, nil)
	return o
}

func (c *caller) post(path string, body any) object {
	c.t.Helper()
	o, _ := c.do(http.StatusOK, http.MethodPost, path, body)
	return o
}

func (c *caller) delete(path string) {
	c.t.Helper()
	c.do(http.StatusOK, http.MethodDelete, path, nil)
}

// id returns a field that is an ID.
func id(t *testing.T, o object, name string) string {
	t.Helper()
	s, _ := o[name].(string)
	if s == "" {
		t.Fatalf("no %s in %v", name, o)
	}
	return s
}
