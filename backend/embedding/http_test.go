package embedding_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/embedding"
	"memento/test/embedservice"
)

// client returns an Embedder that asks a service.
func client(t *testing.T, url string, o embedding.HTTPOptions) *embedding.HTTP {
	t.Helper()
	o.URL = url
	if o.API == "" {
		o.API = embedding.OpenAI
	}
	if o.Model == "" {
		o.Model = "synonyms"
	}
	if o.Key == nil {
		o.Key = func() (string, error) { return embedservice.Key, nil }
	}
	h, err := embedding.NewHTTP(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Each API gives the vectors of the texts, in their order, over as many requests as it takes.
func TestAPIs(t *testing.T) {
	for _, api := range embedding.APIs() {
		t.Run(string(api), func(t *testing.T) {
			s := embedservice.Start(t)
			h := client(t, s.URL, embedding.HTTPOptions{API: api})
			var texts []string
			for i := range 100 {
				texts = append(texts, fmt.Sprintf("number%d physician", i))
			}
			vectors, err := h.Embed(t.Context(), texts, embedding.Document)
			if err != nil || len(vectors) != len(texts) {
				t.Fatal(len(vectors), err)
			}
			for i, v := range vectors {
				if !slices.Equal(v, embedservice.Vector(texts[i])) {
					t.Fatalf("vector %d is not that of its text", i)
				}
			}
			if _, err := h.Embed(t.Context(), []string{"who"}, embedding.Query); err != nil {
				t.Fatal(err)
			}
			got := s.Received()
			if len(got) != 101 || got[100].Query != (api == embedding.Voyage) || got[0].Query {
				t.Errorf("%d texts, the query as %+v", len(got), got[len(got)-1])
			}
		})
	}
}

// What is wrong with an answer is an error of the right kind, without the key, and without
// what the service has written.
func TestFaults(t *testing.T) {
	const body = `{"error":{"message":"echo of my diary and of ` + embedservice.Key + `","type":"some_type","code":"quota_gone"}}`
	answer := func(status int, text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
			return true
		}
	}
	vector := func(data string) string { return `{"data":[{"index":0,"embedding":` + data + `}]}` }
	for _, tt := range []struct {
		name   string
		status int
		text   string
		is     error         // nil for none of those below
		after  time.Duration // -1 if it is not to be repeated
		says   string
	}{
		{"limit", 429, body, nil, 7 * time.Second, "429 (quota_gone)"},
		{"down", 503, "<html>", nil, 7 * time.Second, "503"},
		{"key", 401, body, nil, -1, "check the key"},
		{"model", 404, body, nil, -1, "name of the model"},
		{"redirection", 302, "", nil, -1, "redirection"},
		{"too long", 400, body, embedding.ErrRefused, -1, "400"},
		{"no JSON", 200, "<html>", embedding.ErrVectors, -1, ""},
		{"NaN", 200, vector("[1,NaN]"), embedding.ErrVectors, -1, ""},
		{"too large a number", 200, vector("[1e39]"), embedding.ErrVectors, -1, ""},
		{"zero", 200, vector("[0,0]"), embedding.ErrVectors, -1, "without direction"},
		{"null", 200, vector("null"), embedding.ErrVectors, -1, ""},
		{"empty", 200, vector("[]"), embedding.ErrVectors, -1, ""},
		{"dimensions", 200, vector("[1,2,3]"), embedding.ErrVectors, -1, "3 dimensions instead of 64"},
		{"none", 200, `{"data":[]}`, embedding.ErrVectors, -1, "0 for 1"},
		{"index", 200, `{"data":[{"index":5,"embedding":[1]}]}`, embedding.ErrVectors, -1, "index"},
		{"index twice", 200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, embedding.ErrVectors, -1, "twice"},
		{"huge", 200, vector("[" + strings.Repeat("1.0000000,", 2<<20) + "1]"), embedding.ErrVectors, -1, "larger than"},
		{"many dimensions", 200, vector("[" + strings.Repeat("1,", 20_000) + "1]"), embedding.ErrVectors, -1, "supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := embedservice.Start(t)
			o := embedding.HTTPOptions{}
			if tt.name == "dimensions" {
				o.Dimensions = embedservice.Dimension
			}
			h := client(t, s.URL, o)
			s.Intercept(answer(tt.status, tt.text))
			_, err := h.Embed(t.Context(), []string{"my diary"}, embedding.Document)
			if err == nil {
				t.Fatal("no error")
			}
			for _, kind := range []error{embedding.ErrRefused, embedding.ErrVectors} {
				if errors.Is(err, kind) != (kind == tt.is) {
					t.Errorf("%v: is %v: %t", err, kind, errors.Is(err, kind))
				}
			}
			retry, again := errors.AsType[*embedding.RetryError](err)
			if again != (tt.after >= 0) || again && retry.After != tt.after {
				t.Errorf("%v: repeat: %t after %v", err, again, retry)
			}
			text := err.Error()
			if !strings.Contains(text, tt.says) || strings.Contains(text, "diary") || strings.Contains(text, embedservice.Key) || strings.Contains(text, s.URL) {
				t.Errorf("the error is %q", text)
			}
		})
	}
}

// A service that is silent, and one that is not there, cost no more than the time limit.
func TestSilence(t *testing.T) {
	s := embedservice.Start(t)
	s.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	h := client(t, s.URL, embedding.HTTPOptions{Timeout: 50 * time.Millisecond})
	_, err := h.Embed(t.Context(), []string{"text"}, embedding.Document)
	if _, again := errors.AsType[*embedding.RetryError](err); !again || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err = client(t, gone.URL, embedding.HTTPOptions{}).Embed(t.Context(), []string{"text"}, embedding.Document)
	if _, again := errors.AsType[*embedding.RetryError](err); !again || strings.Contains(err.Error(), gone.URL) {
		t.Errorf("nobody: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []embedding.HTTPOptions{
		{API: "other", URL: "https://api.example", Model: "m"},
		{API: embedding.OpenAI, URL: "https://api.example"},
		{API: embedding.OpenAI, URL: "https://user:secret@api.example", Model: "m"},
		{API: embedding.OpenAI, URL: "https://api.example/?key=secret", Model: "m"},
		{API: embedding.OpenAI, URL: "ftp://api.example", Model: "m"},
		{API: embedding.OpenAI, URL: "api.example", Model: "m"},
		{API: embedding.OpenAI, URL: "https://api.example", Model: "m", Dimensions: -1},
	} {
		if _, err := embedding.NewHTTP(o); !errors.Is(err, memento.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	// A key does not cross the network in clear text.
	h := client(t, "http://embeddings.example", embedding.HTTPOptions{})
	if _, err := h.Embed(t.Context(), []string{"text"}, embedding.Document); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("a key over plain HTTP: %v", err)
	}
}
