package contextedit

import (
	"encoding/json"
	"errors"
	"fmt"

	"memento/internal/strictjson"
)

// ErrMessages is returned for messages that are not those of the Messages API.
var ErrMessages = errors.New("contextedit: invalid messages")

// A Prompt is what a request sends to the model: members of its body, as they are.
type Prompt struct {
	Model    string
	System   json.RawMessage // a text or a list of blocks; may be nil
	Tools    json.RawMessage // a list; may be nil
	Messages []json.RawMessage
}

// A message is a message of the history, parsed once.
type message struct {
	raw    json.RawMessage
	role   string
	blocks []block
	text   bool // the content is a string, and blocks has one text block

	tokens   int // of all blocks and the frame
	thinking int // of the thinking blocks
	warned   bool
	words    bool // of the user, and not only tool results
}

// A block is a content block.
type block struct {
	raw    json.RawMessage
	kind   string // type
	id     string // of a tool_use
	name   string // of a tool_use
	useID  string // of a tool_result
	tokens int
}

func (b block) thinks() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }

// parseMessages parses each message once.
func parseMessages(raw []json.RawMessage, estimate func(json.RawMessage) int) ([]message, error) {
	messages := make([]message, len(raw))
	for i, r := range raw {
		var err error
		if messages[i], err = parseMessage(r, estimate); err != nil {
			return nil, fmt.Errorf("%w: messages.%d: %w", ErrMessages, i, err)
		}
	}
	return messages, nil
}

func parseMessage(raw json.RawMessage, estimate func(json.RawMessage) int) (message, error) {
	var wire struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return message{}, err
	}
	if wire.Role != "user" && wire.Role != "assistant" {
		return message{}, fmt.Errorf("the role %q is neither user nor assistant", wire.Role)
	}
	m := message{raw: raw, role: wire.Role, tokens: tokensPerMessage}
	var list []json.RawMessage
	if len(wire.Content) > 0 && wire.Content[0] == '"' {
		m.text = true
		if string(wire.Content) != `""` {
			list = []json.RawMessage{textBlock(wire.Content)}
		}
	} else if err := json.Unmarshal(wire.Content, &list); err != nil {
		return message{}, fmt.Errorf("content: %w", err)
	}
	for j, r := range list {
		var b struct {
			Type  string `json:"type"`
			ID    string `json:"id"`
			Name  string `json:"name"`
			UseID string `json:"tool_use_id"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal(r, &b); err != nil {
			return message{}, fmt.Errorf("content.%d: %w", j, err)
		}
		parsed := block{raw: r, kind: b.Type, id: b.ID, name: b.Name, useID: b.UseID, tokens: estimate(r)}
		m.tokens += parsed.tokens
		if parsed.thinks() {
			m.thinking += parsed.tokens
		}
		switch {
		case m.role == "user" && b.Type == "text" && b.Text == Warning:
			m.warned = true
		case m.role == "user" && b.Type != "tool_result":
			m.words = true
		}
		m.blocks = append(m.blocks, parsed)
	}
	return m, nil
}

// textBlock returns a text block with a text that is JSON already.
func textBlock(text json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage(`{"type":"text","text":`), text...), '}')
}

// with returns a block with one member replaced. All others are kept, byte for byte.
func (b block) with(member string, value json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(b.raw, &members) != nil {
		return b.raw // it was parsed before
	}
	members[member] = value
	return encodeObject(members)
}

// encode returns the message with other blocks.
func (m message) encode(blocks []json.RawMessage) json.RawMessage {
	data := append(json.RawMessage(`{"role":`), strictjson.Quote(m.role)...)
	data = append(data, `,"content":`...)
	return append(append(data, encodeList(blocks)...), '}')
}
