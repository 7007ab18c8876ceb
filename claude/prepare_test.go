package claude_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"memento/claude"
)

// wire returns what of the parameters a request has.
func wire(t *testing.T, p anthropic.BetaMessageNewParams) map[string]any {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	sent := map[string]any{}
	for _, name := range []string{"tools", "system", "context_management"} {
		if v, ok := body[name]; ok {
			sent[name] = v
		}
	}
	if len(p.Betas) > 0 {
		sent["betas"] = p.Betas
	}
	return sent
}

func TestPrepare(t *testing.T) {
	type object = map[string]any
	type list = []any
	memory := object{"type": "memory_20250818", "name": "memory"}
	toolUses := object{"type": "clear_tool_uses_20250919", "exclude_tools": list{"memory"}}
	compact := object{"type": "compact_20260112"}
	clearing, compaction := anthropic.AnthropicBetaContextManagement2025_06_27, anthropic.AnthropicBetaCompact2026_01_12
	own := anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{Name: "memory", InputSchema: anthropic.BetaToolInputSchemaParam{Properties: object{}}}}
	rough := claude.ClearToolUses()
	rough.OfClearToolUses20250919.Keep.Value = 1
	rough.OfClearToolUses20250919.Trigger.OfInputTokens = &anthropic.BetaInputTokensTriggerParam{Value: 5000}

	for _, tt := range []struct {
		name   string
		params anthropic.BetaMessageNewParams
		opts   *claude.Options
		want   object
	}{
		{"defaults", anthropic.BetaMessageNewParams{Model: "claude-sonnet-4-5"}, nil, object{
			"tools": list{memory}, "context_management": object{"edits": list{toolUses}}, "betas": []anthropic.AnthropicBeta{clearing},
		}},
		{"no edits", anthropic.BetaMessageNewParams{Model: "claude-sonnet-4-5"}, &claude.Options{Edits: []claude.Edit{}}, object{"tools": list{memory}}},
		{"all edits in order", anthropic.BetaMessageNewParams{Model: "claude-opus-4-6"}, &claude.Options{Edits: []claude.Edit{claude.Compact(), claude.ClearToolUses(), claude.ClearThinking(2)}}, object{
			"tools": list{memory},
			"context_management": object{"edits": list{
				object{"type": "clear_thinking_20251015", "keep": object{"type": "thinking_turns", "value": 2.0}}, toolUses, compact,
			}},
			"betas": []anthropic.AnthropicBeta{clearing, compaction},
		}},
		{"thinking kept", anthropic.BetaMessageNewParams{Model: "claude-opus-4-6"}, &claude.Options{Edits: []claude.Edit{claude.ClearThinking(0)}}, object{
			"tools":              list{memory},
			"context_management": object{"edits": list{object{"type": "clear_thinking_20251015", "keep": object{"type": "all"}}}},
			"betas":              []anthropic.AnthropicBeta{clearing},
		}},
		{"no compaction in the model", anthropic.BetaMessageNewParams{Model: "claude-haiku-4-5"}, &claude.Options{Edits: []claude.Edit{claude.Compact()}}, object{"tools": list{memory}}},
		{"no memory tool in the model", anthropic.BetaMessageNewParams{Model: "claude-3-7-sonnet-latest"}, nil, object{}},
		{"what is there stays", anthropic.BetaMessageNewParams{
			Model: "claude-opus-4-6", Tools: []anthropic.BetaToolUnionParam{own},
			System:            []anthropic.BetaTextBlockParam{{Text: claude.Tidy}, {Text: "Be brief."}},
			ContextManagement: anthropic.BetaContextManagementConfigParam{Edits: []claude.Edit{rough}},
			Betas:             []anthropic.AnthropicBeta{clearing},
		}, &claude.Options{Edits: []claude.Edit{claude.ClearToolUses(), claude.Compact()}, Guidance: []string{claude.Tidy, claude.Topic("food")}}, object{
			"tools":  list{object{"name": "memory", "input_schema": object{"type": "object", "properties": object{}}}},
			"system": list{object{"type": "text", "text": claude.Tidy}, object{"type": "text", "text": "Be brief."}, object{"type": "text", "text": claude.Topic("food")}},
			"context_management": object{"edits": list{
				object{"type": "clear_tool_uses_20250919", "exclude_tools": list{"memory"}, "keep": object{"type": "tool_uses", "value": 1.0}, "trigger": object{"type": "input_tokens", "value": 5000.0}},
				compact,
			}},
			"betas": []anthropic.AnthropicBeta{clearing, compaction},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := wire(t, tt.params)
			once := claude.Prepare(tt.params, tt.opts)
			if diff := gocmp.Diff(tt.want, wire(t, once)); diff != "" {
				t.Error(diff)
			}
			if diff := gocmp.Diff(before, wire(t, tt.params)); diff != "" {
				t.Error("the parameters were changed:\n" + diff)
			}
			first, _ := json.Marshal(once)
			twice := claude.Prepare(once, tt.opts)
			if second, _ := json.Marshal(twice); string(second) != string(first) || !slices.Equal(once.Betas, twice.Betas) {
				t.Errorf("prepared twice: %s %s\nonce: %s %s", second, twice.Betas, first, once.Betas)
			}
		})
	}
}

// The slices of the caller's parameters have room after their end, which stays as it is.
func TestPrepareDoesNotShare(t *testing.T) {
	tools := make([]anthropic.BetaToolUnionParam, 0, 4)
	system := make([]anthropic.BetaTextBlockParam, 0, 4)
	p := anthropic.BetaMessageNewParams{Model: "claude-opus-4-6", Tools: tools, System: system}
	a := claude.Prepare(p, &claude.Options{Guidance: []string{"a"}})
	claude.Prepare(p, &claude.Options{Guidance: []string{"b"}})
	if a.System[0].Text != "a" || system[:1][0].Text != "" || tools[:1][0].OfMemoryTool20250818 != nil {
		t.Error("two requests share a slice")
	}
}

// All kinds of parameters are prepared alike.
func TestPrepareKinds(t *testing.T) {
	opts := &claude.Options{Guidance: []string{claude.Project("/memories/shop")}}
	want := claude.Prepare(anthropic.BetaMessageNewParams{Model: "claude-opus-4-6", MaxTokens: 10}, opts)
	runner := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "claude-opus-4-6", MaxTokens: 10}}, opts)
	thread := claude.Prepare(anthropic.BetaMessageThreadCreateParams{Model: "claude-opus-4-6", MaxTokens: 10}, opts)
	for _, got := range []anthropic.BetaMessageNewParams{runner.BetaMessageNewParams, {Tools: thread.Tools, System: thread.System, ContextManagement: thread.ContextManagement, Betas: thread.Betas}} {
		if diff := gocmp.Diff(wire(t, want), wire(t, got)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestProject(t *testing.T) {
	for dir, want := range map[string]string{
		"/memories": "/memories/progress.md", "/memories/": "/memories/progress.md", "memories/shop": "/memories/shop/progress.md",
	} {
		text := claude.Project(dir)
		if !strings.Contains(text, "- "+want+":") {
			t.Errorf("Project(%q) does not name %s:\n%s", dir, want, text)
		}
	}
}

// A model without the memory tool gets it as an ordinary one.
func TestOldModel(t *testing.T) {
	store := newStore()
	client, upstream := connect(t, nil, rounds(2)...)
	m := claude.Tool(store, nil)
	p := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-3-7-sonnet-latest", MaxTokens: 1024, Messages: []anthropic.BetaMessageParam{userMessage("Hello!")},
	}}, nil)
	r := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{m}, p, m.RunnerOptions()...)
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkAccepted(t, upstream)
	if checkTranscript(t, r.Messages(), store) != 11 {
		t.Error("calls are missing")
	}
	if tool := r.Params.Tools[0].OfTool; tool == nil || tool.Name != "memory" || tool.InputSchema.Required == nil {
		t.Errorf("it is declared as %+v", r.Params.Tools[0])
	}
}
