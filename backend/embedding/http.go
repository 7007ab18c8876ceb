package embedding

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"memento"
	"memento/internal/httpmessage"
)

// An API is the form of requests to a service that embeds texts.
type API string

// The APIs.
const (
	OpenAI API = "openai" // POST /v1/embeddings, which many other services and programs have, too
	Voyage API = "voyage" // the same with input_type
	Ollama API = "ollama" // POST /api/embed
)

// APIs returns all APIs.
func APIs() []API { return []API{OpenAI, Voyage, Ollama} }

// paths are where services have their API.
var paths = map[API]string{OpenAI: "/v1/embeddings", Voyage: "/v1/embeddings", Ollama: "/api/embed"}

// HTTPOptions configure [NewHTTP].
type HTTPOptions struct {
	API   API
	URL   string // of the service, such as https://api.voyageai.com; with a path, it is that of the endpoint
	Model string // as the service names it

	// Dimensions is the length of vectors to ask for, from models that offer several; 0
	// for the model's own.
	Dimensions int

	// Key returns the API key; nil, and "", for none. It is called for each request, so that
	// a key can be replaced.
	Key func() (string, error)

	Timeout time.Duration // of one request; 0 means 30 s
}

// HTTP is an [Embedder] that asks a service.
type HTTP struct {
	opts    HTTPOptions
	url     string
	exposed bool
	client  *http.Client
}

// Limits of requests.
const (
	maxBatch      = 32        // texts in a request
	maxBatchBytes = 128 << 10 // of the texts in a request; a longer one is alone
	maxAnswer     = 16 << 20  // bytes of an answer
	maxErrorBody  = 64 << 10  // bytes of an answer that is an error
)

// NewHTTP returns an Embedder that asks a service.
//
// Errors: memento.ErrInvalid. They contain neither the key nor what a URL may have for one.
func NewHTTP(o HTTPOptions) (*HTTP, error) {
	path, known := paths[o.API]
	if !known {
		return nil, fmt.Errorf("%w: unknown API of embeddings %q", memento.ErrInvalid, o.API)
	}
	if o.Model == "" {
		return nil, fmt.Errorf("%w: embeddings need the name of a model", memento.ErrInvalid)
	}
	if o.Dimensions < 0 || o.Dimensions > MaxDimensions {
		return nil, fmt.Errorf("%w: embeddings have 1 to %d dimensions", memento.ErrInvalid, MaxDimensions)
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the URL of embeddings is a URL of http or https without user and query, such as http://127.0.0.1:11434", memento.ErrInvalid)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = path
	}
	if o.Key == nil {
		o.Key = func() (string, error) { return "", nil }
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	h := &HTTP{opts: o, url: u.String(), exposed: u.Scheme == "http" && !httpmessage.IsLoopback(u.Hostname())}
	h.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return h, nil
}

// Exposed reports whether what is embedded crosses the network in clear text.
func (h *HTTP) Exposed() bool { return h.exposed }

// Model implements [Embedder].
func (h *HTTP) Model() string {
	return fmt.Sprintf("%s %s %d", h.opts.API, h.opts.Model, h.opts.Dimensions)
}

// Embed implements [Embedder]. It makes one request for each batch of texts, and repeats
// none: a *RetryError says whether that may help.
func (h *HTTP) Embed(ctx context.Context, texts []string, purpose Purpose) (vectors [][]float32, err error) {
	for len(texts) > 0 {
		n, size := 1, len(texts[0])
		for n < min(len(texts), maxBatch) && size+len(texts[n]) <= maxBatchBytes {
			size += len(texts[n])
			n++
		}
		part, err := h.request(ctx, texts[:n], purpose)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, part...)
		texts = texts[n:]
	}
	return vectors, check(vectors, len(vectors), h.opts.Dimensions)
}

// request makes one request.
func (h *HTTP) request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.Timeout)
	defer cancel()
	key, err := h.opts.Key()
	if err != nil {
		return nil, fmt.Errorf("the key for embeddings: %w", err)
	}
	body, err := json.Marshal(h.body(texts, purpose))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of embeddings cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		if h.exposed {
			return nil, fmt.Errorf("%w: the key for embeddings would cross the network in clear text; use https", memento.ErrInvalid)
		}
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := h.client.Do(r)
	if err != nil {
		return nil, &RetryError{Err: unreachable(ctx, err)}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(answer)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &RetryError{Err: unreachable(ctx, err)}
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("%w: the answer is larger than %d bytes", ErrVectors, maxAnswer)
	}
	vectors, err := h.parse(text, len(texts))
	if err != nil {
		return nil, err
	}
	return vectors, check(vectors, len(texts), h.opts.Dimensions)
}

// unreachable says why there was no answer, without the URL.
func unreachable(ctx context.Context, err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		err = at.Err
	}
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the service of embeddings did not answer in time: %w", cmp.Or(ctx.Err(), context.DeadlineExceeded))
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("the service of embeddings cannot be reached: %w", err)
}

// refusal returns the error of an answer. It contains nothing that the service has written,
// which could repeat texts or the key, but words such as "model_not_found".
func refusal(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody))
	status := answer.StatusCode
	err := fmt.Errorf("the service of embeddings answered with status %d%s", status, codeIn(text))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w: check the key", err)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: check the URL and the name of the model", err)
	case status >= 300 && status < 400:
		return fmt.Errorf("%w, a redirection: use the URL that it leads to", err)
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return &RetryError{After: httpmessage.RetryAfter(answer.Header), Err: err}
	}
	return err
}

// codeIn returns the code of an error, in parentheses, if an answer has one.
func codeIn(text []byte) string {
	var body struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &body) != nil {
		return ""
	}
	for _, code := range []string{fmt.Sprint(body.Error.Code), body.Error.Type} {
		foreign := func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_') }
		if code != "" && len(code) <= 40 && !strings.ContainsFunc(code, foreign) {
			return " (" + code + ")"
		}
	}
	return ""
}
