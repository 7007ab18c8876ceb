package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"memento/claude/claudetest"

	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// A conversation of turns with both kinds of calls, whose upstream breaks off once, before
// any of its events, and whose application repeats what has failed: at the end everything
// was said, and each memory call was executed once.
func TestMixedTurnsCut(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for request := range 4 {
			for event, more := 0, true; more; event++ {
				var cut atomic.Bool
				up := claudetest.New(claudetest.Script(shopping()[:4]...), &claudetest.Options{Cut: func(r, e int) bool {
					return r == request && e == event && cut.CompareAndSwap(false, true)
				}})
				w := newWorld(t, up)
				client := w.client()
				p := weatherParams()
				texts, err := converse(t.Context(), client, &p, streaming)
				if more = cut.Load(); more && err != nil {
					var rest string
					rest, err = converse(t.Context(), client, &p, streaming)
					texts += rest
				}
				if want := "I look. <weather> Also Oslo. <weather> Saved. Done. "; err != nil || texts != want {
					t.Errorf("streaming=%v, request %d cut before event %d: said %q, want %q; %v", streaming, request, event, texts, want, err)
				}
				if got := w.file("/plan.md"); got != "Rome\nOslo\n" || w.versions() != 2 {
					t.Errorf("streaming=%v, request %d cut before event %d: the memory is %q in %d versions", streaming, request, event, got, w.versions())
				}
				if event > 100 {
					t.Fatal("the answers have no end")
				}
			}
		}
	}
}

// The same, where it is the application's connection that breaks off, after any event.
func TestMixedTurnsClientCut(t *testing.T) {
	for request := range 2 {
		event := 0
		for more := true; more; event++ {
			w := newWorld(t, claudetest.New(claudetest.Script(shopping()[:4]...), nil))
			connection := &breakingOff{at: request, after: event}
			t.Cleanup(connection.CloseIdleConnections)
			client := w.client(option.WithHTTPClient(&http.Client{Transport: connection}))
			p := weatherParams()
			texts, err := converse(t.Context(), client, &p, true)
			if more = connection.broken; more {
				if err == nil {
					t.Errorf("request %d cut after %d events: no error", request, event)
				}
				var rest string
				rest, err = converse(t.Context(), client, &p, true)
				texts += rest
			}
			if want := "I look. <weather> Also Oslo. <weather> Saved. Done. "; err != nil || texts != want {
				t.Errorf("request %d cut after %d events: said %q, want %q; %v", request, event, texts, want, err)
			}
			if got := w.file("/plan.md"); got != "Rome\nOslo\n" || w.versions() != 2 {
				t.Errorf("request %d cut after %d events: the memory is %q in %d versions", request, event, got, w.versions())
			}
		}
		if event < 5 {
			t.Errorf("request %d: the stream has only %d events", request, event)
		}
	}
}

// A breakingOff transport breaks the answer to one request off, after some events.
type breakingOff struct {
	http.Transport
	at, after int // the request, and the events of its answer
	requests  int
	broken    bool
}

func (b *breakingOff) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.Transport.RoundTrip(r)
	if err == nil && b.requests == b.at {
		response.Body = &brokenBody{ReadCloser: response.Body, of: b}
	}
	b.requests++
	return response, err
}

type brokenBody struct {
	io.ReadCloser
	of     *breakingOff
	last   byte
	events int
}

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.events == b.of.after {
		b.of.broken = true
		b.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), 1)])
	if n > 0 {
		if p[0] == '\n' && b.last == '\n' {
			b.events++
		}
		b.last = p[0]
	}
	return n, err
}

// All rounds have the headers of the application's request; a forced choice of a tool is
// that of the first round alone. The headers of the upstream's answer come back.
func TestHeadersAndChoicesOfRounds(t *testing.T) {
	answers := []string{savesNote, saysDone}
	for _, streaming := range []bool{false, true} {
		for choice, later := range map[string]string{
			`{"type":"tool","name":"own","disable_parallel_tool_use":true}`: `{"type":"auto","disable_parallel_tool_use":true}`,
			`{"disable_parallel_tool_use":false,"type":"any"}`:              `{"disable_parallel_tool_use":false,"type":"auto"}`,
			`{"type":"auto", "x":1}`:                                        `{"type":"auto", "x":1}`,
			`{"type":"none"}`:                                               `{"type":"none"}`,
		} {
			body := strings.Replace(asksSave, "{", `{"tool_choice":`+choice+`,`, 1)
			if streaming {
				body = strings.Replace(body, "{", `{"stream":true,`, 1)
			}
			up := &tape{}
			for _, a := range answers {
				if streaming {
					a = streamOf(t, a)
				}
				up.answers = append(up.answers, a)
			}
			w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Anthropic-Ratelimit-Tokens-Remaining", "7")
				rw.Header().Set("X-Future", "yes")
				up.ServeHTTP(rw, r)
			}))
			response, got := w.post("/v1/messages", body, "Anthropic-Beta", "a", "Anthropic-Beta", "b,c", "X-Stainless-Retry-Count", "1")
			if !strings.Contains(got, "Done.") || len(up.bodies) != 2 {
				t.Fatalf("%d rounds: %s", len(up.bodies), got)
			}
			for i, want := range []string{choice, later} {
				if !strings.Contains(up.bodies[i], `"tool_choice":`+want) {
					t.Errorf("streaming=%v: round %d has not the choice %s: %s", streaming, i+1, want, up.bodies[i])
				}
				h := up.header[i]
				if strings.Join(h.Values("Anthropic-Beta"), ",") != "a,b,c" || h.Get("Anthropic-Version") != "2023-06-01" || h.Get("X-Stainless-Retry-Count") != "1" || h.Get("X-Api-Key") != upstreamKey {
					t.Errorf("streaming=%v: round %d has the headers %v", streaming, i+1, h)
				}
			}
			if h := response.Header; h.Get("Anthropic-Ratelimit-Tokens-Remaining") != "7" || h.Get("X-Future") != "yes" || !strings.HasPrefix(h.Get("Request-Id"), "req_") {
				t.Errorf("streaming=%v: the answer has the headers %v", streaming, h)
			}
		}
	}
}
