package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"memento/claude/claudetest"
	"memento/gateway"
)

// saves is a conversation with two rounds that write.
func saves() []claudetest.Turn {
	return []claudetest.Turn{
		{User: "Save", Say: "First.", Calls: []claudetest.Call{memoryCall("create", "path", "/memories/a.md", "file_text", "a\n"), memoryCall("insert", "path", "/memories/a.md", "insert_line", 1, "insert_text", "b")}},
		{Say: "Second.", Calls: []claudetest.Call{memoryCall("insert", "path", "/memories/a.md", "insert_line", 2, "insert_text", "c")}},
		{Say: "Done."},
	}
}

const saveRequest = `{"model":"claude-sonnet-4-5","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":"Save"}]}`

// Whichever event of the upstream is the last before the connection breaks: the stream
// ends with an error that is well-formed, what was executed is whole, and when the
// application repeats its request, no call is executed again.
func TestUpstreamCut(t *testing.T) {
	for request := range 3 {
		more := true
		for event := 0; more; event++ {
			var cut atomic.Bool
			up := claudetest.New(claudetest.Script(saves()...), &claudetest.Options{Cut: func(r, e int) bool {
				here := r == request && e == event
				if here {
					cut.Store(true)
				}
				return here
			}})
			w := newWorld(t, up)
			response, got := w.post("/v1/messages", saveRequest)
			if more = cut.Load(); more {
				want := map[int]string{0: "error: ", 1: "a\nb\n", 2: "a\nb\nc\n"}[request]
				if content := w.file("/a.md"); !strings.HasPrefix(content, want) || want == "" || request > 0 && content != want {
					t.Errorf("request %d cut before event %d: the memory is %q, want %q", request, event, content, want)
				}
				wellFormed(t, response, got)
				if _, got = w.post("/v1/messages", saveRequest); !strings.Contains(got, "event: message_stop") {
					t.Errorf("request %d cut before event %d: repeated: %s", request, event, got)
				}
			}
			if content := w.file("/a.md"); content != "a\nb\nc\n" || w.versions() != 3 {
				t.Errorf("request %d cut before event %d: at the end the memory is %q in %d versions", request, event, content, w.versions())
			}
			if event > 100 {
				t.Fatal("the streams have no end")
			}
		}
	}
}

// wellFormed checks a stream that broke off: whole events, and an error at the end.
func wellFormed(t *testing.T, response *http.Response, stream string) {
	t.Helper()
	if response.StatusCode != http.StatusOK {
		if !strings.HasPrefix(stream, `{"type":"error"`) {
			t.Errorf("the answer is %d %s", response.StatusCode, stream)
		}
		return
	}
	all := strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n")
	for i, e := range all {
		if !strings.HasPrefix(e, "event: ") || !strings.HasSuffix(e, "}") {
			t.Errorf("event %d is %q", i, e)
		}
	}
	if last := all[len(all)-1]; !strings.HasPrefix(last, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"") {
		t.Errorf("the last event is %q", last)
	}
}

// Whichever event is the last that the application reads: every call that was executed is
// whole, and none is executed again when it repeats its request.
func TestClientCut(t *testing.T) {
	var events int
	for read := 0; read == 0 || read <= events; read++ {
		ended := make(chan gateway.Turn, 2)
		w := newWorld(t, scripted(saves()...), func(c *gateway.Config) {
			c.Observe = func(_ context.Context, turn gateway.Turn) { ended <- turn }
		})
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/messages", strings.NewReader(saveRequest))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Anthropic-Version": "2023-06-01", "X-Api-Key": upstreamKey} {
			request.Header.Set(name, value)
		}
		client := &http.Client{Transport: &http.Transport{}}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(response.Body)
		n := 0
		for read == 0 || n < read {
			line, err := in.ReadString('\n')
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if line == "\n" {
				n++
			}
		}
		if read == 0 {
			events = n
		}
		cancel()
		response.Body.Close()
		client.CloseIdleConnections()
		<-ended
		if _, got := w.post("/v1/messages", saveRequest); !strings.Contains(got, "event: message_stop") {
			t.Errorf("cut after %d events: repeated: %s", read, got)
		}
		<-ended
		if content := w.file("/a.md"); content != "a\nb\nc\n" || w.versions() != 3 {
			t.Errorf("cut after %d events: the memory is %q in %d versions", read, content, w.versions())
		}
	}
	if events < 10 {
		t.Errorf("the stream has only %d events", events)
	}
}
