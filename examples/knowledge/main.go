// Command knowledge keeps a knowledge base that grows over time. It is told documents,
// one in each run, and files what is in them by subject, correcting what has changed. It
// answers questions from what it has filed: the documents are no longer needed then.
//
//	export ANTHROPIC_API_KEY=…
//	go run ./examples/knowledge add examples/knowledge/notes/2026-03.md
//	go run ./examples/knowledge add examples/knowledge/notes/2026-09.md
//	go run ./examples/knowledge ask "On which port does the mail gateway listen, and since when?"
//
// The knowledge is in the file knowledge.db.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento"
	"memento/claude"
	"memento/local"
)

const (
	librarian = `You keep a knowledge base in /memories, one file for each subject. File what a document
says under its subjects, each fact with the document that it is from. If a document contradicts what is
there, correct it, and keep in one line what was true before.`
	reader = `Answer from the knowledge base in /memories alone, and name the documents that the facts are from.
If it is not there, say so.`
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	store, backend, err := local.Open(ctx, "knowledge.db")
	if err != nil {
		return err
	}
	defer backend.Close()
	switch {
	case len(args) == 2 && args[0] == "add":
		document, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		// The history of the store says from which document a change came: see "memento log".
		source := memento.ToolOptions{Actor: memento.Actor{Kind: memento.ActorSession, ID: args[1]}}
		return converse(ctx, claude.Tool(store, &source), librarian, fmt.Sprintf("Document %s:\n\n%s", args[1], document))
	case len(args) == 2 && args[0] == "ask":
		return converse(ctx, claude.Tool(store, &memento.ToolOptions{ReadOnly: true}), reader, args[1])
	}
	return errors.New("usage: knowledge add FILE | ask QUESTION")
}

// converse has Claude answer one message, with an empty context, and prints the answer.
func converse(ctx context.Context, memory *claude.Memory, task, message string) error {
	client := anthropic.NewClient()
	params := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 4096,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(message))},
	}}, &claude.Options{Guidance: []string{task, claude.Tidy}})
	answer, err := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{memory}, params, memory.RunnerOptions()...).RunToCompletion(ctx)
	if err != nil {
		return err
	}
	for _, block := range answer.Content {
		fmt.Println(block.Text)
	}
	return nil
}
