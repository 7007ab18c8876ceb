package claude

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"memento"
)

// unknownOutcome answers a call of another tool whose result is missing.
const unknownOutcome = "Error: The conversation was interrupted before the result of this call was recorded. " +
	"Whether it took effect is not known. Find out before you repeat it."

// Resume returns the history of an interrupted conversation so that the API accepts it,
// and the conversation can go on from there: with a new runner, or on its thread. Every
// call has exactly one result, at the start of the message that follows.
//
// A memory call without a result gets the one that it had, if m has executed it. If it
// is known not to have started, it is executed now. Otherwise views are executed, and
// changes are answered with the advice to look whether they took effect; so are, without
// being executed, all calls of other tools. Messages that are in order stay as they
// are. An unfinished answer, which the runner has not recorded, is asked for again.
func (m *Memory) Resume(ctx context.Context, messages []anthropic.BetaMessageParam) []anthropic.BetaMessageParam {
	var resumed []anthropic.BetaMessageParam
	for i := 0; i < len(messages); {
		message := messages[i]
		i++
		if message.OfAssistant == nil {
			resumed = append(resumed, message)
			continue
		}
		if len(message.OfAssistant.Content) == 0 {
			continue // of an answer that was broken off; the API refuses it
		}
		resumed = append(resumed, message)
		calls := callsOf(message.OfAssistant)
		if len(calls) == 0 {
			continue
		}
		next := i
		for next < len(messages) && messages[next].OfUser != nil {
			next++
		}
		resumed = append(resumed, m.answered(ctx, calls, messages[i:next])...)
		i = next
	}
	return resumed
}

// callsOf returns the calls of a message that have to be answered.
func callsOf(message *anthropic.BetaAssistantMessageParam) []*anthropic.BetaToolUseBlockParam {
	var calls []*anthropic.BetaToolUseBlockParam
	for _, block := range message.Content {
		switch {
		case block.OfFallback != nil:
			calls = nil // they belong to a refused attempt
		case block.OfToolUse != nil:
			calls = append(calls, block.OfToolUse)
		}
	}
	return calls
}

// answered returns the user's messages that follow calls, with every call answered once.
func (m *Memory) answered(ctx context.Context, calls []*anthropic.BetaToolUseBlockParam, users []anthropic.BetaMessageParam) []anthropic.BetaMessageParam {
	if len(users) > 0 && answers(users[0].OfUser.Content, calls) && !slices.ContainsFunc(users[1:], hasResult) {
		return users
	}
	results := map[string]anthropic.BetaContentBlockParamUnion{}
	var rest []anthropic.BetaContentBlockParamUnion
	for _, user := range users {
		for _, block := range user.OfUser.Content {
			if block.OfToolResult == nil {
				rest = append(rest, block)
			} else if _, twice := results[block.OfToolResult.ToolUseID]; !twice {
				results[block.OfToolResult.ToolUseID] = block
			}
		}
	}
	var blocks []anthropic.BetaContentBlockParamUnion
	for _, c := range calls {
		result, ok := results[c.ID]
		if !ok {
			result = m.missing(ctx, c)
		}
		blocks = append(blocks, result)
	}
	return []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(append(blocks, rest...)...)}
}

// answers reports whether content begins with one result for each of the calls, and has
// no other results.
func answers(content []anthropic.BetaContentBlockParamUnion, calls []*anthropic.BetaToolUseBlockParam) bool {
	if len(content) < len(calls) {
		return false
	}
	open := map[string]bool{}
	for _, c := range calls {
		open[c.ID] = true
	}
	for _, block := range content[:len(calls)] {
		if block.OfToolResult == nil || !open[block.OfToolResult.ToolUseID] {
			return false
		}
		delete(open, block.OfToolResult.ToolUseID)
	}
	return !slices.ContainsFunc(content[len(calls):], isResult)
}

func isResult(block anthropic.BetaContentBlockParamUnion) bool { return block.OfToolResult != nil }

func hasResult(user anthropic.BetaMessageParam) bool {
	return slices.ContainsFunc(user.OfUser.Content, isResult)
}

// missing answers a call whose result is not in the history.
func (m *Memory) missing(ctx context.Context, c *anthropic.BetaToolUseBlockParam) anthropic.BetaContentBlockParamUnion {
	if c.Name != memento.ToolName {
		return anthropic.BetaContentBlockParamUnion{OfToolResult: &anthropic.BetaToolResultBlockParam{
			ToolUseID: c.ID, Content: content(unknownOutcome), IsError: param.NewOpt(true), ToolsetName: c.ToolsetName,
		}}
	}
	input, err := json.Marshal(c.Input)
	if err != nil {
		input = nil // not JSON: its answer says so
	}
	parsed, _ := memento.ParseCall(input) // its answer says what is wrong
	if known := m.transcript.claim(c.ID, input); known != nil && c.ID != "" {
		return resultBlock(c.ID, known.run(ctx, m.tool, parsed))
	}
	return resultBlock(c.ID, m.tool.Interrupted(ctx, parsed))
}
