// Command agent shows the tool side of an agent loop: Claude asks for memory
// commands, a memento.Tool executes them on a file, and its answers go back.
// Claude's own messages are a recording here, so that it runs without a key.
//
//	go run ./examples/agent            # in a temporary file
//	go run ./examples/agent notes.db   # in a file that stays
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"memento"
	"memento/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// start runs the agent on the file that args name, or on one that it removes afterwards.
func start(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		return run(ctx, args[0], out)
	}
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return run(ctx, filepath.Join(dir, "notes.db"), out)
}

func run(ctx context.Context, file string, out io.Writer) (err error) {
	store, backend, err := local.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() {
		if closing := backend.Close(); err == nil {
			err = closing
		}
	}()
	tool := memento.NewTool(store, &memento.ToolOptions{
		Actor: memento.Actor{Kind: memento.ActorSession, ID: "sesn_example"},
	})
	if err := converse(ctx, tool, out); err != nil {
		return err
	}
	return printHistory(ctx, store, out)
}

// A message is one turn of a conversation with the Messages API.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// converse is the agent loop: ask the model, execute what it asks for, send the
// results, until it asks for nothing more.
func converse(ctx context.Context, tool *memento.Tool, out io.Writer) error {
	model, err := newRecording()
	if err != nil {
		return err
	}
	messages := []message{{Role: "user", Content: []any{text("Continue with the refactoring of package billing.")}}}
	for {
		// Here goes the call of the Messages API, for example with Anthropic's
		// SDK for Go: client.Messages.New with these messages and the tool
		// {"type": memento.ToolType, "name": memento.ToolName}. The tool has no
		// schema, and the API tells Claude by itself how to use it.
		reply, err := model.answer(messages)
		if err != nil {
			return err
		}
		messages = append(messages, message{Role: "assistant", Content: blocks(reply.Content)})
		if reply.StopReason != "tool_use" {
			return nil
		}
		// All calls of one turn, in their order, are answered in one message.
		var results []any
		for _, block := range reply.Content {
			if !isToolUse(block) {
				continue
			}
			result := tool.RunBlock(ctx, block)
			results = append(results, result)
			if err := printJSON(out, result); err != nil {
				return err
			}
		}
		messages = append(messages, message{Role: "user", Content: results})
	}
}

// printHistory shows that every change is kept, and who made it.
func printHistory(ctx context.Context, store *memento.Store, out io.Writer) error {
	fmt.Fprintln(out, "\nHistory, oldest first:")
	for v, err := range store.Versions(ctx, memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-8s %s, %d bytes, by %s\n", v.Operation, v.Path, v.Size, v.CreatedBy)
	}
	return nil
}

// printJSON writes v on one line, as it would stand in a request.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
