package claude

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"memento"
)

// A Memory is Claude's memory tool, as the SDK's tool runner wants it. It can serve
// several runners at once.
//
// The agent reads the text of memento's tool to the byte. The runner can mark a result
// as an error only if its text begins with "Error: ", so a refusal that begins
// otherwise goes out without the mark.
type Memory struct {
	tool *memento.Tool

	// transcript has the calls of the latest turns, if the runner has RunnerOptions.
	transcript transcript
	// unordered is held by a call that is in no known turn, so that such calls run
	// one at a time.
	unordered sync.Mutex
}

var _ anthropic.BetaTool = (*Memory)(nil)

// Tool returns the memory tool on a store. For several stores, see [Wrap].
// It panics if the store is nil.
func Tool(store *memento.Store, opts *memento.ToolOptions) *Memory {
	return Wrap(memento.NewTool(store, opts))
}

// Wrap returns a memory tool that executes its calls with tool, such as one on several
// stores.
func Wrap(tool *memento.Tool) *Memory {
	if tool == nil {
		panic("claude.Wrap: the tool is nil; make one with memento.NewTool")
	}
	return &Memory{tool: tool}
}

// Name returns the name of the tool, "memory".
func (m *Memory) Name() string { return memento.ToolName }

// Description is sent only for a model without the memory tool, or if the request has
// not gone through [Prepare]: the runner declares the tool as an ordinary one then.
//
// If the tool searches, it ends with [memento.SearchGuidance]; with the native tool, add that
// to the system prompt.
func (m *Memory) Description() string {
	if m.tool.Searches() {
		return description + " " + memento.SearchGuidance
	}
	return description
}

// InputSchema is sent when Description is.
func (m *Memory) InputSchema() anthropic.BetaToolInputSchemaParam { return inputSchema() }

// Execute executes one call. With [Memory.RunnerOptions], the calls of a turn are
// executed in the order in which they are in the turn, and a call that the runner
// repeats is not executed again.
func (m *Memory) Execute(ctx context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	result := m.execute(ctx, input)
	if text, ok := strings.CutPrefix(result.Content, errorPrefix); ok && result.IsError {
		return nil, errors.New(text) // the runner writes the prefix
	}
	return content(result.Content), nil
}

func (m *Memory) execute(ctx context.Context, input json.RawMessage) memento.ResultBlock {
	// What is wrong with the input is in the call, and its answer says so.
	parsed, _ := memento.ParseCall(input)
	if c := m.transcript.claim(callID(ctx), input); c != nil {
		return c.run(ctx, m.tool, parsed)
	}
	m.unordered.Lock()
	defer m.unordered.Unlock()
	return m.tool.RunCall(ctx, parsed)
}

// errorPrefix is what the runner puts before the text of an error.
const errorPrefix = "Error: "

// resultBlock returns the block that the runner makes of what Execute returns.
func resultBlock(id string, result memento.ResultBlock) anthropic.BetaContentBlockParamUnion {
	block := &anthropic.BetaToolResultBlockParam{ToolUseID: id, Content: content(result.Content)}
	if result.IsError && strings.HasPrefix(result.Content, errorPrefix) {
		block.IsError = param.NewOpt(true)
	}
	return anthropic.BetaContentBlockParamUnion{OfToolResult: block}
}

func content(text string) []anthropic.BetaToolResultBlockParamContentUnion {
	return []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: text}}}
}
