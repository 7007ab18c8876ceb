package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
)

// A stuckBackend never ends its first write until it is released.
type stuckBackend struct {
	memento.Backend
	stuck           atomic.Bool
	begun, released chan struct{}
}

func (b *stuckBackend) Apply(ctx context.Context, s memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if b.stuck.CompareAndSwap(false, true) {
		close(b.begun)
		<-b.released
		ctx = context.WithoutCancel(ctx)
	}
	return b.Backend.Apply(ctx, s, by, changes)
}

// When the application repeats its request while the storage does not end the call of the
// first one, the call is not executed beside it. The model is told that nobody knows, and
// the conversation goes on.
func TestCallThatDoesNotEnd(t *testing.T) {
	var told atomic.Value
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), "tool_result") {
			told.CompareAndSwap(nil, string(body))
			io.WriteString(w, `{"id":"m","type":"message","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"}`)
			return
		}
		io.WriteString(w, `{"id":"m","type":"message","content":[{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/a.md","file_text":"a"}}],"stop_reason":"tool_use"}`)
	}))
	defer upstream.Close()
	b := &stuckBackend{Backend: memstore.New(nil), begun: make(chan struct{}), released: make(chan struct{})}
	defer b.Close()
	target, _ := url.Parse(upstream.URL)
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	if _, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "default", Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	g, err := New(Config{Upstream: target, Backend: b, Transport: transport, Identify: func(*http.Request) (Caller, error) {
		return Caller{Workspace: memento.DefaultWorkspace, Store: "default"}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.callTimeout = 10 * time.Millisecond
	ask := func() string {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodPost, messagesPath, strings.NewReader(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`)))
		return w.Body.String()
	}
	first := make(chan string)
	go func() { first <- ask() }()
	<-b.begun
	if got := ask(); !strings.Contains(got, "Done.") {
		t.Errorf("the repeated request got %s", got)
	}
	if body, _ := told.Load().(string); !strings.Contains(body, `"is_error":true`) || !strings.Contains(body, "cancelled") {
		t.Errorf("the model was told %s", body)
	}
	close(b.released)
	if got := <-first; !strings.Contains(got, "Done.") {
		t.Errorf("the first request got %s", got)
	}
	s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
	if m, err := s.Get(t.Context(), memento.ByPath("/a.md")); err != nil || m.Content != "a" {
		t.Errorf("the memory is %q, %v", m.Content, err)
	}
}
