package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/claude/claudetest"
	"memento/gateway"
)

// Connections that announce large bodies and send none keep nobody else out.
func TestSlowBodies(t *testing.T) {
	w := newWorld(t, scripted(claudetest.Turn{User: "Hi", Say: "Hello."}), func(c *gateway.Config) { c.MaxBodies = 8 << 20 })
	for range 8 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", 8<<20)
		// The server asks for the body once the request was let in.
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	response, got := w.post("/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}`)
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %d %s", response.StatusCode, got)
	}
}

// A stream without end is cut off: what the gateway keeps of it is bounded.
func TestEndlessStream(t *testing.T) {
	const most = 64 << 20
	delta := events("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+strings.Repeat("x", 1<<20)+`"}}`)
	var sent atomic.Int64
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, events("message_start", start, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
		for sent.Load() < 2*most {
			n, err := io.WriteString(w, delta)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	w := newWorld(t, up)
	response, got := w.post("/v1/messages", strings.Replace(asksSave, "{", `{"stream":true,`, 1))
	if len(got) > most+1<<20 {
		t.Errorf("%d bytes were passed on", len(got))
	}
	if tail := got[max(0, len(got)-500):]; response.StatusCode != http.StatusOK || !strings.Contains(tail, "event: error\n") {
		t.Errorf("got %d …%s", response.StatusCode, tail)
	}
}

// One round is too few: a call in it could not be answered.
func TestOneRound(t *testing.T) {
	w := newWorld(t, http.NotFoundHandler())
	w.config.MaxRounds = 1
	if _, err := gateway.New(w.config); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// An upstream that is silent is given up in requests without memory, too.
func TestSilenceWithoutMemory(t *testing.T) {
	gone := make(chan struct{}, 2)
	w := newWorld(t, waits(gone, ""), func(c *gateway.Config) { c.Timeout = 50 * time.Millisecond })
	for _, path := range []string{"/v1/messages/count_tokens", "/v1/files"} {
		response, got := w.post(path, asksSave)
		if response.StatusCode != http.StatusGatewayTimeout || !strings.Contains(got, `"timeout_error"`) {
			t.Errorf("%s: got %d %s", path, response.StatusCode, got)
		}
	}
}

// The upstream gets the names of emulated betas in no request.
func TestBetasOfCounts(t *testing.T) {
	up := &tape{answers: []string{`{"input_tokens":1}`}}
	w := newWorld(t, up, emulating(gateway.Emulation{Memory: true, ContextEditing: true}))
	w.post("/v1/messages/count_tokens", asksSave, "Anthropic-Beta", "context-management-2025-06-27,other-2025-01-01")
	if got := up.header[0].Values("Anthropic-Beta"); len(got) != 1 || got[0] != "other-2025-01-01" {
		t.Errorf("the upstream got the betas %q", got)
	}
}

// A failingBackend has an outage while down is true.
type failingBackend struct {
	memento.Backend
	down  atomic.Bool
	tries atomic.Int64
}

func (b *failingBackend) fails() error {
	b.tries.Add(1)
	if b.down.Load() {
		return fmt.Errorf("%w: down", memento.ErrUnavailable)
	}
	return nil
}

func (b *failingBackend) Get(ctx context.Context, s memento.StoreID, r memento.Ref) (memento.Memory, error) {
	if err := b.fails(); err != nil {
		return memento.Memory{}, err
	}
	return b.Backend.Get(ctx, s, r)
}

func (b *failingBackend) Apply(ctx context.Context, s memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if err := b.fails(); err != nil {
		return memento.Applied{}, err
	}
	return b.Backend.Apply(ctx, s, by, changes)
}

// When the storage is back, a call that failed is executed if the upstream repeats it with
// the same ID; and an outage costs a conversation one try, not one for each of its turns.
func TestOutage(t *testing.T) {
	var b *failingBackend
	up := &moody{moods: []http.HandlerFunc{saying(savesNote), saying(saysDone), saying(savesNote), saying(saysDone)}}
	w := newWorld(t, up, func(c *gateway.Config) {
		b = &failingBackend{Backend: c.Backend}
		c.Backend, c.State = b, gateway.NewState(b)
	})
	b.down.Store(true)
	w.post("/v1/messages", asksSave)
	if got := w.file("/a.md"); got == "a\n" {
		t.Fatal("there was no outage")
	}
	b.down.Store(false)
	w.post("/v1/messages", asksSave)
	if got := w.file("/a.md"); got != "a\n" {
		t.Errorf("after the outage: %q", got)
	}

	w.config.State = gateway.NewState(b) // which has read nothing
	w.start()
	const turns = 50
	long := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[`
	for i := range turns {
		long += fmt.Sprintf(`{"role":"user","content":"q%d"},{"role":"assistant","content":"a%d"},`, i, i)
	}
	long += `{"role":"user","content":"x"}]}`
	before := strings.Count(w.log.String(), "hidden rounds were not read")
	b.tries.Store(0)
	b.down.Store(true)
	w.post("/v1/messages", long)
	if got := b.tries.Load(); got == 0 || got > 10 {
		t.Errorf("%d tries for %d turns", got, turns)
	}
	if got := strings.Count(w.log.String(), "hidden rounds were not read") - before; got != 1 {
		t.Errorf("%d warnings", got)
	}
}
