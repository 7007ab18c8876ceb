package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
)

// fewSlots is a configuration of which one key has nine slots.
func fewSlots() Config {
	c := testConfig()
	c.MaxConcurrent = 16
	c.Timeout = 10 * time.Minute // no body is given up during the test
	return c
}

const statusOverloaded = 529 // as the API has it

// waitingBody begins a request to the endpoint whose body does not come. It returns the
// status: 100 if the server waits for the body.
func (r *running) waitingBody(key, query string) int {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.Addresses().Main)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	r.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /mcp%s HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\nContent-Type: application/json\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", query, key)
	if err != nil {
		r.t.Error(err)
	}
	var status int
	if _, err := fmt.Fscanf(bufio.NewReader(conn), "HTTP/1.1 %d", &status); err != nil {
		r.t.Error(err)
	}
	return status
}

// inParallel calls a function as often as there are slots, with the name of another store
// each, and counts its results.
func inParallel(f func(query string) int) map[int]int {
	results := make(chan int)
	for i := range 16 {
		go func() { results <- f(fmt.Sprintf("?store=s%d", i)) }()
	}
	counts := map[int]int{}
	for range 16 {
		counts[<-results]++
	}
	return counts
}

// A key whose bodies do not come takes its share of the slots, whatever stores it names;
// others are served.
func TestMCPBodiesOfOneKey(t *testing.T) {
	r := start(t, fewSlots())
	got := inParallel(func(query string) int { return r.waitingBody(r.key, query) })
	if got[http.StatusContinue] != 9 || got[statusOverloaded] != 7 {
		t.Errorf("of one key's requests, by status: %v", got)
	}
	other := r.addKey(memento.DefaultWorkspace, apikey.RoleWrite)
	if a := r.ask("POST", "/mcp", other, memoryCall(createTea), mcpHeaders...); a.StatusCode != http.StatusOK {
		t.Errorf("another key got %d %s", a.StatusCode, a.text)
	}
}

// A body is counted against the memory of all before it is read.
func TestMCPBodyMemory(t *testing.T) {
	c := testConfig()
	c.MemoryBudget = 16 << 20
	r := start(t, c)
	large := memoryCall(`{"command":"create","path":"/memories/a.md","file_text":"` + strings.Repeat("x", 3<<20) + `"}`)
	if a := r.ask("POST", "/mcp", r.key, large, mcpHeaders...); a.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(a.text, "memory_budget") {
		t.Errorf("a body beyond the share of a key got %d %s", a.StatusCode, a.text)
	}
	if a := r.ask("POST", "/mcp", r.key, strings.Repeat(" ", 5<<20), mcpHeaders...); a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body beyond the limit of a message got %d %s", a.StatusCode, a.text)
	}
}

// One key takes its share of the streams; others get theirs.
func TestMCPStreamsOfOneKey(t *testing.T) {
	r := start(t, fewSlots())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen := func(key, query string) int {
		body := strings.Replace(memoryCall(`{}`), "tools/call", "subscriptions/listen", 1)
		body = strings.Replace(body, `"name":"memory","arguments":{}`, `"notifications":{"resourcesListChanged":true}`, 1)
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/mcp"+query, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		for name, value := range map[string]string{"x-api-key": key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
			q.Header.Set(name, value)
		}
		answer, err := r.client.Do(q)
		if err != nil {
			t.Error(err)
			return 0
		}
		if answer.StatusCode != http.StatusOK {
			answer.Body.Close()
		} else if n, err := answer.Body.Read(make([]byte, 1)); n == 0 { // it goes on until the test ends
			t.Errorf("the stream has ended: %v", err)
		}
		return answer.StatusCode
	}
	if got := inParallel(func(query string) int { return listen(r.key, query) }); got[http.StatusOK] != 9 || got[statusOverloaded] != 7 {
		t.Errorf("of one key's streams, by status: %v", got)
	}
	other := r.addKey(memento.DefaultWorkspace, apikey.RoleWrite)
	if status := listen(other, ""); status != http.StatusOK {
		t.Errorf("another key's stream got %d", status)
	}
	// Calls have slots of their own.
	if a := r.ask("POST", "/mcp", r.key, memoryCall(createTea), mcpHeaders...); a.StatusCode != http.StatusOK {
		t.Errorf("a call got %d %s", a.StatusCode, a.text)
	}
}
