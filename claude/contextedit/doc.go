// Package contextedit keeps the context of a conversation small on the side of the
// client, with the edits that the Messages API makes on its own side: it clears old
// tool results (clear_tool_uses_20250919) and old thinking (clear_thinking_20251015),
// warns the model before, and replaces a long conversation by a summary
// (compact_20260112). It is for upstreams that lack these edits, and for programs that
// want to see what the model sees.
//
// [Config] has the fields of the member context_management, and [ParseConfig] reads
// it. [Config.Edit] returns the messages to send:
//
//	result, err := config.Edit(contextedit.Prompt{Model: model, Tools: tools, Messages: history}, nil)
//	// send result.Messages, keep history
//
// # What it promises
//
// The application keeps its whole history and edits it before each request. Edit goes
// through the history as it grew, request by request, so that the same history always
// gives the same messages, in any process: what was cleared stays cleared, and as long
// as nothing more is cleared, the messages of the last request are the beginning of
// the next one, byte for byte. That is what a prompt cache needs, and models that bind
// thinking to the conversation before it. On those models, the thinking before a
// clearing is removed with it.
//
// Messages that are not edited are returned as they were given. An edited list follows
// the rules of the API if the history did. Editing twice is the same as editing once.
//
// # Tokens
//
// Sizes are estimates ([Estimate]) unless the caller knows better: with
// [Options.InputTokens], from the API's count_tokens or from the usage of the last
// answer, all estimates are scaled to that. Then keep [Result.State] with the history,
// because another scale could decide the past in another way.
package contextedit
