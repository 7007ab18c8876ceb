package mcpserver

import (
	"context"
	"fmt"

	"memento/internal/memorytool"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A protocol is a prompt about how to use the memory.
type protocol struct {
	name, title, description string

	argument *mcp.PromptArgument          // nil if the text is fixed
	text     func(argument string) string // added to the memory protocol; nil for nothing
}

// protocols are the memory protocol, which the API adds to requests with the memory tool,
// and its variants.
var protocols = []protocol{
	{
		name: "memory-protocol", title: "Memory protocol",
		description: "Look into the memory first, and save progress as you go",
	},
	{
		name: "memory-tidy", title: "Memory protocol: keep it in order",
		description: "The memory protocol, with files that are up to date and easy to find",
		text:        func(string) string { return memorytool.Tidy },
	},
	{
		name: "memory-facts", title: "Memory protocol: facts about the user",
		description: "The memory protocol, for an assistant that remembers the user rather than the conversation",
		text:        func(string) string { return memorytool.Facts },
	},
	{
		name: "memory-topic", title: "Memory protocol: one topic",
		description: "The memory protocol, for what concerns a topic only",
		argument:    &mcp.PromptArgument{Name: "topic", Description: "what to remember, such as the user's dietary needs", Required: true},
		text:        memorytool.Topic,
	},
	{
		name: "memory-project", title: "Memory protocol: a project of several sessions",
		description: "The memory protocol, with a progress log, a checklist of features and how to start the software",
		argument:    &mcp.PromptArgument{Name: "directory", Description: "where these files are; default /memories"},
		text: func(dir string) string {
			if dir == "" {
				dir = root
			}
			return memorytool.Project(dir)
		},
	},
}

const maxArgumentBytes = 1000

func (s *Server) addPrompts() {
	for _, p := range protocols {
		prompt := &mcp.Prompt{Name: p.name, Title: p.title, Description: p.description}
		if p.argument != nil {
			prompt.Arguments = []*mcp.PromptArgument{p.argument}
		}
		s.mcp.AddPrompt(prompt, p.get)
	}
}

func (p protocol) get(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text, given := memorytool.Protocol, ""
	if a := p.argument; a != nil {
		given = req.Params.Arguments[a.Name]
		if given == "" && a.Required || len(given) > maxArgumentBytes {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s must have 1 to %d bytes", a.Name, maxArgumentBytes)}
		}
	}
	if p.text != nil {
		text += "\n\n" + p.text(given)
	}
	return &mcp.GetPromptResult{
		Description: p.description,
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}
