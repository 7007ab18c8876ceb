package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"

	"memento/claude/claudetest"
	"memento/gateway"
)

// anotherEachTime answers each request with a new gateway on the same backend: as after a
// restart within a turn, and as behind a load balancer.
func (w *world) anotherEachTime() {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c := w.config
		c.State = gateway.NewState(w.backend)
		g, err := gateway.New(c)
		if err != nil {
			w.t.Error(err)
			return
		}
		g.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	w.url = server.URL
}

// Turns of both kinds of calls complete although no gateway sees more than one request; and
// the thinking in them stays valid, which the upstream binds to all that was before it.
func TestAnotherGatewayForEachRequest(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		turns := shopping()
		for i := range turns {
			turns[i].Thinking = "I think."
		}
		up := claudetest.New(claudetest.Script(turns...), &claudetest.Options{BindThinking: true})
		w := newWorld(t, up)
		w.anotherEachTime()
		p := weatherParams()
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(2000)
		texts, err := converse(t.Context(), w.client(), &p, streaming)
		if err != nil {
			t.Fatal(err)
		}
		p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock("And now?")))
		more, err := converse(t.Context(), w.client(), &p, streaming)
		if want := "I look. <weather> Also Oslo. <weather> Saved. Done. Nothing. "; err != nil || texts+more != want {
			t.Errorf("streaming=%v: said %q, want %q; %v", streaming, texts+more, want, err)
		}
		if got := w.file("/plan.md"); got != "Rome\nOslo\n" || w.versions() != 2 {
			t.Errorf("streaming=%v: the memory is %q in %d versions", streaming, got, w.versions())
		}
		requests := up.Requests()
		if last := string(requests[len(requests)-1].Body); strings.Count(last, `"type":"thinking"`) < 4 {
			t.Errorf("streaming=%v: thinking is missing in %s", streaming, last)
		}
	}
}

// Tokens are counted of what the upstream would get: with the tool, and with the rounds that
// the application does not see.
func TestCountWithHiddenRounds(t *testing.T) {
	up := &tape{answers: []string{savesNote, saysDone, `{"input_tokens": 7}`}}
	w := newWorld(t, up)
	w.post("/v1/messages", asksSave)
	conversation := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"I save.Done."},{"role":"user","content":"y"}]}`
	_, got := w.post("/v1/messages/count_tokens", conversation)
	counted := up.bodies[2]
	if got != `{"input_tokens": 7}` || !strings.Contains(counted, toolJSON) || !strings.Contains(counted, "File created successfully") || up.uris[2] != "POST /v1/messages/count_tokens" {
		t.Errorf("got %s for %s %s", got, up.uris[2], counted)
	}
	if w.versions() != 1 || len(w.turns) != 1 {
		t.Errorf("counting made %d versions and %d turns", w.versions(), len(w.turns))
	}
}

// An application that declares the native tool and executes it itself, as coding agents do,
// passes through unchanged: the upstream gets its bytes, and the gateway's store stays empty.
func TestAgentWithItsOwnMemory(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		up := scripted(saving()...)
		w := newWorld(t, up)
		var sent [][]byte
		client := w.client(option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			sent = append(sent, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			return next(r)
		}))
		var mu sync.Mutex
		var commands []string
		own, err := toolrunner.NewBetaToolFromJSONSchema("memory", "",
			func(_ context.Context, in struct {
				Command string `json:"command"`
			}) (anthropic.BetaToolResultBlockParamContentUnion, error) {
				mu.Lock()
				commands = append(commands, in.Command)
				mu.Unlock()
				text := "The file has been created. The user likes tea."
				return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		p := anthropic.BetaToolRunnerParams{DisableThread: true, BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 4000,
			Tools:    []anthropic.BetaToolUnionParam{{OfMemoryTool20250818: &anthropic.BetaMemoryTool20250818Param{}}},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("I like tea"))},
		}}
		if streaming {
			runner := client.Beta.Messages.NewToolRunnerStreaming([]anthropic.BetaTool{own}, p)
			for events, err := range runner.AllStreaming(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range events {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		} else if _, err := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{own}, p).RunToCompletion(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(commands) // the runner executes the calls of a turn at the same time
		if got := strings.Join(commands, " "); got != "create insert view" {
			t.Errorf("streaming=%v: the application has executed %q", streaming, got)
		}
		requests := up.Requests()
		for i, r := range requests {
			if i >= len(sent) || !bytes.Equal(r.Body, sent[i]) {
				t.Errorf("streaming=%v: request %d was %s", streaming, i, r.Body)
			}
		}
		if len(requests) != len(sent) || len(sent) != 3 || w.versions() != 0 {
			t.Errorf("streaming=%v: %d requests of %d; %d versions", streaming, len(requests), len(sent), w.versions())
		}
	}
}

// With hidden rounds put back, the messages of the application keep their bytes, and its
// breakpoints for prompt caching stay where they were: on the last block of a turn.
func TestBreakpointsOfRestoredTurns(t *testing.T) {
	const control = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	up := &tape{answers: []string{savesNote, saysDone, saysDone}}
	w := newWorld(t, up)
	w.post("/v1/messages", asksSave)
	first := `{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https:\/\/x"},` + control + `},{"type":"text","text":"x"}]}`
	w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"I save."},{"type":"text","text":"Done.",`+control+`}]},`+first+`]}`)
	var last struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(up.bodies[2]), &last); err != nil || len(last.Messages) != 5 {
		t.Fatalf("%v in %s", err, up.bodies[2])
	}
	if got, want := string(last.Messages[3]), `{"role":"assistant","content":[{"type":"text","text":"Done.",`+control+`}]}`; got != want {
		t.Errorf("the restored turn ends with %s, want %s", got, want)
	}
	if got := string(last.Messages[4]); got != first {
		t.Errorf("the last message is %s, want %s", got, first)
	}
	if n := strings.Count(up.bodies[2], "cache_control"); n != 2 {
		t.Errorf("%d breakpoints in %s", n, up.bodies[2])
	}
}

// With everything emulated, all that is not edited keeps its bytes, too.
func TestEmulationKeepsBytes(t *testing.T) {
	const message = `{"content":[{"type":"text","text":"a \u00e4 \/","cache_control":{"ttl":"5m","type":"ephemeral"}},{"type":"hologram","z": 1.50}],"role":"user"}`
	up := &tape{answers: []string{strings.Replace(saysDone, "2}", "2,\"cache_read_input_tokens\":null}", 1)}}
	w := newWorld(t, up, emulating(gateway.Emulation{Memory: true, ContextEditing: true, Compaction: true}))
	_, got := w.post("/v1/messages", `{"model":"m","max_tokens":1e2,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}]},"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses": 5}],"x_future":123456789012345678901234567890,"messages":[`+message+`]}`,
		"Anthropic-Beta", "future-2027-01-01")
	for _, want := range []string{`{"model":"m","max_tokens":1e2,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text"`,
		`"tools":[{"type":"web_search_20250305","name":"web_search","max_uses": 5},{"name":"memory"`, `"x_future":123456789012345678901234567890,"messages":[` + message + `]`} {
		if !strings.Contains(up.bodies[0], want) {
			t.Errorf("the upstream got %s, without %s", up.bodies[0], want)
		}
	}
	if beta := up.header[0].Values("Anthropic-Beta"); len(beta) != 1 || beta[0] != "future-2027-01-01" {
		t.Errorf("the betas are %q", beta)
	}
	if !strings.Contains(got, `"usage":{"input_tokens":2,"cache_read_input_tokens":null}`) || !strings.Contains(got, `"context_management":{"applied_edits":[]}`) {
		t.Errorf("the application got %s", got)
	}
}

// Messages without memory are counted on demand: their bytes stay, and what was taken is
// known, also of a stream that breaks off.
func TestCountAll(t *testing.T) {
	whole := `{"id":"m","type":"message", "content":[{"type":"text","text":"\u00e4"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":3}}`
	stream := events("message_start", start, "message_delta", endTurn, "message_stop", stop)
	broken := events("message_start", start)
	for name, test := range map[string]struct {
		answer  string
		output  int64
		outcome string
	}{"whole": {whole, 3, "ok"}, "stream": {stream, 20, "ok"}, "broken": {broken, 1, "upstream_error"}} {
		up := &tape{answers: []string{test.answer}}
		w := newWorld(t, up, func(c *gateway.Config) {
			c.CountAll = true
			c.Identify = func(*http.Request) (gateway.Caller, error) { return gateway.Caller{Workspace: "default"}, nil }
		})
		body := request
		if name == "whole" {
			body = `{"model": "claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`
		}
		_, got := w.post("/v1/messages", body)
		if !strings.HasPrefix(got, test.answer) || up.bodies[0] != body {
			t.Errorf("%s: got %s for %s", name, got, up.bodies[0])
		}
		if len(w.turns) != 1 {
			t.Fatalf("%s: observed %+v", name, w.turns)
		}
		turn := w.turns[0]
		if !turn.Passed || turn.InputTokens != 5 || turn.CacheCreationTokens != 7 || turn.CacheReadTokens != 11 || turn.OutputTokens != test.output || turn.Outcome != test.outcome {
			t.Errorf("%s: observed %+v", name, turn)
		}
		// What could not be counted is refused, and what has no tokens is not counted.
		if response, got := w.post("/v1/messages", `{"messages":[],"messages":[]}`); response.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: a body that is not understood got %d %s", name, response.StatusCode, got)
		}
		w.post("/v1/messages/count_tokens", body)
		if len(w.turns) != 1 {
			t.Errorf("%s: observed %+v", name, w.turns)
		}
	}
}
