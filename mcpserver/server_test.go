package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
	"memento/mcpserver"
	"memento/test/memories"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are a version of the protocol with sessions, and the one without.
var eras = []string{"2025-11-25", "2026-07-28"}

// newStore returns an empty store in main memory.
func newStore(name string) *memento.Store {
	return memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: name}, memories.Guarded())
}

// newServer returns a server on one store.
func newServer(t *testing.T, store *memento.Store, opts mcpserver.Options) *mcpserver.Server {
	t.Helper()
	if opts.Open == nil {
		opts.Open = func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
			return mcpserver.Memory{
				Mounts: []memento.Mount{{Store: store}},
				Tool:   memento.ToolOptions{Actor: memento.Actor{Kind: memento.ActorSession, ID: "sesn_test"}},
			}, nil
		}
	}
	s, err := mcpserver.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// connect returns a session of the official client with the server, over a pair of pipes.
func connect(t *testing.T, s *mcpserver.Server, era string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(context.Background(), toServer, fromServer)
		fromServer.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		fromClient.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return session
}

// call returns the text of a tool's answer.
func call(t *testing.T, session *mcp.ClientSession, tool string, arguments any) (text string, isError bool) {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var all strings.Builder
	for _, c := range r.Content {
		all.WriteString(c.(*mcp.TextContent).Text)
	}
	return all.String(), r.IsError
}

type args = map[string]any

func TestMemory(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			store := newStore("default")
			session := connect(t, newServer(t, store, mcpserver.Options{}), era, nil)
			want := memento.NewTool(newStore("other"), nil)
			for _, input := range []string{
				`{"command":"view","path":"/memories"}`,
				`{"command":"create","path":"/memories/a.md","file_text":"one\ntwo\n"}`,
				`{"command":"str_replace","path":"/memories/a.md","old_str":"two","new_str":"2"}`,
				`{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"zero"}`,
				`{"command":"view","path":"/memories/a.md","view_range":[2,3]}`,
				`{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/b/c.md"}`,
				`{"command":"create","path":"/memories/b/c.md","file_text":"again"}`,
				`{"command":"delete","path":"/memories/nothing"}`,
				`{"command":"fly"}`,
				`{}`,
			} {
				got, isError := call(t, session, "memory", rawJSON(input))
				expected := want.Run(t.Context(), []byte(input))
				if got != expected.Content || isError != expected.IsError {
					t.Errorf("%s\nanswered %q, error %v\nwant     %q, error %v", input, got, isError, expected.Content, expected.IsError)
				}
			}
			m, err := store.Get(t.Context(), memento.ByPath("/b/c.md"))
			if err != nil || m.Content != "zero\none\n2\n" {
				t.Errorf("the memory is %q, %v", m.Content, err)
			}
			for v, err := range store.Versions(t.Context(), memento.VersionListOptions{}) {
				if err != nil || v.CreatedBy.ID != "sesn_test" {
					t.Errorf("version by %v, %v", v.CreatedBy, err)
				}
			}
		})
	}
}

// What each conversation begins with, the instructions and the list of tools, has at most
// as many bytes as are stated here, whatever is offered.
func TestListIsShort(t *testing.T) {
	for _, c := range []struct {
		opts mcpserver.Options
		max  int // bytes of the list
	}{
		{mcpserver.Options{}, 4000},
		{mcpserver.Options{Tools: mcpserver.SixTools, History: true}, 9000},
	} {
		session := connect(t, newServer(t, newStore("default"), c.opts), "2025-11-25", nil)
		if said := session.InitializeResult().Instructions; said == "" || len(said) > 300 {
			t.Errorf("the instructions have %d bytes: %s", len(said), said)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(list.Tools)
		if err != nil || len(text) > c.max {
			t.Errorf("the list of %d tools has %d bytes, %v; want at most %d", len(list.Tools), len(text), err, c.max)
		}
	}
}

// rawJSON are arguments that are sent as they are.
type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestSixTools(t *testing.T) {
	session := connect(t, newServer(t, newStore("default"), mcpserver.Options{Tools: mcpserver.SixTools}), "2026-07-28", nil)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if readOnly := tool.Name == "memory_view" || tool.Name == "memory_search"; tool.Annotations.ReadOnlyHint != readOnly {
			t.Errorf("%s: readOnlyHint is %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	if got, want := strings.Join(names, " "), "memory_create memory_delete memory_insert memory_rename memory_search memory_str_replace memory_view"; got != want {
		t.Errorf("the tools are %s; want %s", got, want)
	}
	if got, isError := call(t, session, "memory_create", args{"path": "/memories/a.md", "file_text": "x"}); isError {
		t.Error(got)
	}
	if got, _ := call(t, session, "memory_view", args{"path": "/memories/a.md"}); !strings.Contains(got, "x") {
		t.Errorf("view answered %q", got)
	}
	// A second command among the arguments is refused, as it is by the tool.
	if got, isError := call(t, session, "memory_view", args{"path": "/memories/a.md", "command": "delete"}); !isError {
		t.Errorf("answered %q", got)
	}
	// So is a block that says another.
	if got, isError := call(t, session, "memory_view", args{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": args{"command": "delete", "path": "/memories/a.md"}}); !isError {
		t.Errorf("answered %q", got)
	}
	if got, isError := call(t, session, "memory_view", args{"path": "/memories/a.md"}); isError {
		t.Errorf("after a refused call the file is %q", got)
	}
	if got, isError := call(t, session, "memory_delete", nil); !isError || !strings.Contains(got, "path") {
		t.Errorf("answered %q", got)
	}
}

// Whatever is called, a read-only server changes nothing, and it offers nothing that does.
func TestReadOnly(t *testing.T) {
	for _, tools := range []mcpserver.ToolSet{mcpserver.OneTool, mcpserver.SixTools} {
		t.Run(string(tools), func(t *testing.T) {
			store := newStore("default")
			memories.Put(t, store, "/a.md", "x")
			session := connect(t, newServer(t, store, mcpserver.Options{Tools: tools, ReadOnly: true, History: true}), "2026-07-28", nil)
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			view := "memory"
			for _, tool := range list.Tools {
				if !tool.Annotations.ReadOnlyHint {
					t.Errorf("%s is offered", tool.Name)
				}
				if tool.Name == "memory_view" {
					view = tool.Name
				}
			}
			versions := func() (n int) {
				for _, err := range store.Versions(t.Context(), memento.VersionListOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
				return n
			}
			before := versions()
			for _, input := range []args{
				{"command": "create", "path": "/memories/b.md", "file_text": "y"},
				{"command": "str_replace", "path": "/memories/a.md", "old_str": "x", "new_str": "y"},
				{"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "y"},
				{"command": "delete", "path": "/memories/a.md"},
				{"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
				{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": args{"command": "delete", "path": "/memories/a.md"}},
			} {
				if got, isError := call(t, session, view, input); !isError {
					t.Errorf("%v: answered %q", input, got)
				}
			}
			for _, name := range []string{"memory_restore", "memory_delete", "memory_create"} {
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args{"path": "/memories/a.md"}})
				if err == nil && !r.IsError {
					t.Errorf("%s is executed", name)
				}
			}
			if after := versions(); after != before {
				t.Errorf("%d versions were made", after-before)
			}
			look := args{"path": "/memories/a.md"}
			if view == "memory" {
				look["command"] = "view"
			}
			if got, isError := call(t, session, view, look); isError {
				t.Errorf("a view is answered %q", got)
			}
		})
	}
}
