package contextedit

import (
	"bytes"
	"encoding/json"
	"unicode"
	"unicode/utf8"
)

// Estimate returns how many tokens a part of a prompt has, roughly: a content block, a
// system prompt or a list of tools, as JSON. It is a rule of thumb over the words,
// digits and signs of all strings in it, and no tokenizer: see docs/context-editing.md
// for how far it is off. Images and other binary data count 1,500 tokens each.
func Estimate(part json.RawMessage) int {
	d := json.NewDecoder(bytes.NewReader(part))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return EstimateText(string(part))
	}
	return estimateValue(v)
}

// Tokens of what has no text.
const (
	tokensPerMessage = 4    // the frame of a message
	tokensPerValue   = 1    // a member or an element
	tokensPerBinary  = 1500 // an image or a document
	tokensMemoryTool = 700  // the instructions that the API adds for the memory tool
)

func estimateValue(v any) int {
	switch v := v.(type) {
	case string:
		return EstimateText(v)
	case json.Number:
		return EstimateText(v.String())
	case []any:
		n := 0
		for _, inner := range v {
			n += tokensPerValue + estimateValue(inner)
		}
		return n
	case map[string]any:
		n := 0
		for name, inner := range v {
			switch name {
			case "signature", "encrypted_content", "cache_control":
				// They are not in the model's context.
			case "data":
				n += tokensPerBinary
			case "type":
				if inner == memoryToolType {
					n += tokensMemoryTool
				}
				n += tokensPerValue
			default:
				n += tokensPerValue + estimateValue(inner)
			}
		}
		return n
	}
	return tokensPerValue
}

// memoryToolType is the type of the memory tool.
const memoryToolType = "memory_20250818"

// Eighths of a token. They fit the counts of Anthropic's published tokenizer for prose,
// source code, YAML and JSON.
const (
	eighthsPerWord    = 8 // a word of up to eight letters
	eighthsPerLetters = 8 // each further four letters
	eighthsPerDigit   = 7
	eighthsPerSign    = 7
	eighthsPerLine    = 4
	eighthsPerLatin   = 12 // a letter with a diacritic, in addition
	eighthsPerOther   = 5  // a letter of another alphabet
	eighthsPerCJK     = 10
)

// EstimateText is [Estimate] for a text.
func EstimateText(s string) int {
	eighths, letters, upper := 0, 0, false
	word := func() {
		if letters > 0 {
			eighths += eighthsPerWord
			if letters > 8 {
				eighths += (letters - 8 + 3) / 4 * eighthsPerLetters
			}
			letters = 0
		}
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z':
			letters++
			upper = false
			continue
		case c >= 'A' && c <= 'Z':
			if !upper {
				word() // camelCase has two words
			}
			letters++
			upper = true
			continue
		case c < utf8.RuneSelf:
			word()
			switch {
			case c >= '0' && c <= '9':
				eighths += eighthsPerDigit
			case c == '\n':
				eighths += eighthsPerLine
			case c > ' ':
				eighths += eighthsPerSign
			}
		case c < 0x300 && unicode.IsLetter(c):
			letters++
			eighths += eighthsPerLatin
		case c < 0x2E80 && unicode.IsLetter(c):
			eighths += eighthsPerOther
		default:
			word()
			eighths += eighthsPerCJK
		}
	}
	word()
	return (eighths + 7) / 8
}
