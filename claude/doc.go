// Package claude connects a memory store with Anthropic's SDK for Go.
//
//	memory := claude.Tool(store, nil)
//	params := claude.Prepare(anthropic.BetaToolRunnerParams{…}, nil)
//	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{memory}, params, memory.RunnerOptions()...)
//	answer, err := runner.RunToCompletion(ctx)
//
// A [Memory] is Claude's memory tool for the SDK's tool runner: plain, streaming and on
// a message thread. [Prepare] declares the tool, turns on context management, and adds
// guidance to the system prompt. [Memory.Resume] makes the history of an interrupted
// conversation valid again.
package claude
