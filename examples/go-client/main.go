// Command go-client lets Claude remember on a memento server, with Anthropic's SDK
// for both: the SDK's tool runner asks Claude, and each call of the memory tool is
// one request to the server, whose memories are then listed.
//
//	export MEMENTO_URL=http://127.0.0.1:8377 MEMENTO_KEY=sk-memento-… ANTHROPIC_API_KEY=…
//	go run . "I prefer tabs. Please remember that."
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
)

func run(ctx context.Context, prompt string) error {
	server := anthropic.NewClient(option.WithBaseURL(os.Getenv("MEMENTO_URL")), option.WithAPIKey(os.Getenv("MEMENTO_KEY")))

	// Each user has a store, found by its name; it is made when it is first asked for.
	var store anthropic.BetaManagedAgentsMemoryStore
	if err := server.Post(ctx, "v1/memory_stores/by-name", map[string]string{"name": "user 42"}, &store); err != nil {
		return err
	}
	execute := func(ctx context.Context, input json.RawMessage) (content anthropic.BetaToolResultBlockParamContentUnion, err error) {
		var result anthropic.BetaToolResultBlockParam
		// Should the SDK have to repeat it, it is executed once.
		once := option.WithHeader("Idempotency-Key", rand.Text())
		err = server.Post(ctx, "v1/memory_stores/"+store.ID+"/tool", input, &result, once)
		if err != nil {
			return content, err
		}
		content = result.Content[0]
		if result.IsError.Value {
			err = errors.New(strings.TrimPrefix(content.OfText.Text, "Error: ")) // which the runner adds
		}
		return content, err
	}
	memory := toolrunner.NewBetaTool("memory", "", anthropic.BetaToolInputSchemaParam{}, execute)

	claude := anthropic.NewClient() // its key is ANTHROPIC_API_KEY
	answer, err := claude.Beta.Messages.NewToolRunner([]anthropic.BetaTool{memory}, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-sonnet-5-5", MaxTokens: 4096,
			Tools:    []anthropic.BetaToolUnionParam{{OfMemoryTool20250818: &anthropic.BetaMemoryTool20250818Param{}}},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(prompt))},
		},
	}).RunToCompletion(ctx)
	if err != nil {
		return err
	}
	for _, block := range answer.Content {
		log.Print(block.Text)
	}
	memories := server.Beta.MemoryStores.Memories.ListAutoPaging(ctx, store.ID, anthropic.BetaMemoryStoreMemoryListParams{View: "full"})
	for memories.Next() {
		log.Printf("%s: %q", memories.Current().Path, memories.Current().Content)
	}
	return memories.Err()
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}
