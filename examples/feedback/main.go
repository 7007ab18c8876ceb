// Command feedback is an agent that learns from feedback. The arguments are what the
// user says, one after the other. What the user corrects in one run is a rule that the
// agent keeps in all later ones.
//
//	export ANTHROPIC_API_KEY=…
//	go run ./examples/feedback "Write a release note: 2.1 exports CSV." "Too long. At most 6 words, and no praise."
//	go run ./examples/feedback "Write a release note: 2.2 has a dark mode."
//
// The rules are in the file feedback.db.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/claude"
	"memento/local"
)

const learn = `When the user corrects you, find the rule behind the correction, and save it in
/memories/rules.md with its reason, before you answer. Replace a rule that it contradicts.
Before you show any work, check that it keeps all rules there.`

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, words []string) error {
	store, backend, err := local.Open(ctx, "feedback.db")
	if err != nil {
		return err
	}
	defer backend.Close()
	memory := claude.Tool(store, nil)
	client := anthropic.NewClient()

	params := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 4096,
	}}, &claude.Options{Guidance: []string{learn, claude.Tidy}})
	for _, said := range words {
		params.Messages = append(params.Messages, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(said)))
		runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{memory}, params, memory.RunnerOptions()...)
		answer, err := runner.RunToCompletion(ctx)
		if err != nil {
			return err
		}
		for _, block := range answer.Content {
			fmt.Println(block.Text)
		}
		params.Messages = runner.Messages() // with the calls and the answer
	}
	return nil
}
