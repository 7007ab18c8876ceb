package claudetest

import (
	"unicode"
	"unicode/utf8"
)

// CountTokens returns the tokens of a text as the scripted upstream counts them: a
// word has one token for each five letters that it begins, a number one for each three
// digits, a character of a script without spaces, and every other character but
// spaces, one. It is like the tokenizers of models in size only.
func CountTokens(s string) int {
	n, letters, digits := 0, 0, 0
	flush := func() {
		n += (letters+4)/5 + (digits+2)/3
		letters, digits = 0, 0
	}
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			if letters > 0 {
				flush()
			}
			digits++
		case c < utf8.RuneSelf && unicode.IsLetter(c) || c >= utf8.RuneSelf && c < 0x2E80 && unicode.IsLetter(c):
			if digits > 0 {
				flush()
			}
			letters++
		default:
			flush()
			if !unicode.IsSpace(c) {
				n++
			}
		}
	}
	flush()
	return n
}

// Tokens that are not text.
const (
	perMessage  = 4    // role and frame
	perBlock    = 3    // the frame of a block
	perImage    = 1500 // an image or another binary source, whatever its size
	memoryTool  = 700  // the instructions that the API adds for the memory tool
	perToolUsed = 20   // the frame of a declared tool
)

// countMessages returns the tokens of messages, as the model sees them.
func countMessages(messages []message) int {
	n := 0
	for _, m := range messages {
		n += perMessage
		for _, b := range m.blocks {
			n += countBlock(b)
		}
	}
	return n
}

// countBlock returns the tokens of one content block. Signatures cost nothing.
func countBlock(b map[string]any) int {
	n := perBlock
	for name, v := range b {
		switch name {
		case "text", "thinking", "content", "name", "title", "context":
			n += countValue(v)
		case "input":
			n += CountTokens(string(encode(v)))
		case "source":
			n += perImage
		}
	}
	return n
}

func countValue(v any) int {
	switch v := v.(type) {
	case string:
		return CountTokens(v)
	case map[string]any:
		return countBlock(v)
	case []any:
		n := 0
		for _, inner := range v {
			n += countValue(inner)
		}
		return n
	}
	return 0
}

// countFrame returns the tokens of the tools and the system prompt.
func (r *request) countFrame() int {
	n := countValue(r.fields["system"])
	for _, t := range visibleTools(r.fields["tools"]) {
		n += perToolUsed
		if tool := t.(map[string]any); tool["type"] == "memory_20250818" {
			n += memoryTool
		} else {
			n += CountTokens(string(encode(stripped(tool))))
		}
	}
	return n
}
