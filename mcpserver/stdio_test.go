package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/mcpserver"
	"memento/test/memories"
)

// A wire is a client that writes lines as they are.
type wire struct {
	t       *testing.T
	in      *io.PipeWriter
	out     *bufio.Scanner
	outPipe io.Closer
	end     chan error
}

func newWire(t *testing.T, s *mcpserver.Server) *wire { return newWireUntil(t, t.Context(), s) }

// newWireUntil returns a client of a server that ends with ctx.
func newWireUntil(t *testing.T, ctx context.Context, s *mcpserver.Server) *wire {
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	w := &wire{t, in, bufio.NewScanner(out), out, make(chan error, 1)}
	w.out.Buffer(nil, 32<<20)
	go func() {
		w.end <- s.Serve(ctx, toServer, fromServer)
		fromServer.Close()
	}()
	t.Cleanup(func() { in.Close(); out.Close() })
	return w
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, text); err != nil {
		w.t.Fatal(err)
	}
}

// A message is one of the server's.
type message struct {
	ID     any
	Method string
	Result json.RawMessage
	Error  *struct{ Code int }
	Params struct {
		URI  string
		Meta map[string]any `json:"_meta"`
	}
}

func (w *wire) read() (m message) {
	w.t.Helper()
	if !w.out.Scan() {
		w.t.Fatalf("the server has ended: %v", w.out.Err())
	}
	if err := json.Unmarshal(w.out.Bytes(), &m); err != nil {
		w.t.Fatalf("%q is not a message: %v", w.out.Text(), err)
	}
	return m
}

// modern is the _meta of a request of 2026-07-28.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}`

// viewCall is a call that is answered whenever the server still listens.
func viewCall(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + modern + `,"name":"memory","arguments":{"command":"view","path":"/memories"}}}` + "\n"
}

// Whatever is on a line, it is answered or passed over, and the next line is read.
func TestGarbage(t *testing.T) {
	large := strings.Repeat("x", mcpserver.MaxMessageBytes)
	w := newWire(t, newServer(t, newStore("default"), mcpserver.Options{}))
	for i, c := range []struct {
		sent string
		code int // of the answer; 0 for none
		id   any
	}{
		{"hello", -32700, nil},
		{"\x00\xff\xfe", -32700, nil},
		{"", 0, nil},
		{"   ", 0, nil},
		{"{}", -32600, nil},
		{"null", -32600, nil},
		{`"text"`, -32600, nil},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600, 7.0},
		{`{"jsonrpc":"2.0","id":8,"method":"no/such"}`, -32601, 8.0},
		{`{"jsonrpc":"2.0","id":"nine","method":"tools/call"}`, -32600, "nine"},
		{viewCall("1")[:50], -32700, nil},
		{strings.TrimSuffix(viewCall("2"), "\n") + `{"a":1}`, -32700, nil}, // trailing data
		{"[]", -32600, nil},
		{"[" + strings.Repeat("[", 100_000), -32700, nil},
		{strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), -32700, nil},
		{`{"jsonrpc":"2.0","id":3,"method":"` + large + `"}`, -32600, 3.0},
		{`{"method":"` + large + `","params":{"id":4,"x":["\"id\":5"]},"id":"six"}`, -32600, "six"},
		{large, -32700, nil},
		{large + "xx", -32600, nil},
		{`{"jsonrpc":"2.0","method":"notifications/unknown"}`, 0, nil},
		{`{"jsonrpc":"2.0","id":99,"result":{}}`, 0, nil}, // to a request that was not made
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, 0, nil},
	} {
		w.send(c.sent + "\n")
		if c.code != 0 {
			m := w.read()
			if m.Error == nil || m.Error.Code != c.code || m.ID != c.id {
				t.Errorf("%.60q: answered %+v, error %+v; want an error %d for the ID %v", c.sent, m, m.Error, c.code, c.id)
			}
		}
		id := fmt.Sprintf(`"after %d"`, i)
		w.send(viewCall(id))
		if m := w.read(); m.ID != strings.Trim(id, `"`) || m.Error != nil {
			t.Fatalf("after %.60q a call is answered with %+v", c.sent, m)
		}
	}
	w.in.Close()
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A batch, which 2025-03-26 has, is answered message by message.
func TestBatch(t *testing.T) {
	w := newWire(t, newServer(t, newStore("default"), mcpserver.Options{}))
	w.send("[" + strings.TrimSpace(viewCall("1")) + "," + strings.TrimSpace(viewCall("2")) + "]\n")
	seen := map[any]bool{w.read().ID: true, w.read().ID: true}
	if !seen[1.0] || !seen[2.0] {
		t.Errorf("answered %v", seen)
	}
}

// What was sent before the end of the input is executed and answered, also by a client that
// closes its end at once; a half-sent message is none.
func TestEndOfInput(t *testing.T) {
	store := newStore("default")
	w := newWire(t, newServer(t, store, mcpserver.Options{}))
	const calls = 150 // more than are executed at once
	go func() {
		for i := range calls {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s,"name":"memory","arguments":{"command":"create","path":"/memories/%d","file_text":"x"}}}`+"\n", i, modern, i))
		}
		w.send(viewCall("1000")[:40])
		w.in.Close()
	}()
	answers := 0
	for w.out.Scan() {
		answers++
	}
	if answers != calls+1 { // the half-sent one is answered with an error
		t.Errorf("%d answers; want %d", answers, calls+1)
	}
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if n := len(memories.Contents(t, store)); n != calls {
		t.Errorf("%d memories; want %d", n, calls)
	}
}

// A message that never ends takes a bounded amount of memory, and does not delay the end.
func TestEndlessMessage(t *testing.T) {
	w := newWire(t, newServer(t, newStore("default"), mcpserver.Options{}))
	chunk := strings.Repeat("x", 1<<20)
	for range 16 {
		w.send(chunk)
	}
	w.in.Close()
	if m := w.read(); m.Error == nil {
		t.Errorf("answered %+v", m)
	}
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// Each of several subscriptions of one connection is notified, under its own ID, and one that
// is cancelled ends without the others.
func TestSubscriptions(t *testing.T) {
	store := newStore("default")
	memories.Put(t, store, "/a.md", "1")
	w := newWire(t, newServer(t, store, mcpserver.Options{Poll: time.Millisecond}))
	listen := func(id int) {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{%s,"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["memory:///memories/a.md"]}}}`+"\n", id, modern))
		if m := w.read(); m.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("the subscription is answered with %+v", m)
		}
	}
	// notified reads until each of the subscriptions has had a notification.
	notified := func(method string, ids ...float64) {
		t.Helper()
		missing := map[any]bool{}
		for _, id := range ids {
			missing[id] = true
		}
		for len(missing) > 0 {
			m := w.read()
			id := m.Params.Meta["io.modelcontextprotocol/subscriptionId"]
			if m.Method == method {
				delete(missing, id)
			}
		}
	}
	listen(1)
	listen(2)
	edit(t, store, "/a.md", "2")
	notified("notifications/resources/updated", 1, 2)
	memories.Put(t, store, "/b.md", "new")
	notified("notifications/resources/list_changed", 1, 2)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	for m := w.read(); m.ID != 1.0; m = w.read() {
	}
	memories.Put(t, store, "/c.md", "new")
	for {
		m := w.read()
		if id := m.Params.Meta["io.modelcontextprotocol/subscriptionId"]; id == 1.0 {
			t.Errorf("the cancelled subscription is notified: %+v", m)
		}
		if m.Method == "notifications/resources/list_changed" {
			break
		}
	}
	w.in.Close()
	go func() {
		for w.out.Scan() {
		}
	}()
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// The answer of a client to the question for its folders is read, though more calls than
// are executed at once came before it; and one that does not tell its folders is no client
// without folders.
func TestRootsBehindCalls(t *testing.T) {
	store := newStore("default")
	roots := make(chan []string, 1)
	w := newWire(t, newServer(t, nil, mcpserver.Options{Open: func(ctx context.Context, client mcpserver.Client) (mcpserver.Memory, error) {
		got, err := client.Roots(ctx)
		if err != nil {
			return mcpserver.Memory{}, err
		}
		roots <- got
		return mcpserver.Memory{Mounts: []memento.Mount{{Store: store}}}, nil
	}}))
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"raw","version":"1"}}}` + "\n")
	w.read()
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	const calls = 100
	for i := range calls {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory","arguments":{"command":"view","path":"/memories"}}}`+"\n", i))
	}
	question := w.read()
	if question.Method != "roots/list" {
		t.Fatalf("read %+v; want the question for the folders", question)
	}
	id, err := json.Marshal(question.ID)
	if err != nil {
		t.Fatal(err)
	}
	// The first answer is an error: the call fails, and the next asks again.
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not now"}}`+"\n", id))
	failed, answered := 0, 0
	for failed+answered < calls {
		switch m := w.read(); {
		case m.Method == "roots/list":
			if id, err = json.Marshal(m.ID); err != nil {
				t.Fatal(err)
			}
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///work/app"}]}}`+"\n", id))
		case strings.Contains(string(m.Result), "did not say which folders"):
			failed++
		case m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`):
			answered++
		default:
			t.Fatalf("answered %+v %s", m, m.Result)
		}
	}
	if got := <-roots; len(got) != 1 || got[0] != "file:///work/app" {
		t.Errorf("the folders are %v", got)
	}
	if failed != 1 {
		t.Errorf("%d calls failed; want the one whose question was not answered", failed)
	}
}

// A call that is cancelled while it waits for others is neither executed nor answered, and
// those around it are.
func TestCancelledBeforeExecution(t *testing.T) {
	store := newStore("default")
	free := make(chan struct{})
	w := newWire(t, newServer(t, nil, mcpserver.Options{Open: func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
		<-free // until then the calls under way stay under way
		return mcpserver.Memory{Mounts: []memento.Mount{{Store: store}}}, nil
	}}))
	const calls, dropped, text = 100, 80, 90
	for i := range calls {
		id := strconv.Itoa(i)
		if i == text {
			id = `"text"`
		}
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s,"name":"memory","arguments":{"command":"create","path":"/memories/%d","file_text":"x"}}}`+"\n", id, modern, i))
	}
	for _, id := range []string{strconv.Itoa(dropped), `"text"`, "12345"} {
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n")
	}
	w.send(`{"jsonrpc":"2.0","id":`) // only when it reads this has it read the cancellations
	close(free)
	w.in.Close()
	answers := 0
	for w.out.Scan() {
		var m message
		if err := json.Unmarshal(w.out.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.ID == float64(dropped) || m.ID == "text":
			t.Errorf("the cancelled call %v is answered", m.ID)
		case m.ID != nil:
			answers++
		}
	}
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
	made := memories.Contents(t, store)
	if answers != calls-2 || len(made) != calls-2 {
		t.Errorf("%d answers and %d memories; want %d", answers, len(made), calls-2)
	}
	for _, n := range []int{dropped, text} {
		if _, there := made[memento.Path(fmt.Sprintf("/%d", n))]; there {
			t.Errorf("the cancelled call %d was executed", n)
		}
	}
}

// However many memories change at once, the subscribers of each are told.
func TestManyChangesAtOnce(t *testing.T) {
	store := newStore("default")
	memories.Put(t, store, "/a.md", "1")
	w := newWire(t, newServer(t, store, mcpserver.Options{Poll: time.Millisecond}))
	const last = "memory:///memories/n/449.md"
	w.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + modern + `,"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["` + last + `"]}}}` + "\n")
	if m := w.read(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("the subscription is answered with %+v", m)
	}
	var changes []memento.Change
	for i := range 450 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/n/%03d.md", i)), Content: "x"})
	}
	if _, err := store.Apply(t.Context(), memento.Actor{}, changes...); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { w.in.Close() }).Stop() // then read fails
	for m := w.read(); m.Method != "notifications/resources/updated" || m.Params.URI != last; m = w.read() {
	}
}
