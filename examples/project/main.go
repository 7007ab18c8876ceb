// Command project is a programming agent for a project that takes several sessions.
// Each run is a session with an empty context. What it knows of the earlier sessions is
// in its memory: a progress log, a checklist of features, and how to start the software.
//
//	export ANTHROPIC_API_KEY=…
//	go run ./examples/project shop "Build a shop in Go, prices and then receipts. VAT is 19 percent. Begin with the prices."
//	go run ./examples/project shop "Go on with the next feature."
//
// The software is in the folder shop, and the memory in the file project.db.
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

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: project FOLDER TASK")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, folder, task string) error {
	store, backend, err := local.Open(ctx, "project.db")
	if err != nil {
		return err
	}
	defer backend.Close()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder) // nothing outside of it can be reached
	if err != nil {
		return err
	}
	defer root.Close()

	// What the agent does not keep in its context, it has in its memory: so a session
	// can be longer than the context window.
	params := claude.Prepare(anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 8192,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(task))},
	}}, &claude.Options{
		Edits:    []claude.Edit{claude.ClearToolUses(), claude.Compact()},
		Guidance: []string{claude.Project("/memories/" + filepath.Base(folder))},
	})
	memory := claude.Tool(store, nil)
	client := anthropic.NewClient()
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{readFile(root), writeFile(root), memory}, params, memory.RunnerOptions()...)
	answer, err := runner.RunToCompletion(ctx)
	if err != nil {
		return err
	}
	for _, block := range answer.Content {
		fmt.Println(block.Text)
	}
	return nil
}
