// Package embedservice is a service of embeddings for tests: a server with the APIs of
// OpenAI, Voyage and Ollama whose model is deterministic, and knows the synonyms of a small
// vocabulary.
package embedservice

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"memento/backend/textindex"
)

// Dimension is the length of the vectors.
const Dimension = 64

// concepts are words that mean the same.
var concepts = [][]string{
	{"car", "cars", "automobile", "vehicle"},
	{"doctor", "physician", "surgeon"},
	{"invoice", "invoices", "bill", "billing"},
	{"begin", "start", "commence", "begins"},
}

// Key is the key that the service wants.
const Key = "embedding-test-key-5f2a"

// A Service is a running service.
type Service struct {
	URL string

	mu        sync.Mutex
	received  []Text
	intercept func(http.ResponseWriter, *http.Request) bool
}

// A Text is one that was to be embedded.
type Text struct {
	Text  string
	Query bool // for input_type query
	Model string
}

// Start starts a service that ends with the test.
func Start(t testing.TB) *Service {
	s := &Service{}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Intercept has f see each request first, which reports whether it has answered. Nil ends
// this.
func (s *Service) Intercept(f func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// Fail has all requests answered with a status.
func (s *Service) Fail(status int, header ...string) {
	s.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return true
	})
}

// Received returns the texts that were received since the last call.
func (s *Service) Received() []Text {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.received
	s.received = nil
	return all
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	intercept := s.intercept
	s.mu.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	if r.URL.Path != "/api/embed" && r.Header.Get("Authorization") != "Bearer "+Key {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var body struct {
		Model     string
		Input     []string
		InputType string `json:"input_type"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Model == "" || len(body.Input) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var vectors [][]float32
	s.mu.Lock()
	for _, text := range body.Input {
		s.received = append(s.received, Text{text, body.InputType == "query", body.Model})
		vectors = append(vectors, Vector(text))
	}
	s.mu.Unlock()
	switch r.URL.Path {
	case "/api/embed":
		_ = json.NewEncoder(w).Encode(map[string]any{"model": body.Model, "embeddings": vectors})
	case "/v1/embeddings":
		type one struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []one
		for i, v := range slices.Backward(vectors) { // the order is not promised
			data = append(data, one{"embedding", i, v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": body.Model, "data": data})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// Vector returns the vector of a text: a dimension for each concept, and those of a hash for
// other words. Short words count nothing.
func Vector(text string) []float32 {
	v := make([]float32, Dimension)
	v[Dimension-1] = 0.001 // no vector is zero
	for w := range textindex.Words(text) {
		concept := slices.IndexFunc(concepts, func(words []string) bool { return slices.Contains(words, strings.ToLower(w.Text)) })
		if concept < 0 {
			if len(w.Text) <= 4 {
				continue
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(w.Text))
			concept = len(concepts) + int(h.Sum32()%uint32(Dimension-1-len(concepts)))
		}
		v[concept]++
	}
	return v
}
