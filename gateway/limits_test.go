package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

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
