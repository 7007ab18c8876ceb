package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/internal/httpmessage"
	"memento/internal/models"
	"memento/internal/strictjson"
)

// Results of a [Step].
const (
	StepOK      = "ok"
	StepMissing = "missing" // the upstream lacks it, and nothing else depends on it
	StepFailed  = "failed"  // applications will not work
)

// A Step is one result of [Check].
type Step struct {
	Name   string // such as "key" or "memory_round"
	Result string // StepOK, StepMissing or StepFailed
	Detail string // what was found, in a few words
	Next   string // what to do about it; "" if there is nothing to do
}

// CheckOptions are the options of [Check].
type CheckOptions struct {
	// Key is the key that the upstream gets; "" sends none.
	Key string
	// Model is the model of the requests; "" chooses a small one of those that the
	// upstream lists.
	Model string
}

// defaultModel is used with upstreams that list no models.
const defaultModel = "claude-haiku-4-5"

// checkTimeout is the most time for one request of a check.
const checkTimeout = 2 * time.Minute

// Check tries a configuration with real requests, and yields what it has found, step by
// step, until a step that the others need has failed: whether the upstream answers, takes
// the key, and has memory, context editing and compaction itself; then whether a model
// saves a text through the gateway, and reads it again in a stream. c.Backend gets the
// memory, so it must be one that is thrown away. c.Identify and c.State are not used.
//
// The requests have a few hundred tokens each.
func Check(ctx context.Context, c Config, o CheckOptions) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		const store = "memento-check"
		var last Turn
		c.State = NewState(c.Backend)
		c.Identify = func(*http.Request) (Caller, error) {
			return Caller{Workspace: memento.DefaultWorkspace, Actor: memento.Actor{Kind: memento.ActorSystem, ID: "gateway check"}, Store: store, UpstreamKey: o.Key}, nil
		}
		c.Observe = func(_ context.Context, t Turn) { last = t }
		g, err := New(c)
		if err != nil {
			yield(Step{"configuration", StepFailed, err.Error(), "correct the settings of the gateway"})
			return
		}
		if idle, ok := g.c.Transport.(interface{ CloseIdleConnections() }); ok {
			defer idle.CloseIdleConnections()
		}
		k := &checker{ctx: ctx, g: g, o: o, last: &last, mark: strings.ToLower(rand.Text()[:10])}
		for _, step := range []func() []Step{k.upstream, k.message, k.count, k.memory, k.contextEditing, k.compaction, k.memoryRound, k.recall, k.countWithMemory} {
			for _, s := range step() {
				if !yield(s) || s.Result == StepFailed {
					return
				}
			}
		}
	}
}

// A checker makes the steps of a check.
type checker struct {
	ctx    context.Context
	g      *Gateway
	o      CheckOptions
	last   *Turn  // that the gateway has answered
	mark   string // that the model saves and reads
	tokens int64  // of the first message; 0 if the upstream does not count
}

// upstream checks that the upstream answers, and takes the key.
func (k *checker) upstream() []Step {
	began := time.Now()
	a, err := k.direct(http.MethodGet, "/v1/models?limit=1000", "")
	if err != nil {
		return []Step{{"upstream", StepFailed, err.Error(), "check gateway.url, the network, and the proxy settings in the environment"}}
	}
	steps := []Step{{Name: "upstream", Result: StepOK, Detail: fmt.Sprintf("%s answers, after %d ms", k.g.c.Upstream.Host, time.Since(began).Milliseconds())}}
	if a.refusesKey() {
		return append(steps, k.badKey(a))
	}
	found := k.models(a)
	switch {
	case untold(a, nil):
		steps = append(steps, Step{"models", StepMissing, "which models the upstream has cannot be told: " + k.why(a, nil), tryLater})
	case a.status != http.StatusOK:
		steps = append(steps, Step{Name: "models", Result: StepMissing, Detail: "the upstream lists no models"})
	case k.o.Model != "" && len(found) > 0 && !slices.Contains(found, k.o.Model):
		steps = append(steps, Step{"models", StepMissing, fmt.Sprintf("%s is not among the %d models of the upstream", k.o.Model, len(found)), "choose one of them with --model, such as " + found[0]})
	default:
		steps = append(steps, Step{Name: "models", Result: StepOK, Detail: strconv.Itoa(len(found)) + " listed"})
	}
	if k.o.Model == "" {
		k.o.Model = chooseModel(found)
	}
	return steps
}

func (k *checker) badKey(a checkAnswer) Step {
	next := "replace the key that the gateway holds for the workspace"
	if k.o.Key == "" {
		next = "give a key for the upstream: see docs/gateway.md"
	}
	return Step{"key", StepFailed, "the upstream does not accept the key: " + a.problem(k.o.Key), next}
}

// models returns the IDs in a list of models.
func (k *checker) models(a checkAnswer) (ids []string) {
	list, err := elements(a.get("data"))
	if err != nil {
		return nil
	}
	for _, raw := range list {
		if m, err := parseObject(raw); err == nil && m.str("id") != "" {
			ids = append(ids, m.str("id"))
		}
	}
	return ids
}

// chooseModel returns a model that costs little and has the memory tool.
func chooseModel(ids []string) string {
	chosen := ""
	for _, id := range ids {
		if models.SupportOf(id).Memory && (chosen == "" || strings.Contains(id, "haiku") && !strings.Contains(chosen, "haiku")) {
			chosen = id
		}
	}
	switch {
	case chosen != "":
		return chosen
	case len(ids) > 0:
		return ids[0]
	}
	return defaultModel
}

// message checks that the upstream answers a message.
func (k *checker) message() []Step {
	a, err := k.direct(http.MethodPost, "/v1/messages", k.body("Reply with the word ready.", 64, ""))
	switch {
	case err != nil:
		return []Step{{"message", StepFailed, err.Error(), "check the network, and try again"}}
	case a.refusesKey():
		return []Step{k.badKey(a)}
	case untold(a, nil):
		return []Step{{"message", StepFailed, "the upstream is busy, or has failed: " + k.why(a, nil), tryLater}}
	case a.status == http.StatusNotFound:
		return []Step{{"message", StepFailed, k.o.Model + ": " + a.problem(k.o.Key), "choose a model of the upstream with --model; gateway.url must be the URL before /v1/messages"}}
	case a.status != http.StatusOK || a.str("type") != "message":
		return []Step{{"message", StepFailed, k.o.Model + ": " + a.problem(k.o.Key), "the upstream must speak the Messages API; choose another model with --model"}}
	}
	key := Step{Name: "key", Result: StepOK, Detail: "accepted"}
	if k.o.Key == "" {
		key.Detail = "the upstream wants none"
	}
	return []Step{key, {Name: "message", Result: StepOK, Detail: k.o.Model + " answers"}}
}

// count checks that the upstream counts tokens.
func (k *checker) count() []Step {
	a, err := k.direct(http.MethodPost, "/v1/messages/count_tokens", k.body("Reply with the word ready.", 0, ""))
	if err == nil && a.status == http.StatusOK {
		k.tokens, err = strconv.ParseInt(string(a.get("input_tokens")), 10, 64)
		if err == nil {
			return []Step{{Name: "count_tokens", Result: StepOK, Detail: fmt.Sprintf("%d tokens", k.tokens)}}
		}
	}
	if untold(a, err) {
		return []Step{{"count_tokens", StepMissing, "whether the upstream counts tokens cannot be told: " + k.why(a, err), tryLater}}
	}
	return []Step{{Name: "count_tokens", Result: StepMissing, Detail: "the upstream does not count tokens, and neither does the gateway for it"}}
}

// memory checks whether the upstream knows the memory tool.
func (k *checker) memory() []Step {
	a, err := k.direct(http.MethodPost, "/v1/messages", k.body("Reply with the word ready.", 64, `"tools":[`+string(nativeTool)+`]`))
	native := err == nil && a.status == http.StatusOK
	emulated := k.g.c.Emulate.Memory
	s := Step{Name: "memory", Result: StepOK, Detail: "the upstream has the memory tool"}
	switch {
	case emulated && untold(a, err):
		s.Detail = "emulated; whether the upstream has the memory tool itself cannot be told: " + k.why(a, err)
	case untold(a, err):
		s.Result, s.Detail, s.Next = StepFailed, "whether the upstream has the memory tool cannot be told: "+k.why(a, err), tryLater
	case native && emulated:
		s.Next = "--emulate memory can be left out"
	case !native && emulated:
		s.Detail = "emulated: the upstream does not have the memory tool"
	case !native:
		s.Result, s.Next = StepFailed, "add --emulate memory, or choose another model with --model"
		s.Detail = "the upstream does not take the memory tool: " + k.why(a, err)
	}
	return []Step{s}
}

func (k *checker) contextEditing() []Step {
	return k.managed("context_editing", "context-editing", "context-management-2025-06-27",
		`{"type":"clear_tool_uses_20250919"}`, k.g.c.Emulate.ContextEditing)
}

func (k *checker) compaction() []Step {
	return k.managed("compaction", "compaction", "compact-2026-01-12", `{"type":"compact_20260112"}`, k.g.c.Emulate.Compaction)
}

// managed checks whether the upstream makes an edit of context management itself.
func (k *checker) managed(name, word, beta, edit string, emulated bool) []Step {
	s := Step{Name: name, Result: StepOK, Detail: "the upstream has it"}
	switch native, err := k.takesEdit(beta, edit); {
	case err != nil && emulated:
		s.Detail = "emulated; whether the upstream has it itself cannot be told: " + err.Error()
	case err != nil:
		s.Result, s.Detail, s.Next = StepMissing, "whether the upstream has it cannot be told: "+err.Error(), tryLater
	case native && emulated:
		s.Next = "--emulate " + word + " can be left out"
	case !native && emulated:
		s.Detail = "emulated: the upstream does not have it"
	case !native:
		s.Result, s.Detail = StepMissing, "the upstream does not have it, at least for "+k.o.Model
		s.Next = "add --emulate " + word + " if applications use it"
	}
	return []Step{s}
}

// takesEdit reports whether the upstream takes an edit, and does not only ignore it.
func (k *checker) takesEdit(beta, edit string) (bool, error) {
	ask := func(edit string) (checkAnswer, error) {
		return k.direct(http.MethodPost, "/v1/messages", k.body("Reply with the word ready.", 64, `"context_management":{"edits":[`+edit+`]}`), "Anthropic-Beta", beta)
	}
	a, err := ask(edit)
	if untold(a, err) {
		return false, errors.New(k.why(a, err))
	}
	if a.status != http.StatusOK {
		return false, nil
	}
	if a.get("context_management") != nil {
		return true, nil
	}
	// An upstream that takes an edit that does not exist looks at none of them.
	a, err = ask(`{"type":"memento_check"}`)
	if untold(a, err) {
		return false, errors.New(k.why(a, err))
	}
	return a.status == http.StatusBadRequest, nil
}

// tryLater is what to do about an upstream that is busy, or has failed.
const tryLater = "try again later"

// untold reports whether an answer says nothing about the request: the upstream is busy or
// failed, or did not answer.
func untold(a checkAnswer, err error) bool {
	return err != nil || a.status >= 500 && a.status != http.StatusNotImplemented || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout
}

func (k *checker) why(a checkAnswer, err error) string {
	if err != nil {
		return err.Error()
	}
	return a.problem(k.o.Key)
}

// file is the path of the memory that the model writes.
func (k *checker) file() string {
	for _, m := range k.g.c.Mounts {
		if !m.ReadOnly {
			return "/memories/" + m.Name + "/memento-check.md"
		}
	}
	return "/memories/memento-check.md"
}

// memoryRound checks that the model saves a text through the gateway.
func (k *checker) memoryRound() []Step {
	words := "Use your memory tool to create the file " + k.file() + " with exactly this text: " + k.mark + ". Then reply with the word done."
	a, err := k.through("/v1/messages", k.body(words, 1024, ""))
	if err != nil {
		return []Step{{"memory_round", StepFailed, err.Error(), "check the network, and try again"}}
	}
	switch {
	case untold(a, nil):
		return []Step{{"memory_round", StepFailed, "the upstream is busy, or has failed: " + k.why(a, nil), tryLater}}
	case a.status != http.StatusOK:
		return []Step{{"memory_round", StepFailed, a.problem(k.o.Key), "see the upstream's answer; choose another model with --model"}}
	case k.last.MemoryCalls == 0:
		return []Step{{"memory_round", StepFailed, "the model did not call the memory tool", "choose a model that can call tools with --model; for one that does not know the memory tool add --emulate memory"}}
	case !k.saved():
		return []Step{{"memory_round", StepFailed, "the model called the memory tool, but the text was not saved", "try again, or choose another model with --model; check that gateway.mounts has one that is not read-only"}}
	}
	return []Step{{Name: "memory_round", Result: StepOK, Detail: fmt.Sprintf("saved a text in %d rounds, with %.1f ms in the gateway", k.last.Rounds, float64(k.last.Own)/float64(time.Millisecond))}}
}

// saved reports whether the text is in a store.
func (k *checker) saved() bool {
	for info, err := range k.g.c.Backend.ListStores(k.ctx, memento.DefaultWorkspace, memento.StoreListOptions{}) {
		if err != nil {
			return false
		}
		s, err := memento.OpenStore(k.ctx, k.g.c.Backend, info.Workspace, info.ID, &k.g.c.Stores)
		if err != nil {
			return false
		}
		for e, err := range s.List(k.ctx, memento.ListOptions{}) {
			if err != nil {
				return false
			}
			if m, err := s.Get(k.ctx, memento.ByPath(e.Path)); err == nil && strings.Contains(m.Content, k.mark) {
				return true
			}
		}
	}
	return false
}

// recall checks that the model reads the text again, in a stream.
func (k *checker) recall() []Step {
	a, err := k.through("/v1/messages", k.body("Use your memory tool to view the file "+k.file()+", and reply with the text in it.", 1024, `"stream":true`))
	if err != nil {
		return []Step{{"stream", StepFailed, err.Error(), "check the network, and try again"}}
	}
	said, broken := textOfStream(a.text)
	switch {
	case untold(a, nil):
		return []Step{{"stream", StepFailed, "the upstream is busy, or has failed: " + k.why(a, nil), tryLater}}
	case a.status != http.StatusOK:
		return []Step{{"stream", StepFailed, a.problem(k.o.Key), "the upstream must be able to stream"}}
	case broken != "":
		return []Step{{"stream", StepFailed, "the stream broke off: " + hideKey(broken, k.o.Key), "try again; look for time limits of proxies in front of the upstream"}}
	case !strings.Contains(said, k.mark):
		return []Step{{"stream", StepFailed, "the model did not answer with what it had saved", "try again, or choose another model with --model"}}
	}
	return []Step{{Name: "stream", Result: StepOK, Detail: fmt.Sprintf("read the text again in a stream of %d rounds", k.last.Rounds)}}
}

// textOfStream returns the words in a stream, and what is wrong with it.
func textOfStream(stream []byte) (said, broken string) {
	in := newFrameReader(bytes.NewReader(stream))
	for {
		f, err := in.next()
		if err != nil {
			return said, "it has no end"
		}
		o, err := parseObject(f.data())
		if err != nil {
			continue
		}
		switch o.str("type") {
		case "content_block_delta":
			if delta, err := parseObject(o.get("delta")); err == nil && delta.str("type") == "text_delta" {
				said += delta.str("text")
			}
		case "error":
			e, _ := parseObject(o.get("error")) // the zero object has no message
			return said, e.str("message")
		case "message_stop":
			return said, ""
		}
	}
}

// countWithMemory checks that the gateway counts the tool.
func (k *checker) countWithMemory() []Step {
	if k.tokens == 0 {
		return nil
	}
	a, err := k.through("/v1/messages/count_tokens", k.body("Reply with the word ready.", 0, ""))
	if untold(a, err) {
		return []Step{{"memory_count", StepMissing, "whether the upstream counts requests with the memory tool cannot be told: " + k.why(a, err), tryLater}}
	}
	if a.status != http.StatusOK {
		return []Step{{"memory_count", StepMissing, "the upstream does not count requests with the memory tool", ""}}
	}
	n, err := strconv.ParseInt(string(a.get("input_tokens")), 10, 64)
	if err != nil || n <= k.tokens {
		return []Step{{"memory_count", StepMissing, "the upstream's count leaves the memory tool out", ""}}
	}
	return []Step{{Name: "memory_count", Result: StepOK, Detail: fmt.Sprintf("the memory tool takes %d tokens of a prompt", n-k.tokens)}}
}

// body returns a request with one message of the user; more are further members.
func (k *checker) body(words string, maxTokens int, more string) string {
	o := object{text: []byte("{}")}.set("model", strictjson.Quote(k.o.Model))
	if maxTokens > 0 {
		o = o.set("max_tokens", strconv.AppendInt(nil, int64(maxTokens), 10))
	}
	o = o.set("messages", listOf([][]byte{message("user", strictjson.Quote(words))}))
	text := string(o.text)
	if more != "" {
		text = text[:len(text)-1] + "," + more + "}"
	}
	return text
}

// A checkAnswer is an answer to a request of a check. It has the members of a JSON object,
// if the answer is one.
type checkAnswer struct {
	object
	status int
}

func (a checkAnswer) refusesKey() bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

// problem describes an answer that is an error.
func (a checkAnswer) problem(key string) string {
	said := fmt.Sprintf("HTTP status %d", a.status)
	if e, err := parseObject(a.get("error")); err == nil && e.str("message") != "" {
		said += ", " + e.str("message")
	}
	return hideKey(said, key)
}

// hideKey removes a key from what an upstream says about it, and bounds the length.
func hideKey(said, key string) string {
	const longest = 300
	if key != "" {
		said = strings.ReplaceAll(said, key, "[key]")
	}
	if r := []rune(said); len(r) > longest {
		said = string(r[:longest]) + "…"
	}
	return said
}

// direct sends a request to the upstream, past the gateway. Headers are pairs.
func (k *checker) direct(method, path, body string, headers ...string) (checkAnswer, error) {
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	r, err := k.request(ctx, method, path, body)
	if err != nil {
		return checkAnswer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if k.o.Key != "" {
		r.Header.Set("X-Api-Key", k.o.Key)
	}
	r.URL = k.g.target(r.URL)
	response, err := k.g.c.Transport.RoundTrip(r)
	if err != nil {
		return checkAnswer{}, withoutURL(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return checkAnswer{parsedOr(data), response.StatusCode}, err
}

// through sends a request through the gateway.
func (k *checker) through(path, body string) (checkAnswer, error) {
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	r, err := k.request(ctx, http.MethodPost, path, body)
	if err != nil {
		return checkAnswer{}, err
	}
	*k.last = Turn{}
	w := httpmessage.NewRecorder()
	k.g.ServeHTTP(w, r)
	if w.Status == 0 {
		return checkAnswer{}, context.Cause(ctx)
	}
	return checkAnswer{parsedOr(w.Body.Bytes()), w.Status}, nil
}

func (k *checker) request(ctx context.Context, method, path, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	return r, nil
}

// parsedOr returns the object in an answer, or one without members that has its text.
func parsedOr(data []byte) object {
	o, err := parseObject(data)
	if err != nil {
		return object{text: data}
	}
	return o
}
