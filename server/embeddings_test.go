package server

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"memento/backend/embedding"
	"memento/backend/memstore"
	"memento/test/embedservice"
	"memento/test/proctest"
)

// withEmbeddings is a configuration with a service of embeddings.
func withEmbeddings(t *testing.T, s *embedservice.Service) Config {
	t.Helper()
	file := write(t, "key", embedservice.Key+"\n")
	c, err := Load(Sources{File: write(t, "m.yaml", "embeddings:\n  url: "+s.URL+"\n  api: voyage\n  model: synonyms\n  key_file: "+file+"\n"), Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	d := testConfig()
	d.Embeddings = c.Embeddings
	return d
}

// A server with embeddings finds by meaning, over the API and for agents; when the service
// is down, it finds by words. The key stays out of the log.
func TestEmbeddings(t *testing.T) {
	service := embedservice.Start(t)
	c := withEmbeddings(t, service)
	c.Tool.Search = true
	r := start(t, c)
	store := r.newStore()
	r.do("POST", store+"/memories", `{"path":"/garage.md","content":"The car needs new tyres."}`)
	found := func(query string) bool {
		return strings.Contains(r.ask("GET", store+"/search?query="+query, r.key, "").text, "/garage.md")
	}
	proctest.Until(t, "the memory is found by meaning", func() bool { return found("automobile") })
	call := `{"command":"view","path":"/memories/.search/automobile"}`
	if a := r.ask("POST", store+"/tool", r.key, call); !strings.Contains(a.text, "The car needs new tyres.") {
		t.Errorf("the agent sees %s", a.text)
	}
	metrics := func() string {
		res, err := http.Get("http://" + r.Addresses().Metrics + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		return answerOf(t, res).text
	}
	if text := metrics(); !strings.Contains(text, "memento_embeddings_vectors 1\n") {
		t.Error("the metrics have no vector")
	}

	service.Fail(503)
	r.do("POST", store+"/memories", `{"path":"/late.md","content":"An automobile."}`)
	if a := r.ask("GET", store+"/search?query=other+automobile", r.key, ""); !strings.Contains(a.text, "/late.md") {
		t.Errorf("without the service: %s", a.text)
	}
	proctest.Until(t, "the failure is logged", func() bool { return strings.Contains(r.log.String(), "embeddings failed") })
	service.Intercept(nil)
	proctest.Until(t, "the vectors catch up", func() bool {
		return strings.Contains(r.ask("GET", store+"/search?query=vehicle", r.key, "").text, "/late.md")
	})
	if strings.Contains(r.log.String(), embedservice.Key) || strings.Contains(metrics(), embedservice.Key) {
		t.Error("the key is in the log or in the metrics")
	}
}

// Without the setting, nothing is embedded. What is wrong with the settings is said before
// the start.
func TestEmbeddingsSettings(t *testing.T) {
	if Default().Embeddings.URL != "" {
		t.Error("embeddings are on by default")
	}
	for text, want := range map[string]string{
		"embeddings: {url: 'http://127.0.0.1:1'}":                                      "embeddings.model: embeddings.url requires the name of a model",
		"embeddings: {url: 'ftp://a.example', model: m}":                               "must be a URL of http or https",
		"embeddings: {url: 'https://me:secret@a.example', model: m}":                   "must be a URL of http or https",
		"embeddings: {url: 'http://a.example', model: m}":                              "the key would cross the network in clear text",
		"embeddings: {url: 'https://a.example', model: m, key_file: /nowhere/key.txt}": "embeddings.key_file (file, line 1): it cannot be read: it does not exist",
		"embeddings: {url: 'https://a.example', model: m, dimensions: 99999}":          "embeddings.dimensions (file, line 1): must be at most 16384",
		"embeddings: {url: 'https://a.example', model: m, api: other}":                 "expected openai, voyage or ollama",
	} {
		c, err := Load(Sources{File: write(t, "m.yaml", text), Getenv: env("MEMENTO_EMBEDDINGS_KEY", "canary-key")})
		if err == nil {
			err = c.checkEmbeddings().errorOrNil()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
		if shown, err := c.YAML(); err != nil || strings.Contains(string(shown), "canary") || strings.Contains(string(shown), "me:secret") {
			t.Errorf("shown as %s, %v", shown, err)
		}
	}
}

// What is embedded over plain http by another machine crosses the network in clear text, and
// the log says so. That of this machine does not.
func TestEmbeddingsExposed(t *testing.T) {
	for url, want := range map[string]bool{
		"http://embeddings.example:11434": true, "http://192.0.2.7:11434": true, "https://embeddings.example": false,
		"http://127.0.0.1:1": false, "http://[::1]:1": false, "http://localhost:1": false,
	} {
		var log proctest.Buffer
		e := Embeddings{URL: url, API: embedding.Ollama, Model: "m"}
		s, err := e.Searcher(memstore.New(nil), nil, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := strings.Contains(log.String(), "cross the network unencrypted"); got != want {
			t.Errorf("%s: a warning: %t; log: %s", url, got, log.String())
		}
	}
}
