package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A said is what a client got in the session, as mcp/session.mjs prints it.
type said struct {
	Instructions string                  `json:"instructions"`
	Tools        []string                `json:"tools"`
	Create       toolAnswer              `json:"create"`
	Again        toolAnswer              `json:"again"`
	View         toolAnswer              `json:"view"`
	Search       toolAnswer              `json:"search"`
	Resources    []string                `json:"resources"`
	Templates    []string                `json:"templates"`
	Read         []*mcp.ResourceContents `json:"read"`
	Missing      int64                   `json:"missing"`
	Prompts      []string                `json:"prompts"`
	Prompt       string                  `json:"prompt"`
	Edit         toolAnswer              `json:"edit"`
	Notified     string                  `json:"notified"`
}

type toolAnswer struct {
	Text    string          `json:"text"`
	IsError bool            `json:"isError,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// bearer sends a key with each request.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

// goSession plays the session of mcp/session.mjs through the official client for Go.
func goSession(t *testing.T, target mcpTarget) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mcpTimeout)
	defer cancel()
	notified := make(chan string, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "conformance", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { notified <- req.Params.URI },
	})
	subscribed := make(chan struct{}, 1)
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				subscribed <- struct{}{}
			}
			return next(ctx, method, req)
		}
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target.URL, HTTPClient: &http.Client{Transport: bearer(target.Key)}}
	if len(target.Command) > 0 {
		transport = &mcp.CommandTransport{Command: exec.Command(target.Command[0], target.Command[1:]...)}
	}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: target.Version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func(tool string, arguments map[string]any) (a toolAnswer) {
		t.Helper()
		r := must(session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments}))(t)
		for _, block := range r.Content {
			a.Text += block.(*mcp.TextContent).Text
		}
		if a.IsError = r.IsError; r.StructuredContent != nil {
			a.Data = must(json.Marshal(r.StructuredContent))(t)
		}
		return a
	}
	const file = "memory:///memories/notes/tea.md"
	var got said
	got.Instructions = session.InitializeResult().Instructions
	for _, tool := range must(session.ListTools(ctx, nil))(t).Tools {
		got.Tools = append(got.Tools, tool.Name)
	}
	got.Create = call("memory", map[string]any{"command": "create", "path": "/memories/notes/tea.md", "file_text": "green tea\n"})
	got.Again = call("memory", map[string]any{"command": "create", "path": "/memories/notes/tea.md", "file_text": "x"})
	got.View = call("memory", map[string]any{"command": "view", "path": "/memories"})
	got.Search = call("memory_search", map[string]any{"query": "green"})
	for _, each := range must(session.ListResources(ctx, nil))(t).Resources {
		got.Resources = append(got.Resources, each.URI)
	}
	for _, each := range must(session.ListResourceTemplates(ctx, nil))(t).ResourceTemplates {
		got.Templates = append(got.Templates, each.URITemplate)
	}
	got.Read = must(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: file}))(t).Contents
	_, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "memory:///memories/none"})
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		got.Missing = refusal.Code
	}
	for _, each := range must(session.ListPrompts(ctx, nil))(t).Prompts {
		got.Prompts = append(got.Prompts, each.Name)
	}
	prompt := must(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "memory-topic", Arguments: map[string]string{"topic": "tea"}}))(t)
	text := prompt.Messages[0].Content.(*mcp.TextContent).Text
	got.Prompt = text[strings.LastIndexByte(text, '\n')+1:]
	if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: file}); err != nil {
		t.Fatal(err)
	}
	if target.Version >= "2026-07-28" { // then Subscribe does not wait until it has begun
		select {
		case <-subscribed:
		case <-ctx.Done():
			t.Fatal("the subscription is not acknowledged")
		}
	}
	got.Edit = call("memory", map[string]any{"command": "str_replace", "path": "/memories/notes/tea.md", "old_str": "green", "new_str": "white"})
	for got.Notified != file {
		select {
		case got.Notified = <-notified:
		case <-ctx.Done():
			t.Fatal("no notification")
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
