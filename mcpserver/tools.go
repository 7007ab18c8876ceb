package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"memento"
	"memento/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTools adds the tools: those of the commands are declared in commands.go, the others
// in search.go and history.go.
func (s *Server) addTools() {
	s.addCommands()
	s.mcp.AddTool(&searchTool, s.reported("search", s.search))
	if s.opts.History {
		s.mcp.AddTool(&historyTool, s.reported("history", s.history))
		if !s.opts.ReadOnly {
			s.mcp.AddTool(&restoreTool, s.reported("restore", s.restore))
		}
	}
}

// A ToolCall describes a call of a tool that has been executed.
type ToolCall struct {
	// Command is that of the memory tool, or "search", "history" or "restore"; "" if the call
	// of the memory tool was malformed.
	Command string
	Start   time.Time
	Took    time.Duration
	Refused bool  // whether the model was answered with an error
	Err     error // the storage's fault, if that was the reason
}

// report tells Options.ToolCalled of a call.
func (s *Server) report(ctx context.Context, command string, start time.Time, refused bool, err error) {
	if s.opts.ToolCalled != nil {
		s.opts.ToolCalled(ctx, ToolCall{Command: command, Start: start, Took: time.Since(start), Refused: refused, Err: err})
	}
}

// reported returns the handler of a tool whose calls are reported. The error that call
// returns is the storage's; the model has its answer already.
func (s *Server) reported(command string, call mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		start := time.Now()
		r, err := call(ctx, req)
		s.report(ctx, command, start, r.IsError, err)
		return r, nil
	}
}

// addCommands adds the six commands in the form that is asked for.
func (s *Server) addCommands() {
	s.direct = map[string]string{}
	if s.opts.Tools == OneTool {
		s.direct[memento.ToolName] = ""
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
		name := memento.ToolName + "_" + c.name
		s.direct[name] = c.name
		s.mcp.AddTool(&mcp.Tool{
			Name: name, Title: c.title, Description: c.description, InputSchema: c.schema(),
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

// run executes an input of the memory tool for a request that the SDK has read.
func (s *Server) run(ctx context.Context, req *mcp.CallToolRequest, input []byte) (*mcp.CallToolResult, error) {
	start := time.Now()
	m, err := s.memory(ctx, req)
	if err != nil {
		call, _ := memento.ParseInput(input) // only its name is wanted
		answer, err := s.failed(ctx, "open the memory", err)
		s.report(ctx, call.Command(), start, answer.IsError, err)
		return answer, nil
	}
	r := s.execute(ctx, m, input)
	answer := text(r.Content)
	answer.IsError = r.IsError
	return answer, nil
}

// execute executes an input of the memory tool, and reports it.
func (s *Server) execute(ctx context.Context, m *memory, input []byte) memento.ResultBlock {
	start := time.Now()
	call, _ := memento.ParseInput(input) // RunCall answers with the error
	r := m.tool.RunCall(ctx, call)
	s.report(ctx, call.Command(), start, r.IsError, r.Err)
	return r
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
