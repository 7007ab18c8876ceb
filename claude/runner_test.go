package claude_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
	gocmp "github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/claude"
	"memento/claude/claudetest"
	"memento/sensitive"
	"memento/test/race"
)

// newStore returns an empty store in memory.
func newStore() *memento.Store {
	return memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"}, &memento.StoreOptions{Detector: sensitive.Default()})
}

// connect returns a client of an upstream that plays turns, strictly.
func connect(t *testing.T, o *claudetest.Options, turns ...claudetest.Turn) (*anthropic.Client, *claudetest.Server) {
	t.Helper()
	if o == nil {
		o = &claudetest.Options{}
	}
	o.RequireEditBeta, o.BindThinking = true, true
	for i := range turns {
		turns[i].Thinking = cmp.Or(turns[i].Thinking, "Let me see.")
	}
	upstream := claudetest.New(claudetest.Script(turns...), o)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	client := anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("test"), option.WithMaxRetries(0))
	return &client, upstream
}

func call(command string, members ...any) claudetest.Call {
	input := map[string]any{"command": command}
	for i := 0; i < len(members); i += 2 {
		input[members[i].(string)] = members[i+1]
	}
	return claudetest.Call{Tool: "memory", Input: input}
}

func view(path string) claudetest.Call { return call("view", "path", path) }

func create(path, text string) claudetest.Call {
	return call("create", "path", path, "file_text", text)
}

func insert(path string, line int, text string) claudetest.Call {
	return call("insert", "path", path, "insert_line", line, "insert_text", text)
}

// rounds are turns of n rounds with calls that depend on each other, and an answer.
func rounds(n int) []claudetest.Turn {
	turns := []claudetest.Turn{{Thinking: "What do I know?", Say: "I look at my memory.", Calls: []claudetest.Call{view("/memories")}}}
	for i := 1; i < n; i++ {
		file := fmt.Sprintf("/memories/round%d.md", i)
		calls := []claudetest.Call{
			create(file, "first\n"),
			insert(file, 1, "second\n"),
			view(file),
			insert(file, 1, "second\n"), // the same once more
			view(file),
		}
		if i <= 2 { // the rest is short, because it is sent many times
			calls = append([]claudetest.Call{view(file)}, calls...) // is not there yet
			calls = append(calls,
				create(file, "first\n"), // refused: it exists
				call("str_replace", "path", file, "old_str", "first", "new_str", fmt.Sprint("round ", i)),
				view(file),
				call("str_replace", "path", file, "old_str", "first", "new_str", "gone"), // refused: no match
			)
		}
		turns = append(turns, claudetest.Turn{Calls: calls})
	}
	return append(turns, claudetest.Turn{Say: "Done."})
}

func userMessage(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// params are a request with thinking on, prepared.
func params() anthropic.BetaToolRunnerParams {
	return claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model:     "claude-sonnet-4-5",
		MaxTokens: 4096,
		Thinking:  anthropic.BetaThinkingConfigParamOfEnabled(1024),
		Messages:  []anthropic.BetaMessageParam{userMessage("Go on with your work.")},
	}}, &claude.Options{Guidance: []string{claude.Tidy}})
}

// A runner is either of the SDK's.
type runner interface {
	Messages() []anthropic.BetaMessageParam
	LastMessage() *anthropic.BetaMessage
	IsCompleted() bool
}

// A mode is a way to run a conversation.
type mode struct {
	name string
	// start makes a runner and a function that runs it to its end. Each event of a
	// stream is counted by stop, which ends the run by returning true.
	start func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(ctx context.Context, stop func() bool) error)
}

func plain(r *anthropic.BetaToolRunner) (runner, func(context.Context, func() bool) error) {
	return r, func(ctx context.Context, _ func() bool) error {
		_, err := r.RunToCompletion(ctx)
		return err
	}
}

var errStopped = errors.New("stopped")

func streaming(r *anthropic.BetaToolRunnerStreaming) (runner, func(context.Context, func() bool) error) {
	return r, func(ctx context.Context, stop func() bool) error {
		for events, err := range r.AllStreaming(ctx) {
			if err != nil {
				return err
			}
			for _, err := range events {
				if err != nil {
					return err
				}
				if stop != nil && stop() {
					return errStopped
				}
			}
		}
		return nil
	}
}

func tools(m *claude.Memory, others []anthropic.BetaTool) []anthropic.BetaTool {
	return append([]anthropic.BetaTool{m}, others...)
}

// thread returns a message thread with the same parameters.
func thread(c *anthropic.Client, p anthropic.BetaToolRunnerParams) *anthropic.BetaMessageThread {
	return c.Beta.Messages.NewThread(claude.Prepare(anthropic.BetaMessageThreadCreateParams{
		Model: p.Model, MaxTokens: p.MaxTokens, Thinking: p.Thinking, Messages: p.Messages,
	}, &claude.Options{Guidance: []string{claude.Tidy}}))
}

var modes = []mode{
	{"plain", func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(context.Context, func() bool) error) {
		p.DisableThread = true
		return plain(c.Beta.Messages.NewToolRunner(tools(m, others), p, m.RunnerOptions()...))
	}},
	{"streaming", func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(context.Context, func() bool) error) {
		p.DisableThread = true
		return streaming(c.Beta.Messages.NewToolRunnerStreaming(tools(m, others), p, m.RunnerOptions()...))
	}},
	{"plain on its thread", func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(context.Context, func() bool) error) {
		return plain(c.Beta.Messages.NewToolRunner(tools(m, others), p, m.RunnerOptions()...))
	}},
	{"streaming on its thread", func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(context.Context, func() bool) error) {
		return streaming(c.Beta.Messages.NewToolRunnerStreaming(tools(m, others), p, m.RunnerOptions()...))
	}},
	{"plain over a thread", func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(context.Context, func() bool) error) {
		return plain(thread(c, p).NewToolRunner(tools(m, others), m.RunnerOptions()...))
	}},
	{"streaming over a thread", func(c *anthropic.Client, m *claude.Memory, p anthropic.BetaToolRunnerParams, others ...anthropic.BetaTool) (runner, func(context.Context, func() bool) error) {
		return streaming(thread(c, p).NewToolRunnerStreaming(tools(m, others), m.RunnerOptions()...))
	}},
}

// wireBlock is a content block as it is in requests.
type wireBlock struct {
	Type      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
	Content   []struct{ Type, Text string }
}

// transcript returns the blocks of a history.
func transcript(t *testing.T, messages []anthropic.BetaMessageParam) []wireBlock {
	t.Helper()
	var blocks []wireBlock
	for _, m := range messages {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var decoded struct{ Content []wireBlock }
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		blocks = append(blocks, decoded.Content...)
	}
	return blocks
}

// checkTranscript executes the memory calls of a history once more, one after the other
// in an empty store: the results must be those in the history, and the store must hold
// the same as the one that the conversation used. It returns the number of calls.
func checkTranscript(t *testing.T, messages []anthropic.BetaMessageParam, store *memento.Store) int {
	t.Helper()
	replayed := newStore()
	tool := memento.NewTool(replayed, nil)
	want := map[string]memento.ResultBlock{}
	answered := map[string]bool{}
	for _, b := range transcript(t, messages) {
		switch {
		case b.Type == "tool_use" && b.Name == memento.ToolName:
			c, _ := memento.ParseCall(b.Input)
			want[b.ID] = tool.RunCall(t.Context(), c)
		case b.Type == "tool_result":
			w, ok := want[b.ToolUseID]
			if !ok {
				continue // of another tool
			}
			answered[b.ToolUseID] = true
			if len(b.Content) != 1 {
				t.Errorf("%s has %d blocks", b.ToolUseID, len(b.Content))
				continue
			}
			if diff := gocmp.Diff(w.Content, b.Content[0].Text); diff != "" {
				t.Errorf("%s (-in order +in the transcript):\n%s", b.ToolUseID, diff)
			}
			if marked := w.IsError && strings.HasPrefix(w.Content, "Error: "); b.IsError != marked {
				t.Errorf("%s is_error is %t, want %t: %s", b.ToolUseID, b.IsError, marked, w.Content)
			}
		}
	}
	if len(answered) != len(want) {
		t.Errorf("%d of %d calls are answered", len(answered), len(want))
	}
	if diff := gocmp.Diff(contents(t, replayed), contents(t, store)); diff != "" {
		t.Error("the store (-as the transcript says +as it is):\n" + diff)
	}
	return len(want)
}

// contents returns the memories of a store by path.
func contents(t *testing.T, s *memento.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range s.List(t.Context(), memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Dir {
			continue
		}
		m, err := s.Get(t.Context(), memento.ByPath(e.Path))
		if err != nil {
			t.Fatal(err)
		}
		all[string(e.Path)] = m.Content
	}
	return all
}

// checkAccepted fails the test if the upstream refused a request.
func checkAccepted(t *testing.T, upstream *claudetest.Server) {
	t.Helper()
	for i, r := range upstream.Requests() {
		if r.Err != nil {
			t.Errorf("request %d was refused: %v", i, r.Err)
		}
	}
}

func TestRunner(t *testing.T) {
	for _, mode := range modes {
		for _, n := range []int{1, 3, race.Scaled(40, 8)} {
			t.Run(fmt.Sprintf("%s, %d rounds", mode.name, n), func(t *testing.T) {
				store := newStore()
				client, upstream := connect(t, nil, rounds(n)...)
				r, run := mode.start(client, claude.Tool(store, nil), params())
				if err := run(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				checkAccepted(t, upstream)
				if !r.IsCompleted() || r.LastMessage().StopReason != anthropic.BetaStopReasonEndTurn {
					t.Error("the conversation did not come to its end")
				}
				checkTranscript(t, r.Messages(), store)
				want := map[string]string{}
				for i := 1; i < n; i++ {
					want[fmt.Sprintf("/round%d.md", i)] = "first\nsecond\nsecond\n"
					if i <= 2 {
						want[fmt.Sprintf("/round%d.md", i)] = fmt.Sprintf("round %d\nsecond\nsecond\n", i)
					}
				}
				if diff := gocmp.Diff(want, contents(t, store)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Every request declares the tool in the same way.
func TestDeclaration(t *testing.T) {
	client, upstream := connect(t, nil, rounds(3)...)
	_, run := modes[0].start(client, claude.Tool(newStore(), nil), params())
	if err := run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var first string
	for i, r := range upstream.Requests() {
		var body struct {
			Tools             []json.RawMessage
			System            json.RawMessage
			ContextManagement json.RawMessage `json:"context_management"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		var tool map[string]any
		if len(body.Tools) != 1 || json.Unmarshal(body.Tools[0], &tool) != nil {
			t.Fatalf("request %d has the tools %s", i, body.Tools)
		}
		if diff := gocmp.Diff(map[string]any{"type": "memory_20250818", "name": "memory"}, tool); diff != "" {
			t.Error(diff)
		}
		prefix := fmt.Sprintf("%s %s %s %s", body.Tools, body.System, body.ContextManagement, r.Header["Anthropic-Beta"])
		if i == 0 {
			first = prefix
		}
		if prefix != first {
			t.Errorf("request %d differs:\n%s\n%s", i, first, prefix)
		}
	}
}

// The ordinary tool's description says that the agent can search, if it can.
func TestDescription(t *testing.T) {
	off, on := claude.Tool(newStore(), nil).Description(), claude.Tool(newStore(), &memento.ToolOptions{Search: true}).Description()
	if strings.Contains(off, ".search") || on != off+" "+memento.SearchGuidance {
		t.Errorf("the descriptions are %q and %q", off, on)
	}
}

// The order holds without the runner's spans, too, from which the IDs of calls come.
func TestOrderWithoutSpans(t *testing.T) {
	store := newStore()
	var calls []claudetest.Call
	for i := range 30 {
		calls = append(calls, insert("/memories/log.md", i, fmt.Sprintf("line %d\n", i)))
	}
	client, upstream := connect(t, nil,
		claudetest.Turn{Calls: append([]claudetest.Call{create("/memories/log.md", "")}, calls...)}, claudetest.Turn{Say: "Done."})
	m := claude.Tool(store, nil)
	p := params()
	r := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{m}, p, append(m.RunnerOptions(), option.WithoutOpenTelemetry())...)
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAccepted(t, upstream)
	checkTranscript(t, r.Messages(), store)
}

// Without RunnerOptions nothing is lost, and results are those of their calls.
func TestWithoutRunnerOptions(t *testing.T) {
	store := newStore()
	var calls []claudetest.Call
	for i := range 20 {
		calls = append(calls, create(fmt.Sprintf("/memories/%02d.md", i), "text\n"))
	}
	client, upstream := connect(t, nil, claudetest.Turn{Calls: calls}, claudetest.Turn{Say: "Done."})
	r := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{claude.Tool(store, nil)}, params())
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAccepted(t, upstream)
	checkTranscript(t, r.Messages(), store)
}

// weather is a tool of the application, which calls during with each call.
func weather(t *testing.T, during func() error) anthropic.BetaTool {
	t.Helper()
	tool, err := toolrunner.NewBetaToolFromBytes("weather", "Says what the weather is.", []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`),
		func(context.Context, struct{ City string }) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "Sunny."}}, during()
		})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestBesideOtherTools(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			store := newStore()
			var asked atomic.Int32
			client, upstream := connect(t, nil,
				claudetest.Turn{Calls: []claudetest.Call{
					create("/memories/weather.md", "Rome: ?\n"),
					{Tool: "weather", Input: map[string]any{"city": "Rome"}},
					call("str_replace", "path", "/memories/weather.md", "old_str", "?", "new_str", "sunny"),
					view("/memories/weather.md"),
					{Tool: "weather", Input: map[string]any{"city": "Atlantis"}},
				}},
				claudetest.Turn{Say: "Sunny."})
			r, run := mode.start(client, claude.Tool(store, nil), params(), weather(t, func() error {
				if asked.Add(1) == 2 {
					return errors.New("no such city")
				}
				return nil
			}))
			if err := run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			checkAccepted(t, upstream)
			checkTranscript(t, r.Messages(), store)
			if got := contents(t, store)["/weather.md"]; got != "Rome: sunny\n" || asked.Load() != 2 {
				t.Errorf("%q, %d calls of the other tool", got, asked.Load())
			}
		})
	}
}

// Two conversations share a tool and run at the same time.
func TestTwoRunners(t *testing.T) {
	store := newStore()
	m := claude.Tool(store, nil)
	done := make(chan error)
	for _, name := range []string{"a", "b"} {
		var calls []claudetest.Call
		for i := range 20 {
			calls = append(calls, insert("/memories/"+name+".md", i, fmt.Sprintf("line %d\n", i)))
		}
		client, _ := connect(t, nil, claudetest.Turn{Calls: append([]claudetest.Call{create("/memories/"+name+".md", "")}, calls...)}, claudetest.Turn{Say: "Done."})
		r := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{m}, params(), m.RunnerOptions()...)
		go func() {
			_, err := r.RunToCompletion(t.Context())
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	var want strings.Builder
	for i := range 20 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if diff := gocmp.Diff(map[string]string{"/a.md": want.String(), "/b.md": want.String()}, contents(t, store)); diff != "" {
		t.Error(diff)
	}
}

// interrupted is a conversation that is short, because it is played many times.
func interrupted() []claudetest.Turn {
	return []claudetest.Turn{
		{Say: "I look at my memory.", Calls: []claudetest.Call{view("/memories")}},
		{Calls: []claudetest.Call{create("/memories/a.md", "one\n"), insert("/memories/a.md", 1, "two\n"), view("/memories/a.md")}},
		{Say: "Done."},
	}
}

// A conversation that is broken off at any event goes on with a new runner.
func TestInterruption(t *testing.T) {
	for _, mode := range modes {
		if !strings.HasPrefix(mode.name, "streaming") {
			continue
		}
		t.Run(mode.name, func(t *testing.T) {
			client, upstream := connect(t, &claudetest.Options{ChunkRunes: 200}, interrupted()...)
			at, more, step := 0, true, race.Scaled(1, 3)
			for more {
				at += step
				store := newStore()
				m := claude.Tool(store, nil)
				r, run := mode.start(client, m, params())
				events := 0
				err := run(t.Context(), func() bool { events++; return events == at })
				more = errors.Is(err, errStopped)
				if err != nil && !more {
					t.Fatal(err)
				}
				messages := r.Messages()
				if more {
					messages = goOn(t, mode, client, m, messages)
				}
				if checkTranscript(t, messages, store) != 4 || t.Failed() {
					t.Fatalf("interrupted at event %d", at)
				}
			}
			checkAccepted(t, upstream)
			if at < 30 {
				t.Errorf("only %d events", at)
			}
		})
	}
}

// The connection breaks at any event of any answer.
func TestBrokenConnection(t *testing.T) {
	for _, mode := range modes {
		if !strings.HasPrefix(mode.name, "streaming") {
			continue
		}
		t.Run(mode.name, func(t *testing.T) {
			step := int64(race.Scaled(1, 3))
			var request, event atomic.Int64 // where to break the connection next
			var cut atomic.Bool
			client, upstream := connect(t, &claudetest.Options{ChunkRunes: 200, Cut: func(r, e int) bool {
				return int64(r) == request.Load() && int64(e) == event.Load() && cut.CompareAndSwap(false, true)
			}}, interrupted()...)
			cuts := 0
			for answer := range 3 {
				event.Store(-step)
				for more := true; more; {
					event.Add(step)
					request.Store(int64(len(upstream.Requests()) + answer))
					cut.Store(false)
					store := newStore()
					m := claude.Tool(store, nil)
					r, run := mode.start(client, m, params())
					err := run(t.Context(), nil)
					more = cut.Load()
					messages := r.Messages()
					switch {
					case err != nil && !more:
						t.Fatal(err)
					case err != nil:
						messages = goOn(t, mode, client, m, messages)
						cuts++
					}
					if checkTranscript(t, messages, store) != 4 || t.Failed() {
						t.Fatalf("broken at event %d of answer %d", event.Load(), answer)
					}
				}
			}
			checkAccepted(t, upstream)
			if cuts < race.Scaled(30, 10) {
				t.Errorf("only %d connections were broken", cuts)
			}
		})
	}
}

// goOn runs the rest of a conversation with a new runner.
func goOn(t *testing.T, mode mode, client *anthropic.Client, m *claude.Memory, messages []anthropic.BetaMessageParam) []anthropic.BetaMessageParam {
	t.Helper()
	p := params()
	p.Messages = m.Resume(t.Context(), messages)
	r, run := mode.start(client, m, p)
	if err := run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return r.Messages()
}

// The context is cancelled while the calls of a turn are executed: none of them is
// executed twice, and those that did not start are executed by Resume.
func TestCancelledDuringTools(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			store := newStore()
			client, upstream := connect(t, nil,
				claudetest.Turn{Calls: []claudetest.Call{
					create("/memories/a.md", "one\n"),
					insert("/memories/a.md", 1, "two\n"),
					{Tool: "weather", Input: map[string]any{"city": "Rome"}},
					insert("/memories/a.md", 2, "three\n"),
				}},
				claudetest.Turn{Say: "Done."})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m := claude.Tool(store, nil)
			r, run := mode.start(client, m, params(), weather(t, func() error { cancel(); return nil }))
			if err := run(ctx, nil); err == nil {
				t.Fatal("it was not cancelled")
			}
			p := params()
			p.Messages = m.Resume(t.Context(), r.Messages())
			r, run = mode.start(client, m, p, weather(t, func() error { return nil }))
			if err := run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			checkAccepted(t, upstream)
			// A call that was told to be cancelled may say so.
			history := transcript(t, r.Messages())
			text := contents(t, store)["/a.md"]
			for _, b := range history {
				if b.Type == "tool_result" && len(b.Content) == 1 && strings.Contains(b.Content[0].Text, "was cancelled before it finished") {
					return
				}
			}
			if text != "one\ntwo\nthree\n" {
				t.Errorf("the file is %q after %+v", text, history)
			}
		})
	}
}

// Nobody knows whether the calls of a history were executed that comes from elsewhere.
func TestResumeElsewhere(t *testing.T) {
	store := newStore()
	m := claude.Tool(store, nil)
	history := []anthropic.BetaMessageParam{
		userMessage("Go on."),
		{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{
			anthropic.NewBetaToolUseBlock("toolu_1", map[string]any{"command": "view", "path": "/memories"}, "memory"),
			anthropic.NewBetaToolUseBlock("toolu_2", map[string]any{"command": "create", "path": "/memories/a.md", "file_text": "x"}, "memory"),
			anthropic.NewBetaToolUseBlock("toolu_3", map[string]any{}, "weather"),
		}}},
		userMessage("And be quick."),
	}
	raw, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	var stored []anthropic.BetaMessageParam
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	blocks := transcript(t, m.Resume(t.Context(), stored))
	var got []string
	for _, b := range blocks[4:] {
		text := ""
		if len(b.Content) > 0 {
			text = b.Content[0].Text
		}
		got = append(got, fmt.Sprint(b.Type, " ", b.ToolUseID, " ", b.IsError, " ", text))
	}
	want := []string{
		"tool_result toolu_1 false Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories",
		"tool_result toolu_2 true Error: The command was cancelled before it finished. View /memories/a.md to see whether it took effect.",
		"tool_result toolu_3 true Error: The conversation was interrupted before the result of this call was recorded. Whether it took effect is not known. Find out before you repeat it.",
		"text  false ",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(contents(t, store)) != 0 {
		t.Error("a change was executed")
	}
}

// A history in order stays as it is; results that were recorded twice are not.
func TestResumeKeeps(t *testing.T) {
	m := claude.Tool(newStore(), nil)
	use := anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{
		anthropic.NewBetaToolUseBlock("toolu_1", map[string]any{"command": "view", "path": "/memories"}, "memory"),
	}}}
	result := anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("toolu_1", "there", false))
	empty := anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{}}
	foreign := anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("toolu_9", "whose?", false))
	for _, tt := range []struct {
		name       string
		have, want []anthropic.BetaMessageParam
	}{
		{"nothing", nil, nil},
		{"in order", []anthropic.BetaMessageParam{userMessage("Hi"), use, result, userMessage("More")}, []anthropic.BetaMessageParam{userMessage("Hi"), use, result, userMessage("More")}},
		{"twice", []anthropic.BetaMessageParam{userMessage("Hi"), use, result, result}, []anthropic.BetaMessageParam{userMessage("Hi"), use, result}},
		{"late", []anthropic.BetaMessageParam{userMessage("Hi"), use, userMessage("More"), result}, []anthropic.BetaMessageParam{userMessage("Hi"), use,
			anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("toolu_1", "there", false), anthropic.NewBetaTextBlock("More"))}},
		{"of no call", []anthropic.BetaMessageParam{userMessage("Hi"), use, result, foreign}, []anthropic.BetaMessageParam{userMessage("Hi"), use, result}},
		{"empty answer", []anthropic.BetaMessageParam{userMessage("Hi"), empty}, []anthropic.BetaMessageParam{userMessage("Hi")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, _ := json.Marshal(tt.want)
			if got, _ := json.Marshal(m.Resume(t.Context(), slices.Clone(tt.have))); string(got) != string(want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}
