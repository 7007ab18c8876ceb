package contextedit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"memento/internal/strictjson"
)

// A Sender sends the body of a POST /v1/messages that does not stream, and returns the
// body of the answer. An answer that is not 200 is an error.
type Sender func(ctx context.Context, body []byte) ([]byte, error)

// ErrCompaction is returned if a conversation cannot be summarized. The conversation
// can go on as it is.
var ErrCompaction = errors.New("contextedit: the conversation was not summarized")

// DefaultInstructions ask for a summary. [Compact.Instructions] replace them wholly.
const DefaultInstructions = `Your context will be replaced by a summary that you write now. You, or somebody in your place, will continue with nothing but this summary and the memory directory. Write inside <summary> tags, under five headings:

1. Task: what the user asked for, with all conditions.
2. State: what is done, what was changed, and what is under way.
3. Findings: facts, decisions and their reasons, errors and what helped.
4. Next steps: what remains, in order.
5. To keep: names, paths, values and wording that must not be lost, and what the user prefers.

Do not call tools.`

// A Compaction is a conversation that was replaced by a summary.
type Compaction struct {
	// Block is the content block that stands for everything before:
	// {"type":"compaction","content":"…"}. It is the first block of the answer, and
	// comes back in the assistant's message. It carries no signature of the API:
	// use [Expand] before it goes to an upstream that checks that.
	Block json.RawMessage
	// Usage is the element of usage.iterations for the summary.
	Usage Iteration
}

// An Iteration is an element of usage.iterations.
type Iteration struct {
	Type         string `json:"type"`
	Model        string `json:"model,omitempty"`
	InputTokens  int    `json:"input_tokens"`
	OutputTokens int    `json:"output_tokens"`
	// Cache tokens, as in the usage of a message.
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
}

// Run asks for a summary of the conversation in the body of a request, with send, and
// returns the block that replaces it. body is that of a POST /v1/messages or of
// count_tokens; its messages must not end with a call that has no result.
// Errors: [ErrCompaction], and those of send.
func (c Compact) Run(ctx context.Context, body []byte, send Sender) (Compaction, error) {
	request, err := c.SummaryRequest(body)
	if err != nil {
		return Compaction{}, err
	}
	answer, err := send(ctx, request)
	if err != nil {
		return Compaction{}, err
	}
	var wire struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		StopReason string    `json:"stop_reason"`
		Usage      Iteration `json:"usage"`
	}
	if err := json.Unmarshal(answer, &wire); err != nil {
		return Compaction{}, fmt.Errorf("%w: the answer: %w", ErrCompaction, err)
	}
	if wire.StopReason != "end_turn" && wire.StopReason != "stop_sequence" {
		return Compaction{}, fmt.Errorf("%w: the answer stopped with %q", ErrCompaction, wire.StopReason)
	}
	var text strings.Builder
	for _, b := range wire.Content {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	summary := strings.TrimSpace(text.String())
	if found := summaryTags.FindStringSubmatch(summary); found != nil {
		summary = strings.TrimSpace(found[1])
	}
	if summary == "" {
		return Compaction{}, fmt.Errorf("%w: the answer has no text", ErrCompaction)
	}
	wire.Usage.Type = "compaction"
	return Compaction{Block: NewBlock(summary), Usage: wire.Usage}, nil
}

var summaryTags = regexp.MustCompile(`(?s)<summary>(.*)</summary>`)

// NewBlock returns a compaction block with a summary.
func NewBlock(summary string) json.RawMessage {
	data := append(json.RawMessage(`{"type":"compaction","content":`), strictjson.Quote(summary)...)
	return append(data, '}')
}

// SummaryRequest returns the request that [Compact.Run] sends: the same prompt, so that
// a prompt cache is of use, and the instructions as the last words of the user. Tools
// stay declared, because there are calls in the messages, but none may be called.
func (c Compact) SummaryRequest(body []byte) ([]byte, error) {
	r, err := ParseRequest(body)
	if err != nil {
		return nil, err
	}
	if open := openCalls(r.Messages); len(open) > 0 {
		return nil, fmt.Errorf("%w: these calls have no results yet: %s", ErrCompaction, strings.Join(open, ", "))
	}
	messages := Expand(r.Messages)
	instructions := c.Instructions
	if instructions == "" {
		instructions = DefaultInstructions
	}
	last := message{role: "user"}
	messages = append(messages, last.encode([]json.RawMessage{textBlock(strictjson.Quote(instructions))}))
	for _, name := range []string{"stream", "context_management", "compaction", "thread", "stop_sequences", "output_config", "output_format"} {
		delete(r.members, name)
	}
	delete(r.members, "tool_choice")
	if isSet(r.members["tools"]) && string(r.members["tools"]) != "[]" {
		r.members["tool_choice"] = json.RawMessage(`{"type":"none"}`)
	}
	if !isSet(r.members["max_tokens"]) {
		r.members["max_tokens"] = json.RawMessage("4096")
	}
	return r.Body(messages), nil
}

// openCalls returns the IDs of calls in the last message.
func openCalls(messages []json.RawMessage) (ids []string) {
	if len(messages) == 0 {
		return nil
	}
	m, err := parseMessage(messages[len(messages)-1], func(json.RawMessage) int { return 0 })
	if err != nil || m.role != "assistant" {
		return nil
	}
	for _, b := range m.blocks {
		if b.kind == "tool_use" {
			ids = append(ids, b.id)
		}
	}
	return ids
}

// Expand returns the messages for an upstream that does not know compaction: what comes
// before the last compaction block is left out, and the block becomes a message of the
// user with the summary. Messages without such a block are returned as they are.
func Expand(messages []json.RawMessage) []json.RawMessage {
	for i := len(messages) - 1; i >= 0; i-- {
		m, err := parseMessage(messages[i], func(json.RawMessage) int { return 0 })
		if err != nil {
			continue // the upstream refuses it
		}
		for j := len(m.blocks) - 1; j >= 0; j-- {
			if m.blocks[j].kind != "compaction" {
				continue
			}
			var b struct {
				Content string `json:"content"`
			}
			if json.Unmarshal(m.blocks[j].raw, &b) != nil || b.Content == "" {
				break // a summary that failed: nothing replaces the messages
			}
			summary := textBlock(strictjson.Quote("This conversation goes on from its summary:\n\n<summary>\n" + b.Content + "\n</summary>"))
			expanded := []json.RawMessage{message{role: "user"}.encode([]json.RawMessage{summary})}
			if rest := m.blocks[j+1:]; len(rest) > 0 {
				var raw []json.RawMessage
				for _, r := range rest {
					raw = append(raw, r.raw)
				}
				expanded = append(expanded, m.encode(raw))
			}
			return append(expanded, messages[i+1:]...)
		}
	}
	return messages
}

// Continue returns the messages with which the model goes on after a compaction in the
// middle of a request: the block, and the last words of the user. Results of tools are
// in the summary.
func (c Compaction) Continue(messages []json.RawMessage) []json.RawMessage {
	rest := []json.RawMessage{message{role: "assistant"}.encode([]json.RawMessage{c.Block})}
	if len(messages) == 0 {
		return rest
	}
	last := messages[len(messages)-1]
	m, err := parseMessage(last, func(json.RawMessage) int { return 0 })
	if err != nil || m.role != "user" || !m.words {
		return rest
	}
	for _, b := range m.blocks {
		if b.kind == "tool_result" {
			return rest
		}
	}
	return append(rest, last)
}

// Prepend returns the answer that followed a compaction, with the block first and the
// iterations in its usage.
func (c Compaction) Prepend(answer []byte) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(answer, &m); err != nil {
		return nil, fmt.Errorf("%w: the answer: %w", ErrCompaction, err)
	}
	var content []json.RawMessage
	var usage map[string]json.RawMessage
	var second Iteration
	if err := errors.Join(json.Unmarshal(m["content"], &content), json.Unmarshal(m["usage"], &usage), json.Unmarshal(m["usage"], &second), json.Unmarshal(m["model"], &second.Model)); err != nil {
		return nil, fmt.Errorf("%w: the answer: %w", ErrCompaction, err)
	}
	second.Type = "message"
	usage["iterations"] = marshal([]Iteration{c.Usage, second})
	m["content"] = encodeList(append([]json.RawMessage{c.Block}, content...))
	m["usage"] = encodeObject(usage)
	return encodeObject(m), nil
}

// Paused returns the answer to a request that asks for the summary alone, with
// pause_after_compaction or on demand: one block, the stop reason compaction, and a
// usage of zero except its iterations. id is that of the new message.
func (c Compaction) Paused(id, model string) []byte {
	return marshal(map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": model, "content": []json.RawMessage{c.Block},
		"stop_reason": "compaction", "stop_sequence": nil,
		"usage": map[string]any{
			"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
			"iterations": []Iteration{c.Usage},
		},
	})
}
