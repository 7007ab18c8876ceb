package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
	"memento/mcpserver"
	"memento/test/mcpsession"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

// handshake begins a session of the versions before 2026-07-28.
const handshake = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// learnedFrom are calls after whose answers others like them are executed directly.
var learnedFrom = map[string]string{
	"2025-11-25": `{"jsonrpc":"2.0","id":"learn","method":"tools/call","params":{"name":"memory","arguments":{"command":"view","path":"/memories"}}}`,
	"2026-07-28": strings.TrimSpace(viewCall(`"learn"`)),
}

// played is what a server with two memories answers a line, and what it holds then.
func played(t *testing.T, s *mcpserver.Server, store *memento.Store, before []string, line string) (answers []string, contents map[memento.Path]string) {
	t.Helper()
	memories.Put(t, store, "/a.md", "one\n\"two\" <b>\x7f é\n")
	memories.Put(t, store, "/notes/b.md", "")
	w := newWire(t, s)
	for _, b := range before {
		w.send(b + "\n")
		w.read()
	}
	go func() {
		w.send(line + "\n")
		w.in.Close()
	}()
	for w.out.Scan() {
		normal, err := mcpsession.Normal(w.out.Bytes())
		if err != nil {
			t.Fatalf("%q is no message: %v", w.out.Text(), err)
		}
		answers = append(answers, string(normal))
	}
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
	slices.Sort(answers)
	return answers, memories.Contents(t, store)
}

// toolCall is a call of one command of the era's version.
func toolCall(era, tool, arguments string) string {
	meta := ""
	if era == "2026-07-28" {
		meta = modern + ","
	}
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + meta + `"name":"` + tool + `","arguments":` + arguments + `}}`
}

// Calls of commands are executed directly if nothing about them is unusual, in both eras.
func TestDirectCalls(t *testing.T) {
	view := `{"command":"view","path":"/memories/a.md"}`
	for _, era := range eras {
		usual := toolCall(era, "memory", view)
		changed := func(old, new string) string {
			t.Helper()
			if !strings.Contains(usual, old) {
				t.Fatalf("%s has no %s", usual, old)
			}
			return strings.Replace(usual, old, new, 1)
		}
		cases := []struct {
			name   string
			tools  mcpserver.ToolSet
			line   string
			direct bool
		}{
			{"view", "", usual, true},
			{"create", "", toolCall(era, "memory", `{"command":"create","path":"/memories/c.md","file_text":"x\n"}`), true},
			{"refused by the tool", "", toolCall(era, "memory", `{"command":"view","path":"/memories/none.md"}`), true},
			{"refused for its arguments", "", toolCall(era, "memory", `{"command":"look","path":[]}`), true},
			{"text as the ID", "", changed(`"id":7`, `"id":"sev\u0065n \"7\""`), true},
			{"one of six tools", mcpserver.SixTools, toolCall(era, "memory_view", `{"path":"/memories/a.md"}`), true},
			{"one of six tools with another's command", mcpserver.SixTools, toolCall(era, "memory_view", view), true},
			{"spaces", "", changed(`,"method":`, " ,\t \"method\" : "), true},
			{"another tool", "", toolCall(era, "memory_search", `{"query":"two"}`), false},
			{"unknown tool", "", toolCall(era, "memory_view", view), false},
			{"no arguments", "", changed(`,"arguments":`+view, ""), false},
			{"arguments that are no object", "", toolCall(era, "memory", `[1]`), false},
			{"null as the ID", "", changed(`"id":7`, `"id":null`), false},
			{"a fraction as the ID", "", changed(`"id":7`, `"id":7.5`), false},
			{"an exponent in the ID", "", changed(`"id":7`, `"id":7e0`), false},
			{"a large ID", "", changed(`"id":7`, `"id":9007199254740993`), false},
			{"a member twice", "", changed(`"id":7`, `"id":8,"id":7`), false},
			{"a member of another name", "", changed(`"id":7`, `"id":7,"more":1`), false},
			{"params of another name", "", changed(`"name":`, `"task":{},"name":`), false},
			{"invalid UTF-8", "", changed("a.md", "\xff.md"), false},
			{"half of a surrogate pair", "", changed("a.md", `\ud800.md`), false},
			{"a version of JSON-RPC", "", changed(`"2.0"`, `"1.0"`), false},
		}
		if era == "2026-07-28" {
			for _, other := range []struct{ name, old, new string }{
				{"another version", `Version":"2026-07-28"`, `Version":"2099-01-01"`},
				{"another client", `"raw"`, `"another"`},
				{"no capabilities", `"io.modelcontextprotocol/clientCapabilities":{},`, ""},
				{"no _meta", modern + ",", ""},
			} {
				cases = append(cases, struct {
					name   string
					tools  mcpserver.ToolSet
					line   string
					direct bool
				}{other.name, "", changed(other.old, other.new), false})
			}
			usual = changed(`"_meta":{`, `"_meta":{"progressToken":9,"client/own":{},`)
		} else {
			usual = changed(`"params":{`, `"params":{"_meta":{"progressToken":9,"client/own":{}},`)
		}
		cases = append(cases, struct {
			name   string
			tools  mcpserver.ToolSet
			line   string
			direct bool
		}{"a progress token", "", usual, true})
		for _, c := range cases {
			t.Run(era+" "+c.name, func(t *testing.T) {
				learn := learnedFrom[era]
				if c.tools == mcpserver.SixTools {
					learn = strings.Replace(learn, `"name":"memory"`, `"name":"memory_view"`, 1)
				}
				before := []string{handshake, learn}
				if era == "2026-07-28" {
					before = before[1:]
				}
				store := newStore("default")
				s := newServer(t, store, mcpserver.Options{Tools: c.tools})
				n := s.CountSDKCalls()
				got, holds := played(t, s, store, before, c.line)
				byDirect := n.Load() == 1 // the one that it has learned from
				store = newStore("default")
				s = newServer(t, store, mcpserver.Options{Tools: c.tools})
				s.LeaveCallsToSDK()
				want, wantHolds := played(t, s, store, before, c.line)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("answered (-SDK +direct)\n%s", diff)
				}
				if diff := cmp.Diff(wantHolds, holds); diff != "" {
					t.Errorf("holds (-SDK +direct)\n%s", diff)
				}
				// A message that is refused before it reaches a tool is not counted.
				refused := len(got) == 0 || strings.Contains(strings.Join(got, ""), `"error"`)
				if byDirect != c.direct && !refused || c.direct && refused {
					t.Errorf("executed directly: %t; want %t: %s", byDirect, c.direct, got)
				}
			})
		}
	}
}

// Whatever a line is, it is answered as if the SDK executed all calls.
func FuzzDirect(f *testing.F) {
	for i, era := range eras {
		f.Add(toolCall(era, "memory", `{"command":"view","path":"/memories/a.md"}`), i == 1, false)
		f.Add(toolCall(era, "memory", `{"command":"str_replace","path":"/memories/a.md","old_str":"one","new_str":"1"}`), i == 1, false)
		f.Add(toolCall(era, "memory_view", `{"path":"/memories"}`), i == 1, true)
	}
	f.Add(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, false, false)
	f.Add(`{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"_meta":{"progressToken":1},"name":"memory","arguments":{}}}`, false, false)
	f.Fuzz(func(t *testing.T, line string, modern, six bool) {
		switch {
		case strings.ContainsRune(line, '\n'), strings.HasPrefix(strings.TrimSpace(line), "["):
			t.Skip() // the calls of several messages are executed in any order
		case strings.Contains(line, "listen"):
			t.Skip() // a subscription goes on
		}
		before, tools := []string{handshake, learnedFrom[eras[0]]}, mcpserver.OneTool
		if modern {
			before[1] = learnedFrom[eras[1]]
		}
		if six {
			before[1], tools = strings.Replace(before[1], `"name":"memory"`, `"name":"memory_view"`, 1), mcpserver.SixTools
		}
		play := func(prepare func(*mcpserver.Server)) ([]string, map[memento.Path]string) {
			store := newStore("default")
			s := newServer(t, store, mcpserver.Options{Tools: tools})
			prepare(s)
			return played(t, s, store, before, line)
		}
		got, holds := play(func(*mcpserver.Server) {})
		want, wantHolds := play((*mcpserver.Server).LeaveCallsToSDK)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantHolds, holds); diff != "" {
			t.Errorf("%s (-SDK +direct)\n%s", line, diff)
		}
	})
}

// A blocked backend keeps reads waiting until they are cancelled or released, once it is asked
// to.
type blocked struct {
	*memstore.Backend
	block   chan struct{} // closed to begin
	release chan struct{} // closed to end
	waiting chan struct{} // receives a value for each read that waits
}

func (b *blocked) Get(ctx context.Context, id memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	select {
	case <-b.block:
		b.waiting <- struct{}{}
		select {
		case <-ctx.Done():
			return memento.Memory{}, ctx.Err()
		case <-b.release:
		}
	default:
	}
	return b.Backend.Get(ctx, id, ref)
}

// newBlocked returns a client of a server whose next view of /memories/a.md waits until it is
// cancelled.
func newBlocked(t *testing.T, ctx context.Context) (*wire, *blocked) {
	t.Helper()
	b := &blocked{memstore.New(nil), make(chan struct{}), make(chan struct{}), make(chan struct{}, 10)}
	store := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, memories.Guarded())
	memories.Put(t, store, "/a.md", "one")
	w := newWireUntil(t, ctx, newServer(t, store, mcpserver.Options{}))
	w.send(handshake + "\n")
	w.read()
	w.send(learnedFrom["2025-11-25"] + "\n")
	w.read()
	close(b.block)
	return w, b
}

// A direct call that is cancelled ends, and its ID belongs to it until then.
func TestDirectCallCancelled(t *testing.T) {
	w, b := newBlocked(t, t.Context())
	view := toolCall("2025-11-25", "memory", `{"command":"view","path":"/memories/a.md"}`) + "\n"
	w.send(view)
	<-b.waiting
	w.send(view)
	if m := w.read(); m.Error == nil || m.Error.Code != -32600 || m.ID != 7.0 {
		t.Errorf("a second call with the ID is answered with %+v", m)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n")
	if m := w.read(); m.ID != 7.0 || !bytes.Contains(m.Result, []byte(`"isError":true`)) {
		t.Errorf("the cancelled call is answered with %+v %s", m, m.Result)
	}
	w.send(view)
	<-b.waiting // the ID is free again
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n")
	w.read()
	w.in.Close()
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A server that is told to end finishes the direct calls under way, and answers them.
func TestDirectCallsAreFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, b := newBlocked(t, ctx)
	viewThrice(w, b)
	cancel()
	close(b.release)
	for range 3 {
		if m := w.read(); m.Error != nil || !bytes.Contains(m.Result, []byte("one")) || bytes.Contains(m.Result, []byte("isError")) {
			t.Errorf("answered with %+v %s", m, m.Result)
		}
	}
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// Direct calls end with the client that reads no more.
func TestDirectCallsEnd(t *testing.T) {
	w, b := newBlocked(t, t.Context())
	viewThrice(w, b)
	w.outPipe.Close()
	go io.WriteString(w.in, `{"jsonrpc":"2.0","id":100,"method":"ping"}`+"\n") // its answer finds out
	if err := <-w.end; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// viewThrice returns when three calls wait.
func viewThrice(w *wire, b *blocked) {
	for i := range 3 {
		w.send(strings.Replace(toolCall("2025-11-25", "memory", `{"command":"view","path":"/memories/a.md"}`), `"id":7`, fmt.Sprintf(`"id":%d`, i), 1) + "\n")
		<-b.waiting
	}
}
