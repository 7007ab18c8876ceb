// Command workflow runs a workflow that comes back: each week, a report on the new
// support tickets. The agent keeps in its memory how the report is made, which problems
// are known, and the number of the last ticket, and so reads only what is new.
//
//	export ANTHROPIC_API_KEY=…
//	go run ./examples/workflow examples/workflow/tickets/week36.csv
//	go run ./examples/workflow examples/workflow/tickets/week37.csv
//
// The memory is in the file workflow.db. A scheduler, such as cron, can run it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/claude"
	"memento/local"
)

const workflow = `You report on support tickets each week. /memories/tickets.md is your working
procedure: how you make the report, the problems that are known with their number of tickets, and the
number of the last ticket that you have read. Begin with it, ask for the tickets after that number only,
and bring it up to date before you report. Name what is new, and what came up again.`

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: workflow FILE.csv")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string) error {
	store, backend, err := local.Open(ctx, "workflow.db")
	if err != nil {
		return err
	}
	defer backend.Close()
	memory := claude.Tool(store, nil)

	params := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 4096,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Report on " + filepath.Base(file)))},
	}}, &claude.Options{Guidance: []string{workflow}})
	client := anthropic.NewClient()
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{readTickets(file), memory}, params, memory.RunnerOptions()...)
	answer, err := runner.RunToCompletion(ctx)
	if err != nil {
		return err
	}
	for _, block := range answer.Content {
		fmt.Println(block.Text)
	}
	return nil
}
