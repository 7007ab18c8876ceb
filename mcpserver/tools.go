package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"

	"memento"
	"memento/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) addTools() {
	s.addCommands()
	s.mcp.AddTool(&searchTool, s.search)
	if s.opts.History {
		s.mcp.AddTool(&historyTool, s.history)
		if !s.opts.ReadOnly {
			s.mcp.AddTool(&restoreTool, s.restore)
		}
	}
}

// addCommands adds the six commands in the form that is asked for.
func (s *Server) addCommands() {
	if s.opts.Tools == OneTool {
		schema, description := oneSchema(s.opts.ReadOnly)
		s.mcp.AddTool(&mcp.Tool{
			Name: memento.ToolName, Title: "Memory", Description: description, InputSchema: schema,
			Annotations: annotations(s.opts.ReadOnly, !s.opts.ReadOnly, s.opts.ReadOnly),
		}, s.runInput)
		return
	}
	for i := range commands {
		c := &commands[i]
		if s.opts.ReadOnly && !c.readOnly {
			continue
		}
		s.mcp.AddTool(&mcp.Tool{
			Name: memento.ToolName + "_" + c.name, Title: c.title, Description: c.description, InputSchema: c.schema(),
			Annotations: annotations(c.readOnly, c.destructive, c.idempotent),
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.run(ctx, req, withCommand(c.name, req.Params.Arguments))
		})
	}
}

// annotations are hints for clients, such as whether to ask the user before a call.
func annotations(readOnly, destructive, idempotent bool) *mcp.ToolAnnotations {
	closed := false // memories are a world of their own
	return &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &destructive, IdempotentHint: idempotent, OpenWorldHint: &closed}
}

// runInput executes a call whose arguments are the input of the memory tool.
func (s *Server) runInput(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.run(ctx, req, req.Params.Arguments)
}

func (s *Server) run(ctx context.Context, req *mcp.CallToolRequest, input []byte) (*mcp.CallToolResult, error) {
	m, err := s.memory(ctx, req)
	if err != nil {
		return s.failed(ctx, "open the memory", err), nil
	}
	r := m.tool.Run(ctx, input)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Content}}, IsError: r.IsError}, nil
}

// withCommand returns the arguments of a command's own tool as an input of the memory
// tool. Arguments that are no object are refused by the tool.
func withCommand(name string, arguments json.RawMessage) []byte {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(arguments), []byte("{"))
	if !ok && len(arguments) > 0 {
		return arguments
	}
	input := append([]byte(`{"command":`), strictjson.Quote(name)...)
	rest = bytes.TrimSpace(rest)
	switch {
	case len(rest) == 0:
		return append(input, '}')
	case rest[0] != '}':
		input = append(input, ',')
	}
	return append(input, rest...)
}

// text is a result with one text.
func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// refused is a result that tells the model why a call was not executed.
func refused(why string) *mcp.CallToolResult {
	r := text(why)
	r.IsError = true
	return r
}
