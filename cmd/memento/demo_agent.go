package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"memento"
	"memento/claude"
	"memento/claude/claudetest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// A demo is an agent with the official SDK, and its upstream on a port of this machine.
type demo struct {
	scenario *claudetest.Scenario
	upstream *claudetest.Server
	world    *claudetest.World
	server   *http.Server
	client   anthropic.Client

	// edits are sent with each request.
	edits []claude.Edit
	// heard is called with what happens; nil means not.
	heard func(demoLine) error
	// called is called with each call of a tool of the scenario; nil means not.
	called func(tool string, input json.RawMessage)
}

// startDemo starts an upstream that plays s, with the values that seed plants, and an
// agent's client of it. The demo must be closed.
func startDemo(s *claudetest.Scenario, seed uint64, o *claudetest.Options, more ...option.RequestOption) (*demo, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the scripted upstream: %w", err)
	}
	d := &demo{scenario: s, upstream: claudetest.New(s, o), world: s.NewWorld(seed)}
	d.server = &http.Server{Handler: d.upstream, ReadHeaderTimeout: 10 * time.Second}
	go d.server.Serve(listener)
	options := append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL("http://" + listener.Addr().String()), option.WithAPIKey("demo"), option.WithMaxRetries(0),
	}, more...)
	d.client = anthropic.NewClient(options...)
	return d, nil
}

func (d *demo) close() { d.server.Close() }

// converse plays a conversation: the user's words from the script, the agent's answers
// from the upstream, with the memory tool on s.
func (d *demo) converse(ctx context.Context, s *memento.Store, c claudetest.Conversation) error {
	var messages []anthropic.BetaMessageParam
	for _, turn := range c.Turns {
		if turn.User == "" {
			continue
		}
		if err := d.hear(demoLine{Conversation: c.ID, Who: "user", Text: turn.User}); err != nil {
			return err
		}
		messages = append(messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(turn.User)))
		var err error
		if messages, err = d.answer(ctx, s, c.ID, messages); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) hear(l demoLine) error {
	if d.heard == nil {
		return nil
	}
	return d.heard(l)
}

// answer runs the agent until it has answered, and returns the longer history.
func (d *demo) answer(ctx context.Context, s *memento.Store, id string, messages []anthropic.BetaMessageParam) ([]anthropic.BetaMessageParam, error) {
	memory := claude.Tool(s, &memento.ToolOptions{Actor: memento.Actor{Kind: memento.ActorSession, ID: "sesn_demo_" + id}})
	tools := []anthropic.BetaTool{memory}
	params := claude.Prepare(anthropic.BetaToolRunnerParams{DisableThread: true, BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: anthropic.Model(d.scenario.Model), MaxTokens: 4096, Messages: messages,
		System: []anthropic.BetaTextBlockParam{{Text: d.scenario.System}},
	}}, &claude.Options{Edits: append([]claude.Edit{}, d.edits...)})
	for _, t := range d.scenario.Tools {
		tools = append(tools, &demoTool{ScriptTool: t, demo: d})
	}
	runner := d.client.Beta.Messages.NewToolRunner(tools, params, memory.RunnerOptions()...)
	for {
		message, err := runner.NextMessage(ctx)
		if err != nil {
			return nil, err
		}
		if message == nil {
			return runner.Messages(), nil
		}
		if said := saidIn(message); said != "" {
			if err := d.hear(demoLine{Conversation: id, Who: "agent", Text: said}); err != nil {
				return nil, err
			}
		}
		for _, b := range message.Content {
			if b.Type != "tool_use" {
				continue
			}
			if err := d.hear(demoLine{Conversation: id, Who: b.Name, Input: json.RawMessage(b.JSON.Input.Raw())}); err != nil {
				return nil, err
			}
		}
	}
}

// A demoTool is a tool of the scenario.
type demoTool struct {
	claudetest.ScriptTool
	demo *demo
}

func (t *demoTool) Name() string        { return t.ScriptTool.Name }
func (t *demoTool) Description() string { return t.ScriptTool.Description }

func (t *demoTool) InputSchema() anthropic.BetaToolInputSchemaParam {
	var schema anthropic.BetaToolInputSchemaParam
	if err := json.Unmarshal(t.ScriptTool.InputSchema(), &schema); err != nil {
		panic(err) // the scenario made it
	}
	return schema
}

func (t *demoTool) Execute(_ context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	if t.demo.called != nil {
		t.demo.called(t.Name(), input)
	}
	text, err := t.demo.world.Run(t.Name(), input)
	if err != nil {
		return nil, err
	}
	return toolText(text), nil
}

func toolText(text string) []anthropic.BetaToolResultBlockParamContentUnion {
	return []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: text}}}
}
