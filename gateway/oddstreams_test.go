package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"memento/gateway"
)

// toolUse are the events of a call whose input comes in one piece.
func toolUse(index, id, name, input string) string {
	quoted, _ := json.Marshal(input)
	return events("content_block_start", `{"type":"content_block_start","index":`+index+`,"content_block":{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}}`,
		"content_block_delta", `{"type":"content_block_delta","index":`+index+`,"delta":{"type":"input_json_delta","partial_json":`+string(quoted)+`}}`,
		"content_block_stop", `{"type":"content_block_stop","index":`+index+`}`)
}

// The input of a call that is not JSON, as of small models, does not make a request to the
// upstream invalid: neither the next round nor a later request of the conversation. The
// model is told, and the conversation goes on.
func TestInputThatIsNotJSON(t *testing.T) {
	const broken = `{"command":"view","path":`
	streamed := strings.Replace(asksSave, "{", `{"stream":true,`, 1)
	wrapped := `"input":{"INVALID_JSON":"{\"command\":\"view\",\"path\":"}`
	for _, input := range []string{broken, `"a text"`, `[1]`, `{} {}`} {
		up := &tape{answers: []string{
			events("message_start", start) + toolUse("0", "toolu_1", "memory", input) + events("message_delta", calls, "message_stop", stop),
			streamOf(t, saysDone), saysDone,
		}}
		w := newWorld(t, up)
		if _, got := w.post("/v1/messages", streamed); !strings.Contains(got, "Done.") || strings.Contains(got, "event: error") {
			t.Errorf("%s: the application got %s", input, got)
		}
		w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"Done."},{"role":"user","content":"y"}]}`)
		for i, body := range up.bodies[1:] {
			if !json.Valid([]byte(body)) || !strings.Contains(body, "INVALID_JSON") || !strings.Contains(body, `"is_error":true`) {
				t.Errorf("%s: later request %d was %s", input, i, body)
			}
		}
		if input == broken && !strings.Contains(up.bodies[1], wrapped) {
			t.Errorf("the second round was %s, without %s", up.bodies[1], wrapped)
		}
	}
	// A call of the application's own tool that was cut off, after a hidden round.
	const truncated = `{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":10}}`
	up := &tape{answers: []string{
		streamOf(t, savesNote),
		events("message_start", start) + toolUse("0", "toolu_2", "weather", `{"city":"Ro`) + events("message_delta", truncated, "message_stop", stop),
		saysDone,
	}}
	w := newWorld(t, up)
	if _, got := w.post("/v1/messages", streamed); !strings.Contains(got, `"partial_json":"{\"city\":\"Ro"`) || !strings.Contains(got, "max_tokens") {
		t.Errorf("the application got %s", got)
	}
	w.post("/v1/messages", `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"I save."},{"type":"tool_use","id":"toolu_2","name":"weather","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"cut off","is_error":true}]}]}`)
	if body := up.bodies[2]; !json.Valid([]byte(body)) || !strings.Contains(body, "File created successfully") || !strings.Contains(body, "toolu_2") {
		t.Errorf("the later request was %s", body)
	}
}

// Events whose data is in several lines, as the standard allows, are understood: their
// calls are executed and not shown, and those that need not change keep their bytes.
func TestEventsOfSeveralLines(t *testing.T) {
	split := func(stream string) string {
		return strings.ReplaceAll(stream, `,"index"`, ",\ndata: \"index\"")
	}
	first := split(streamOf(t, savesNote))
	up := &tape{answers: []string{first, split(streamOf(t, saysDone))}}
	w := newWorld(t, up)
	_, got := w.post("/v1/messages", strings.Replace(asksSave, "{", `{"stream":true,`, 1))
	if w.file("/a.md") != "a\n" || strings.Contains(got, "toolu_1") {
		t.Errorf("the memory is %q; the application got %s", w.file("/a.md"), got)
	}
	if shown := first[:strings.Index(first, "event: content_block_stop")]; !strings.HasPrefix(got, shown) {
		t.Errorf("the application got %s, which does not begin with %s", got, shown)
	}
	if !strings.Contains(got, "\ndata: \"index\":1,\"type\":\"content_block_start\"}\n\n") {
		t.Errorf("the block of the second round has not the index 1: %s", got)
	}
}

// The upstream is asked not to compress what the gateway looks into. If it does all the
// same, there is an error that says so, and no call of the memory reaches the application.
func TestCompressedAnswers(t *testing.T) {
	for body, answer := range map[string]string{asksSave: savesNote, request: streamOf(t, savesNote)} {
		var asked atomic.Value
		w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			asked.Store(r.Header.Get("Accept-Encoding"))
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			io.WriteString(z, answer)
			z.Close()
			w.Header().Set("Content-Encoding", "gzip")
			if w.Header().Set("Content-Type", "application/json"); body == request {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			w.Write(packed.Bytes())
		}))
		response, got := w.post("/v1/messages", body, "Accept-Encoding", "gzip")
		if response.StatusCode != http.StatusBadGateway || !strings.Contains(got, "compresses its answers") || !strings.Contains(w.log.String(), "compresses") {
			t.Errorf("got %d %q; the log is %s", response.StatusCode, got, w.log)
		}
		if asked.Load() != "identity" {
			t.Errorf("the upstream was asked for the encoding %q", asked.Load())
		}
	}
}

// What breaks a stream off is said to the application and in the log, where the status of
// the HTTP answer says nothing of it.
func TestBrokenStreamsAreExplained(t *testing.T) {
	for name, test := range map[string]struct {
		second       http.HandlerFunc
		said, logged string
	}{
		"a page of a proxy": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Should-Retry", "false")
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>canary</html>")
		}, "answered with the HTTP status 502", "HTTP status 502"},
		"an error of the API": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Should-Retry", "false")
			w.WriteHeader(529)
			io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"canary"}}`)
		}, `"type":"overloaded_error"`, "HTTP status 529"},
		"an error event": {saying(events("message_start", start2, "error", `{"type":"error","error":{"type":"overloaded_error","message":"canary"}}`)), `"type":"overloaded_error"`, "has sent an error"},
		"the end":        {saying(events("message_start", start2)), "was cut off", "was cut off"},
		"half an event":  {saying(events("message_start", start2) + "event: message_del"), "was cut off", "was cut off"},
	} {
		w := newWorld(t, &moody{moods: []http.HandlerFunc{saying(streamOf(t, savesNote)), test.second}})
		response, got := w.post("/v1/messages", strings.Replace(asksSave, "{", `{"stream":true,`, 1))
		wellFormed(t, response, got)
		if !strings.Contains(got, test.said) {
			t.Errorf("%s: the application got %s, without %s", name, got, test.said)
		}
		if log := w.log.String(); !strings.Contains(log, "a stream broke off") || !strings.Contains(log, test.logged) || !strings.Contains(log, "round=2") || strings.Contains(log, "canary") {
			t.Errorf("%s: the log is %s", name, log)
		}
	}
	// Without streaming an answer that breaks off is no upstream that cannot be reached.
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		saying(`{"id":"msg_1","type":"mess`)(w, r)
	}))
	if response, got := w.post("/v1/messages", asksSave); response.StatusCode != http.StatusBadGateway || !strings.Contains(got, "was cut off") {
		t.Errorf("got %d %s", response.StatusCode, got)
	}
	// An answer that is no message passes as it is, and the log says so.
	w = newWorld(t, saying(`{"object":"chat.completion"}`))
	if _, got := w.post("/v1/messages", asksSave); got != `{"object":"chat.completion"}` || !strings.Contains(w.log.String(), "is no message") {
		t.Errorf("got %s; the log is %s", got, w.log)
	}
}

// Results of memory calls are bounded, those of the present request and those of earlier
// ones: together with them a conversation can be too large.
func TestTooManyResults(t *testing.T) {
	const note = 15_000
	view := `{"type":"tool_use","id":"toolu_ID","name":"memory","input":{"command":"view","path":"/memories/a.md"}}`
	many := `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"I look."}`
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		many += "," + strings.Replace(view, "ID", id, 1)
	}
	many += `],"stop_reason":"tool_use","usage":{"input_tokens":1}}`
	saves := strings.Replace(savesNote, `"a\n"`, `"`+strings.Repeat("word ", note/5)+`"`, 1)
	for _, streaming := range []bool{false, true} {
		up := &tape{answers: []string{saves, saysDone, many, saysDone}}
		body := asksSave
		if streaming {
			up = &tape{answers: []string{streamOf(t, saves), streamOf(t, saysDone), streamOf(t, many), streamOf(t, saysDone)}}
			body = strings.Replace(asksSave, "{", `{"stream":true,`, 1)
		}
		w := newWorld(t, up, func(c *gateway.Config) { c.MaxBody = 4 * note })
		w.post("/v1/messages", body)
		if _, got := w.post("/v1/messages", body); !strings.Contains(got, "request_too_large") || !strings.Contains(got, "begin a new one") || len(up.bodies) != 3 {
			t.Errorf("streaming=%v: after %d rounds the application got %s", streaming, len(up.bodies), got)
		}
		if len(w.turns) != 2 || w.turns[1].Outcome != "refused" {
			t.Errorf("the turns ended with %+v", w.turns)
		}
	}
	up := &tape{answers: []string{saves, saysDone, many, saysDone}}
	w := newWorld(t, up)
	w.post("/v1/messages", asksSave)
	w.post("/v1/messages", strings.Replace(asksSave, `"x"`, `"z"`, 1))
	again := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"z"},{"role":"assistant","content":"I look.Done."},{"role":"user","content":"y"}]}`
	w.config.MaxBody = 4 * note
	for _, fresh := range []bool{true, false} { // read from the storage, and known already
		if fresh {
			w.config.State = gateway.NewState(w.backend)
		}
		w.start()
		if response, got := w.post("/v1/messages", again); response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(got, "begin a new one") {
			t.Errorf("fresh=%v: got %d %s", fresh, response.StatusCode, got)
		}
	}
	w.config.MaxBody = 0
	w.start()
	if response, got := w.post("/v1/messages", again); response.StatusCode != http.StatusOK {
		t.Errorf("got %d %s", response.StatusCode, got)
	}
}

// A count with edits needs both numbers: an error of the second is the answer.
func TestSecondCountFails(t *testing.T) {
	const refused = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"tN","name":"own","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"tN","content":"` + strings.Repeat("word ", 200) + `"}]},`
	body := `{"model":"claude-sonnet-4-5","context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":1}}]},"messages":[{"role":"user","content":"x"},` +
		strings.ReplaceAll(call, "N", "1") + strings.ReplaceAll(call, "N", "2") + strings.ReplaceAll(call, "N", "3") + `{"role":"user","content":"y"}]}`
	for _, second := range []string{`{"input_tokens":70}`, refused} {
		w := newWorld(t, &tape{answers: []string{`{"input_tokens":7}`, second}}, emulating(gateway.Emulation{ContextEditing: true}))
		response, got := w.post("/v1/messages/count_tokens", body)
		want, status := `{"input_tokens":7,"context_management":{"original_input_tokens":70}}`, http.StatusOK
		if second == refused {
			want, status = refused, http.StatusTooManyRequests
		}
		if response.StatusCode != status || got != want {
			t.Errorf("got %d %s, want %d %s", response.StatusCode, got, status, want)
		}
	}
}

// An application that has closed its sending side while it waits does not get an answer
// without words, which would be a success: it gets an error, in a stream as an event.
func TestHalfClosedConnection(t *testing.T) {
	gone := make(chan struct{}, 10) // the upstream may also not have been asked yet
	for name, test := range map[string]struct{ path, body, begun string }{
		"a message":      {"/v1/messages", asksSave, ""},
		"a stream":       {"/v1/messages", request, events("message_start", start)},
		"what is passed": {"/v1/files", "{}", ""},
	} {
		w := newWorld(t, waits(gone, test.begun))
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", test.path, len(test.body), test.body)
		in := bufio.NewReader(conn)
		for test.begun != "" {
			if line, err := in.ReadString('\n'); err != nil || strings.HasPrefix(line, "data:") {
				break
			}
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(in)
		if err != nil || !strings.Contains(string(rest), `{"type":"error","error":{"type":"api_error","message":"the application has closed its connection`) {
			t.Errorf("%s: got %q, %v", name, rest, err)
		}
		if test.begun == "" && !strings.HasPrefix(string(rest), "HTTP/1.1 499 ") {
			t.Errorf("%s: got %q", name, rest)
		}
	}
}
