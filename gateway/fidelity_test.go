package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"memento/gateway"
)

// A tape is an upstream that answers with fixed bytes, one after the other, and keeps
// what it got.
type tape struct {
	answers []string

	mu     sync.Mutex
	bodies []string
	header []http.Header
	uris   []string
}

func (u *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	n := len(u.bodies)
	u.bodies = append(u.bodies, string(body))
	u.header = append(u.header, r.Header.Clone())
	u.uris = append(u.uris, r.Method+" "+r.RequestURI)
	u.mu.Unlock()
	answer := u.answers[min(n, len(u.answers)-1)]
	w.Header().Set("Request-Id", fmt.Sprintf("req_%d", n))
	switch {
	case strings.HasPrefix(answer, "event:"):
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	case strings.HasPrefix(answer, `{"type":"error"`):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Should-Retry", "false")
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		w.Header().Set("Content-Type", "application/json")
	}
	io.WriteString(w, answer)
}

// events joins events: a name and its data in turn.
func events(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("event: " + pairs[i] + "\ndata: " + pairs[i+1] + "\n\n")
	}
	return b.String()
}

const toolJSON = `{"type":"memory_20250818","name":"memory"}`

// What the gateway need not touch keeps its bytes. Each of these is a complaint about
// another gateway.
func TestRequestKeepsItsBytes(t *testing.T) {
	const answer = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	tests := map[string]string{
		"cache_control with ttl":         `{"model":"claude-sonnet-4-5","max_tokens":10, "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"ttl":"5m","type":"ephemeral"}}]}]TOOLS}`,
		"cache_control on results":       `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"own","input":{"b":1,"a":1.50},"cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r","cache_control":{"type":"ephemeral","ttl":"1h"}}]}],"model":"claude-opus-4-5","max_tokens":10TOOLS}`,
		"thinking without text":          `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln+/=="},{"type":"redacted_thinking","data":"AAA="},{"type":"text","text":"\u00e4 \/ < > &"}]},{"role":"user","content":"y"}]TOOLS}`,
		"numbers":                        `{"model":"claude-sonnet-4-5","max_tokens":1e1,"temperature":1.0,"x_big":123456789012345678901234567890,"top_p":0.10,"messages":[{"role":"user","content":"x"}]TOOLS}`,
		"members and blocks of tomorrow": "{\n  \"model\": \"claude-sonnet-9\",\n  \"max_tokens\": 10,\n  \"future\": {\"b\": [1, 2 , 3], \"a\": null},\n  \"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"hologram\", \"z\": 1, \"a\": 2}]}]TOOLS\n}",
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			up := &tape{answers: []string{answer}}
			w := newWorld(t, up)
			response, got := w.post("/v1/messages?beta=true", strings.ReplaceAll(body, "TOOLS", ""), "Anthropic-Beta", "a-2026-01-01,b", "Anthropic-Beta", "c")
			if got != answer || response.StatusCode != http.StatusOK {
				t.Errorf("the application got %d %s", response.StatusCode, got)
			}
			want := strings.Replace(body, "TOOLS", `,"tools":[`+toolJSON+`]`, 1)
			if up.bodies[0] != want {
				t.Errorf("the upstream got\n%s\nwant\n%s", up.bodies[0], want)
			}
			if betas := up.header[0].Values("Anthropic-Beta"); len(betas) != 2 || betas[0] != "a-2026-01-01,b" || betas[1] != "c" {
				t.Errorf("the betas are %q", betas)
			}
			if up.uris[0] != "POST /v1/messages?beta=true" || up.header[0].Get("X-Api-Key") != upstreamKey {
				t.Errorf("the upstream got %s with the key %q", up.uris[0], up.header[0].Get("X-Api-Key"))
			}
		})
	}
}

// The tool comes after the application's own tools, whose bytes stay.
func TestToolIsLast(t *testing.T) {
	up := &tape{answers: []string{`{"type":"message","content":[],"stop_reason":"end_turn","usage":{}}`}}
	w := newWorld(t, up)
	own := `{"type":"web_search_20250305","name":"web_search","max_uses": 5},{"name":"own","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}} `
	w.post("/v1/messages", `{"model":"claude-sonnet-4-5","tools":[`+own+`],"messages":[{"role":"user","content":"x"}]}`)
	if want := `"tools":[` + own + `,` + toolJSON + `]`; !strings.Contains(up.bodies[0], want) {
		t.Errorf("the upstream got %s, without %s", up.bodies[0], want)
	}
}

// An application that has the tool, or a tool of that name, is passed through unchanged;
// and so are requests without a store, for models without the tool, and what the gateway
// does not understand.
func TestPassesThrough(t *testing.T) {
	const call = `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"delete","path":"/memories/a"}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`
	for name, test := range map[string]struct {
		body  string
		store string
	}{
		"the native tool":      {`{"model":"claude-sonnet-4-5","tools":[{"type":"memory_20250818","name":"memory"}],"messages":[{"role":"user","content":"x"}]}`, "default"},
		"a tool of its own":    {`{"model":"claude-sonnet-4-5","tools":[{"name":"memory","input_schema":{}}],"messages":[{"role":"user","content":"x"}]}`, "default"},
		"no store":             {`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`, ""},
		"an old model":         {`{"model":"claude-3-opus-20240229","messages":[{"role":"user","content":"x"}]}`, "default"},
		"no messages":          {`{"model":"claude-sonnet-4-5"}`, "default"},
		"not JSON":             {`{"model":`, "default"},
		"a member twice":       {`{"model":"claude-sonnet-4-5","messages":[],"messages":[{"role":"user","content":"x"}]}`, "default"},
		"tools that are wrong": {`{"model":"claude-sonnet-4-5","tools":{},"messages":[]}`, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			up := &tape{answers: []string{call}}
			w := newWorld(t, up, func(c *gateway.Config) {
				c.Identify = func(*http.Request) (gateway.Caller, error) {
					return gateway.Caller{Workspace: "default", Store: test.store}, nil
				}
			})
			response, got := w.post("/v1/messages", test.body)
			if got != call || len(up.bodies) != 1 || up.bodies[0] != test.body {
				t.Errorf("the application got %s, the upstream %q", got, up.bodies)
			}
			if h := response.Header; !strings.HasPrefix(h.Get("Server-Timing"), "memento;dur=") || len(h.Values("Request-Id")) != 1 {
				t.Errorf("the header is %v", h)
			}
		})
	}
	up := &tape{answers: []string{`{"data":[]}`}}
	w := newWorld(t, up)
	if _, got := w.post("/v1/files/a%2Fb?x=1;y=2", "any\x00bytes"); got != `{"data":[]}` || up.bodies[0] != "any\x00bytes" || up.uris[0] != "POST /v1/files/a%2Fb?x=1;y=2" {
		t.Errorf("got %s; the upstream got %q %q", got, up.uris, up.bodies)
	}
}

const (
	start   = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":1,"service_tier":"standard"}}}`
	start2  = `{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":50,"cache_creation_input_tokens":70,"cache_read_input_tokens":110,"output_tokens":1}}}`
	endTurn = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":20,"input_tokens":null},"context_management":null}`
	calls   = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":10}}`
	stop    = `{"type":"message_stop"}`
	viewing = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"view\",\"path\":\"/memories\"}"}}`
	request = `{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"x"}]}`
)

// A stream of one round has the upstream's bytes.
func TestStreamKeepsItsBytes(t *testing.T) {
	stream := events("message_start", start, "ping", `{"type": "ping"}`,
		"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		"content_block_stop", `{"type":"content_block_stop","index":0}`,
		"content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		"content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
		"content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\": \u003c1.0}"}}`,
		"content_block_stop", `{"type":"content_block_stop","index":1}`,
		"event_of_tomorrow", `{"type":"event_of_tomorrow","x":1.0}`,
		"content_block_start", `{"index":2,"type":"content_block_start","content_block":{"type":"block_of_tomorrow","a":{"b":1e3}}}`,
		"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"delta_of_tomorrow","a":5}}`,
		"content_block_stop", `{"type":"content_block_stop","index":2}`,
		"message_delta", endTurn, "message_stop", stop) + ": a comment\n\n"
	stream = strings.Replace(stream, "event: ping\n", "event: ping\r\nid: 5\r\n", 1)
	for _, store := range []string{"default", ""} {
		w := newWorld(t, &tape{answers: []string{stream}}, func(c *gateway.Config) {
			c.Identify = func(*http.Request) (gateway.Caller, error) {
				return gateway.Caller{Workspace: "default", Store: store}, nil
			}
		})
		_, got := w.post("/v1/messages", request)
		want := stream
		if store != "" {
			want = strings.TrimSuffix(stream, ": a comment\n\n") // after the end of the message
		}
		if got != want {
			t.Errorf("store %q: got\n%s\nwant\n%s", store, got, want)
		}
	}
}

// Two rounds become one message: one start, indices without gaps, and one end with the
// usage of both.
func TestStreamOfTwoRounds(t *testing.T) {
	thinking := `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`
	signature := `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln\u002b"}}`
	up := &tape{answers: []string{
		events("message_start", start, "content_block_start", thinking, "content_block_delta", signature, "content_block_stop", `{"type":"content_block_stop","index":0}`,
			"content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"memory","input":{},"caller":{"type":"direct"}}}`,
			"content_block_delta", viewing, "content_block_stop", `{"type":"content_block_stop","index":1}`,
			"content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
			"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\ud83d"}}`,
			"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\ude00 \/"}}`,
			"content_block_stop", `{"type":"content_block_stop","index":2}`,
			"message_delta", calls, "message_stop", stop),
		events("message_start", start2, "ping", `{"type":"ping"}`,
			"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}`,
			"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}}`,
			"content_block_stop", `{"type":"content_block_stop","index":0}`,
			"message_delta", endTurn, "message_stop", stop),
	}}
	w := newWorld(t, up)
	_, got := w.post("/v1/messages", request)
	want := events("message_start", start, "content_block_start", thinking, "content_block_delta", signature, "content_block_stop", `{"type":"content_block_stop","index":0}`,
		"content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		"content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\ud83d"}}`,
		"content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\ude00 \/"}}`,
		"content_block_stop", `{"type":"content_block_stop","index":1}`,
		"ping", `{"type":"ping"}`,
		"content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}`,
		"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"done"}}`,
		"content_block_stop", `{"type":"content_block_stop","index":2}`,
		"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":30,"input_tokens":55,"cache_creation_input_tokens":77,"cache_read_input_tokens":121},"context_management":null}`,
		"message_stop", stop)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// The model's own words come back to it as they were.
	if want := `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln\u002b"},` +
		`{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"},"caller":{"type":"direct"}},` +
		`{"type":"text","text":"\ud83d\ude00 \/"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1"`; !strings.Contains(up.bodies[1], want) {
		t.Errorf("the second round was\n%s\nwithout\n%s", up.bodies[1], want)
	}
}
