package claude_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"memento/claude"
	"memento/claude/claudetest"
)

// upstream stands for the API in the examples.
func upstream(turns ...claudetest.Turn) (url string, stop func()) {
	server := httptest.NewServer(claudetest.New(claudetest.Script(turns...), nil))
	return server.URL, server.Close
}

// An agent that remembers. In a program, the store comes from local.Open, and the client
// from anthropic.NewClient() with the key in ANTHROPIC_API_KEY.
func Example() {
	url, stop := upstream(
		claudetest.Turn{Calls: []claudetest.Call{view("/memories")}},
		claudetest.Turn{Calls: []claudetest.Call{create("/memories/ana.md", "Ana prefers tabs.\n")}},
		claudetest.Turn{Say: "Noted: tabs."})
	defer stop()
	client := anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("test"))
	store := newStore()

	memory := claude.Tool(store, nil)
	params := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 2048,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("I prefer tabs."))},
	}}, nil)
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{memory}, params, memory.RunnerOptions()...)
	answer, err := runner.RunToCompletion(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content[0].Text)
	// Output: Noted: tabs.
}

// A conversation on a message thread, with context editing, compaction and guidance.
func ExamplePrepare() {
	url, stop := upstream(claudetest.Turn{Say: "What would you like to cook?"})
	defer stop()
	client := anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("test"))
	memory := claude.Tool(newStore(), nil)

	thread := client.Beta.Messages.NewThread(claude.Prepare(anthropic.BetaMessageThreadCreateParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 2048,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Hello!"))},
	}, &claude.Options{
		Edits:    []claude.Edit{claude.ClearToolUses(), claude.Compact()},
		Guidance: []string{claude.Tidy, claude.Topic("what the user can and cannot eat")},
	}))
	runner := thread.NewToolRunner([]anthropic.BetaTool{memory}, memory.RunnerOptions()...)
	answer, err := runner.RunToCompletion(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content[0].Text)
	// Output: What would you like to cook?
}

// A process ended after Claude had asked for a change, and before the result was recorded.
func ExampleMemory_Resume() {
	memory := claude.Tool(newStore(), nil)
	history := []anthropic.BetaMessageParam{
		anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("I prefer tabs.")),
		{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{
			anthropic.NewBetaToolUseBlock("toolu_1", map[string]any{"command": "delete", "path": "/memories/spaces.md"}, "memory"),
		}}},
	}

	history = memory.Resume(context.Background(), history)
	fmt.Println(history[2].OfUser.Content[0].OfToolResult.Content[0].OfText.Text)
	// Output: Error: The command was cancelled before it finished. View /memories/spaces.md to see whether it took effect.
}

func ExampleSupportOf() {
	fmt.Println(claude.SupportOf(anthropic.ModelClaudeHaiku4_5).Compaction, claude.SupportOf(anthropic.ModelClaudeSonnet4_6).Compaction)
	// Output: false true
}
