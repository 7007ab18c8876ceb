package gateway

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
)

// An application that has stopped reading does not hold an answer for ever, whether the
// gateway has made it or passes it on. One that reads slowly gets all of it.
func TestApplicationThatDoesNotRead(t *testing.T) {
	text := strings.Repeat("x", 32<<20) // more than sockets hold
	message := `{"id":"m","type":"message","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn"}`
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\""+text+"\"}}\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, message)
	}))
	defer upstream.Close()
	b := memstore.New(nil)
	defer b.Close()
	target, _ := url.Parse(upstream.URL)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	g, err := New(Config{Upstream: target, Backend: b, Transport: transport, Identify: func(*http.Request) (Caller, error) {
		return Caller{Workspace: memento.DefaultWorkspace, Store: "default"}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.writeTimeout = 50 * time.Millisecond
	ended := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		g.ServeHTTP(w, r)
	}))
	defer server.Close()
	for name, request := range map[string][2]string{
		"a message": {messagesPath, `{"model":"claude-sonnet-4-5","messages":[]}`},
		"a stream":  {messagesPath, `{"model":"claude-sonnet-4-5","messages":[],"stream":true}`},
		"an error":  {messagesPath, `{"model":"claude-sonnet-4-5","messages":[],"messages":[]}`}, // is passed on
		"a file":    {"/v1/files", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			io.WriteString(conn, "POST "+request[0]+" HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(len(request[1]))+"\r\n\r\n"+request[1])
			<-ended // which never comes without the limit
		})
	}
	g.budget.mu.Lock()
	if g.budget.held != 0 {
		t.Errorf("%d bytes are still held", g.budget.held)
	}
	g.budget.mu.Unlock()
	g.writeTimeout = writeTimeout
	response, err := http.Post(server.URL+messagesPath, "application/json", strings.NewReader(`{"model":"claude-sonnet-4-5","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || string(got) != message {
		t.Errorf("an application that reads got %d bytes of %d, %v", len(got), len(message), err)
	}
}
