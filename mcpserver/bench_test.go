package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"memento"
	"memento/mcpserver"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall measures calls over a pair of the system's pipes: a view of a file of 2 KB,
// and a tool of an empty server of the same SDK.
func BenchmarkCall(b *testing.B) {
	play := func(b *testing.B, arguments, tool string, serve func(in io.Reader, out io.Writer) error) {
		toServer, in, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		out, fromServer, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- serve(toServer, fromServer) }()
		lines := bufio.NewReaderSize(out, 64<<10)
		ask := func(text string) {
			if _, err := io.WriteString(in, text); err != nil {
				b.Fatal(err)
			}
			if line, err := lines.ReadString('\n'); err != nil || strings.Contains(line, "rror") {
				b.Fatalf("%s, %v", line, err)
			}
		}
		ask(handshake + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`+"\n", n, tool, arguments))
		}
		in.Close()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
	b.Run("view", func(b *testing.B) {
		store := newStore("default")
		if _, err := store.CreateMemory(b.Context(), memento.Actor{}, "/a.md", strings.Repeat("The team needs short answers, because the last attempt was \"too long\".\n", 28)); err != nil {
			b.Fatal(err)
		}
		s, err := mcpserver.New(mcpserver.Options{Open: func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
			return mcpserver.Memory{Mounts: []memento.Mount{{Store: store}}}, nil
		}})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		play(b, `{"command":"view","path":"/memories/a.md"}`, "memory", func(in io.Reader, out io.Writer) error { return s.Serve(b.Context(), in, out) })
	})
	b.Run("empty server", func(b *testing.B) {
		s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
		s.AddTool(&mcp.Tool{Name: "echo", InputSchema: args{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
		})
		play(b, `{"text":"x"}`, "echo", func(in io.Reader, out io.Writer) error {
			return s.Run(b.Context(), &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopWriteCloser{out}})
		})
	})
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
