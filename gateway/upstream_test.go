package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"memento/gateway"
)

const (
	savesNote = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"I save."},{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/a.md","file_text":"a\n"}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`
	saysDone  = `{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":2}}`
	asksSave  = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"x"}]}`
)

// A moody upstream answers request by request, in a way of its own each time.
type moody struct {
	mu     sync.Mutex
	moods  []http.HandlerFunc // the last one stays
	bodies []string
}

func (u *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	mood := u.moods[min(len(u.bodies), len(u.moods)-1)]
	u.bodies = append(u.bodies, string(body))
	u.mu.Unlock()
	mood(w, r)
}

func (u *moody) requests() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.bodies...)
}

func saying(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(answer, "event:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		io.WriteString(w, answer)
	}
}

// failing answers with an error. Headers are pairs.
func failing(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Retry-After-Ms", "1")
		h.Set("Request-Id", "req_failed")
		h.Set("Anthropic-Ratelimit-Requests-Remaining", "0")
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"too busy"}}`)
	}
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		c.Close()
	}
}

// A later round is repeated as the SDKs do it, with the same body; no call runs twice.
func TestLaterRoundsAreRepeated(t *testing.T) {
	repeated := map[string]http.HandlerFunc{
		"408": failing(408), "409": failing(409), "429": failing(429), "500": failing(500), "529": failing(529),
		"told to": failing(400, "X-Should-Retry", "true"), "no answer": hangUp,
		"asks for an hour": failing(529, "Retry-After-Ms", "3600000"),
	}
	for name, failure := range repeated {
		up := &moody{moods: []http.HandlerFunc{saying(savesNote), failure, failure, saying(saysDone)}}
		if name == "no answer" {
			up.moods = append(up.moods[:2:2], up.moods[3]) // its delays are those of a client
		}
		w := newWorld(t, up)
		response, got := w.post("/v1/messages", asksSave)
		if response.StatusCode != http.StatusOK || !strings.Contains(got, "I save.") || !strings.Contains(got, "Done.") {
			t.Errorf("%s: got %d %s", name, response.StatusCode, got)
		}
		bodies := up.requests()
		if len(bodies) != len(up.moods) {
			t.Fatalf("%s: %d requests, want %d", name, len(bodies), len(up.moods))
		}
		for _, body := range bodies[2:] {
			if body != bodies[1] {
				t.Errorf("%s: repeated with another body: %s", name, body)
			}
		}
		if n := w.versions(); n != 1 {
			t.Errorf("%s: %d versions", name, n)
		}
	}
	// What would not help is not done, and neither is more than two attempts more.
	for name, test := range map[string]struct {
		failure http.HandlerFunc
		status  int
		want    int // requests
	}{
		"400": {failing(400), 400, 2}, "401": {failing(401), 401, 2}, "told not to": {failing(529, "X-Should-Retry", "false"), 529, 2},
		"for ever": {failing(529), 529, 4},
	} {
		for _, streaming := range []bool{false, true} {
			first, body := savesNote, asksSave
			if streaming {
				first, body = streamOf(t, savesNote), strings.Replace(asksSave, "{", `{"stream":true,`, 1)
			}
			up := &moody{moods: []http.HandlerFunc{saying(first), test.failure}}
			w := newWorld(t, up)
			response, got := w.post("/v1/messages", body)
			if streaming {
				wellFormed(t, response, got)
			} else if response.StatusCode != test.status || response.Header.Get("Request-Id") != "req_failed" || response.Header.Get("Anthropic-Ratelimit-Requests-Remaining") != "0" {
				t.Errorf("%s: got %d %v", name, response.StatusCode, response.Header)
			}
			if n := len(up.requests()); n != test.want || !strings.Contains(got, "too busy") || w.versions() != 1 {
				t.Errorf("%s, streaming=%v: %d requests, want %d; %d versions; got %s", name, streaming, n, test.want, w.versions(), got)
			}
		}
	}
}

// The application repeats the first round itself, and nothing is repeated of which it has
// seen a part.
func TestNotRepeated(t *testing.T) {
	up := &moody{moods: []http.HandlerFunc{failing(529)}}
	w := newWorld(t, up)
	response, got := w.post("/v1/messages", asksSave)
	if response.StatusCode != 529 || got != `{"type":"error","error":{"type":"overloaded_error","message":"too busy"}}` || response.Header.Get("Retry-After-Ms") != "1" || len(up.requests()) != 1 {
		t.Errorf("got %d %s %v after %d requests", response.StatusCode, got, response.Header, len(up.requests()))
	}
	broken := streamOf(t, saysDone)
	broken = broken[:strings.Index(broken, "event: message_delta")]
	up = &moody{moods: []http.HandlerFunc{saying(streamOf(t, savesNote)), saying(broken)}}
	w = newWorld(t, up)
	response, got = w.post("/v1/messages", strings.Replace(asksSave, "{", `{"stream":true,`, 1))
	wellFormed(t, response, got)
	if n := len(up.requests()); n != 2 || strings.Count(got, "Done.") != 1 {
		t.Errorf("%d requests; got %s", n, got)
	}
}

// waits holds a request until the other side is gone, and says so.
func waits(gone chan<- struct{}, first string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // or the server would not notice
		if first != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, first)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		gone <- struct{}{}
	}
}

// An upstream that is silent for too long is given up: before its answer, and in it.
func TestSilentUpstream(t *testing.T) {
	// When the upstream's server is closed, it waits until its handlers know.
	gone := make(chan struct{}, 2)
	short := func(c *gateway.Config) { c.Timeout = 50 * time.Millisecond }
	w := newWorld(t, waits(gone, ""), short)
	response, got := w.post("/v1/messages", asksSave)
	if response.StatusCode != http.StatusGatewayTimeout || !strings.Contains(got, `"timeout_error"`) || response.Header.Get("X-Should-Retry") != "true" {
		t.Errorf("got %d %s", response.StatusCode, got)
	}
	begun := events("message_start", start)
	w = newWorld(t, waits(gone, begun), func(c *gateway.Config) { c.Timeout = 2 * time.Second })
	response, got = w.post("/v1/messages", request)
	if response.StatusCode == http.StatusOK { // a machine under load may not even get this far
		wellFormed(t, response, got)
	}
	if !strings.Contains(got, `"timeout_error"`) {
		t.Errorf("got %d %s", response.StatusCode, got)
	}
}

// Nothing is held back: the application reads the first event while the upstream waits,
// then gets pings, and when it goes away the upstream learns of it.
func TestPingsAndCancellation(t *testing.T) {
	gone := make(chan struct{}, 1)
	w := newWorld(t, waits(gone, events("message_start", start)), func(c *gateway.Config) { c.Ping = time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/messages", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Api-Key", upstreamKey)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var names []string
	in := bufio.NewScanner(response.Body)
	for len(names) < 4 && in.Scan() {
		if name, ok := strings.CutPrefix(in.Text(), "event: "); ok {
			names = append(names, name)
		}
	}
	if got := strings.Join(names, " "); got != "message_start ping ping ping" {
		t.Errorf("the stream begins with %s", got)
	}
	cancel()
	<-gone
}

// A turn that the upstream has paused goes on when the application sends it back, and the
// hidden round before it stays in its place, then and later.
func TestPausedTurn(t *testing.T) {
	const search = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q": 1.0}}`
	const result = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`
	for _, merged := range []bool{false, true} { // applications store the parts as two messages or as one
		up := &tape{answers: []string{
			savesNote,
			`{"id":"msg_2","type":"message","role":"assistant","content":[` + search + `],"stop_reason":"pause_turn","usage":{"input_tokens":1}}`,
			`{"id":"msg_3","type":"message","role":"assistant","content":[` + result + `,{"type":"text","text":"Found."}],"stop_reason":"end_turn","usage":{"input_tokens":1}}`,
			saysDone,
		}}
		w := newWorld(t, up)
		_, got := w.post("/v1/messages", asksSave)
		if want := `"content":[{"type":"text","text":"I save."},` + search + `],"stop_reason":"pause_turn"`; !strings.Contains(got, want) {
			t.Fatalf("got %s, without %s", got, want)
		}
		const question = `{"role":"user","content":"x"}`
		paused := `{"type":"text","text":"I save."},` + search
		w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[`+question+`,{"role":"assistant","content":[`+paused+`]}]}`)
		hidden := `[` + question + `,{"role":"assistant","content":[{"type":"text","text":"I save."},{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/a.md","file_text":"a\n"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"File created successfully at: /memories/a.md"}]},{"role":"assistant","content":[` + search
		if want := `"messages":` + hidden + `]}]`; !strings.Contains(up.bodies[2], want) {
			t.Errorf("the paused turn went on with %s, without %s", up.bodies[2], want)
		}
		rest := result + `,{"type":"text","text":"Found."}`
		turn := `{"role":"assistant","content":[` + paused + `]},{"role":"assistant","content":[` + rest + `]}`
		if merged {
			turn = `{"role":"assistant","content":[` + paused + `,` + rest + `]}`
		}
		w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[`+question+`,`+turn+`,{"role":"user","content":"y"}]}`)
		if merged && !strings.Contains(up.bodies[3], hidden+`,`+rest+`]}`) {
			t.Errorf("a later request was %s, without %s", up.bodies[3], hidden)
		}
		if strings.Count(up.bodies[3], "srvtoolu_1") != 2 || !strings.Contains(up.bodies[3], "Found.") {
			t.Errorf("a later request was %s", up.bodies[3])
		}
		if n := w.versions(); n != 1 {
			t.Errorf("%d versions", n)
		}
	}
}
