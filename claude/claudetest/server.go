package claudetest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
)

// Options are the options of [New] and [Check]; nil means all defaults.
type Options struct {
	// Key is the only accepted API key; "" accepts any.
	Key string
	// Models are the known models; empty accepts every name that begins with "claude-".
	Models []string
	// ContextWindow is the most tokens of a prompt; 0 means 200,000.
	ContextWindow int
	// RequireEditBeta refuses context edits without their beta header. The API's
	// documents show clearing with the header and without it; both are accepted
	// by default. Compaction needs its header in any case.
	RequireEditBeta bool
	// BindThinking binds thinking to the conversation before it on every model,
	// and not only on those where the API always does.
	BindThinking bool
	// ChunkRunes is how many characters a delta of a stream has; 0 means 24.
	ChunkRunes int
	// Cut, if it is set, is asked before each event of a stream whether to break
	// the connection there. request counts the accepted requests from 0, event
	// the events of this stream from 0. It may be called concurrently.
	Cut func(request, event int) bool
}

func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.ContextWindow <= 0 {
		opts.ContextWindow = 200_000
	}
	if opts.ChunkRunes <= 0 {
		opts.ChunkRunes = 24
	}
	return opts
}

// A Server plays a scenario: an [http.Handler] for POST /v1/messages and POST
// /v1/messages/count_tokens. It is safe for concurrent use.
type Server struct {
	scenario *Scenario
	opts     Options

	mu       sync.Mutex
	accepted int // answered with 200
	messages int // made
	requests []Request
	kept     int // bytes of bodies in requests
	threads  map[string]held
}

// New returns an upstream that plays s.
func New(s *Scenario, o *Options) *Server {
	return &Server{scenario: s, opts: o.withDefaults(), threads: map[string]held{}}
}

// A Request is a request that the server received.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte // nil if it was too old to be kept
	Status int
	Err    *Error // nil if the answer was 200

	// InputTokens is the prompt after edits, OriginalTokens the one before.
	InputTokens, OriginalTokens int
	ClearedToolUses             int
	ClearedThinkingTurns        int
	Compacted                   bool
	// Warned reports whether the model was warned in the last message.
	Warned bool
}

// keptBytes bounds the bodies in the list of requests.
const keptBytes = 64 << 20

// Requests returns the requests so far, in the order of their answers. The bodies
// of old ones are left out when there are more than 64 MiB of them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// record adds a request and returns how many were accepted before it.
func (s *Server) record(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.accepted
	if r.Err == nil {
		s.accepted++
	}
	s.requests = append(s.requests, r)
	s.kept += len(r.Body)
	for i := 0; s.kept > keptBytes && i < len(s.requests)-1; i++ {
		s.kept -= len(s.requests[i].Body)
		s.requests[i].Body = nil
	}
	return n
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, httpRequest *http.Request) {
	rec := Request{Path: httpRequest.URL.Path, Header: httpRequest.Header.Clone(), Status: http.StatusOK}
	reply, err := s.serve(w, httpRequest, &rec)
	if err != nil {
		rec.Status, rec.Err = err.Status, err
	}
	n := s.record(rec)
	id := fmt.Sprintf("req_%016d", n)
	w.Header().Set("Request-Id", id)
	switch {
	case err != nil:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Should-Retry", "false")
		w.WriteHeader(err.Status)
		w.Write(err.body(id))
	case reply.events != nil:
		s.stream(w, httpRequest, reply.events, n)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(encode(reply.body))
	}
}

// A reply is one JSON object, or the events of a stream.
type reply struct {
	body   any
	events []event
}

func (s *Server) serve(w http.ResponseWriter, httpRequest *http.Request, rec *Request) (reply, *Error) {
	if err := checkKey(httpRequest.Header, s.opts.Key); err != nil {
		return reply{}, err
	}
	count := httpRequest.URL.Path == "/v1/messages/count_tokens"
	if !count && httpRequest.URL.Path != "/v1/messages" {
		return reply{}, notFound("Not found")
	}
	if httpRequest.Method != http.MethodPost {
		return reply{}, &Error{Status: http.StatusMethodNotAllowed, Type: "invalid_request_error", Message: "Method Not Allowed"}
	}
	if kind, _, err := mime.ParseMediaType(httpRequest.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return reply{}, invalid("content-type: must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, httpRequest.Body, messageLimit))
	if err != nil {
		return reply{}, &Error{Status: http.StatusRequestEntityTooLarge, Type: "request_too_large", Message: "Request exceeds the maximum size"}
	}
	rec.Body = body
	known := parameters
	if count {
		known = options
	}
	r, refused := parse(body, httpRequest.Header, s.opts, known)
	if refused != nil {
		return reply{}, refused
	}
	if count {
		return s.countTokens(r, rec)
	}
	return s.message(r, rec)
}

// countTokens answers POST /v1/messages/count_tokens.
func (s *Server) countTokens(r *request, rec *Request) (reply, *Error) {
	m, err := r.manage()
	if err != nil {
		return reply{}, err
	}
	rec.InputTokens, rec.OriginalTokens = m.tokens, m.original
	body := map[string]any{"input_tokens": m.tokens, "context_management": nil}
	if len(r.editList()) > 0 {
		body["context_management"] = map[string]any{"original_input_tokens": m.original}
	}
	return reply{body: body}, nil
}

// message answers POST /v1/messages.
func (s *Server) message(r *request, rec *Request) (reply, *Error) {
	if err := s.joinThread(r); err != nil {
		return reply{}, err
	}
	a, m, err := s.respond(r)
	rec.InputTokens, rec.OriginalTokens = m.tokens, m.original
	if err != nil {
		return reply{}, err
	}
	rec.ClearedToolUses, rec.ClearedThinkingTurns = m.clearedToolUses, m.clearedThinkingTurns
	rec.Compacted, rec.Warned = m.compaction != nil, m.warned
	if rec.OriginalTokens == 0 {
		rec.OriginalTokens = m.tokens
	}
	a.id = s.newMessageID()
	s.holdThread(r, a)
	out := newOutput(r, a, m)
	if r.stream {
		return reply{events: out.events(s.opts.ChunkRunes)}, nil
	}
	return reply{body: out.message()}, nil
}

func (s *Server) newMessageID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	return fmt.Sprintf("msg_%024d", s.messages)
}

// respond applies the context management of r and plays the next turn.
func (s *Server) respond(r *request) (*answer, managed, *Error) {
	if r.fields["compaction"] != nil {
		return s.compactOnDemand(r)
	}
	m, err := r.manage()
	if err != nil {
		return nil, m, err
	}
	if m, err = s.compact(r, m); err != nil {
		return nil, m, err
	}
	if m.tokens > s.opts.ContextWindow {
		return nil, m, invalid("prompt is too long: %d tokens > %d maximum", m.tokens, s.opts.ContextWindow)
	}
	if m.paused {
		return &answer{blocks: []map[string]any{m.compaction}, stopReason: "compaction"}, m, nil
	}
	a, err := s.scenario.play(r, m.visible)
	if err != nil {
		return nil, m, err
	}
	if m.compaction != nil {
		a.blocks = append([]map[string]any{m.compaction}, a.blocks...)
	}
	return a, m, nil
}
