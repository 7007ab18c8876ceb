package instructions

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"memento"
)

// Markers of roles as models see them: tokens of chat templates, and elements that frame
// what the application says.
var tokens = []string{
	"<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>",
	"<|end_header_id|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>", "<|call|>", "<|endofprompt|>",
	"<|tool|>", "<|tool_call|>", "<|python_tag|>", "<|end_of_turn|>", "<|start_of_turn|>", "<|begin_of_sentence|>", "<|end_of_sentence|>", "<|turn|>", "<|prompt|>", "<|developer|>",
	"<｜user｜>", "<｜assistant｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>",
	"<<sys>>", "<</sys>>", "[inst]", "[/inst]", "[system_prompt]", "[/system_prompt]", "[available_tools]", "[tool_calls]",
	"<start_of_turn>", "<end_of_turn>", "<system-reminder>", "</system-reminder>", "<system_prompt>", "</system_prompt>", "<system-prompt>", "</system-prompt>",
	"<system>", "</system>", "<function_calls>", "</function_calls>", "<function_results>", "</function_results>", "<tool_result>", "</tool_result>", "<tool_use>", "</tool_use>",
	"<tool_call>", "</tool_call>", "<user_query>", "</user_query>", "<user_message>", "</user_message>", "</user_input>", "<developer_message>", "<system_instruction>", "<system_instructions>", "</system_instructions>",
	"### system:", "### instruction:", "### instructions:", "[system]", "[system message]", "[system override]", "(system message)", "### new instructions", "[developer mode]", "[admin]:", "[anthropic]:",
}

// maxToken is longer than every token, in bytes.
const maxToken = 40

// tokenStarts are the bytes with which a token can begin.
const tokenStarts = "<[(#"

// maxMarker bounds how far a comment or a run of base64 is read, maxAddress an address, in
// bytes.
const (
	maxMarker  = 8 << 10
	maxAddress = 2 << 10
)

// appendMarkers finds role markers, comments, links and what is encoded.
func appendMarkers(found []memento.Finding, text string) []memento.Finding {
	read := 0 // the end of the last comment, or address
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '<' && i >= read && strings.HasPrefix(rest, "<!--"):
			end := closing(rest, "-->")
			read = i + end
			if speaks(rest[4:max(4, end-3)]) {
				found = append(found, memento.Finding{Kind: comment, Start: i, End: i + end})
			}
			i += min(end, 3) // what stands in the comment is compared, too
		case strings.IndexByte(tokenStarts, c) >= 0:
			if n := tokenAt(rest); n > 0 && !mentioned(text, i, i+n) && !inCode(text, i, i+n) {
				found = append(found, memento.Finding{Kind: role, Start: i, End: i + n})
				i += n - 1
				continue
			}
			if c == '[' {
				if n := markdownComment(text, i); n > 0 {
					if speaks(rest[:n]) {
						found = append(found, memento.Finding{Kind: comment, Start: i, End: i + n})
					}
					i += n - 1
				}
			}
		case c == ']' && i >= read && strings.HasPrefix(rest, "]("):
			end := strings.IndexAny(rest[2:min(len(rest), maxAddress)], " \n)")
			if end < 0 {
				end = min(len(rest), maxAddress) - 2
			}
			read = i + 2 + end
			if carries(rest[2:2+end], isImage(text, i)) {
				found = append(found, memento.Finding{Kind: link, Start: i, End: i + 2 + end})
			}
		case c == 'h' && i >= read && (strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://")):
			end := strings.IndexAny(rest[:min(len(rest), maxAddress)], " \n)\"'`|")
			if end < 0 {
				end = min(len(rest), maxAddress)
			}
			read = i + end
			if carries(rest[:end], isSource(text, i)) {
				found = append(found, memento.Finding{Kind: link, Start: i, End: i + end})
			}
		case (i == 0 || text[i-1] == '\n') && startsRole(rest):
			found = append(found, memento.Finding{Kind: role, Start: i, End: i + strings.IndexByte(rest, ':') + 1})
		case isBase64(c) && (i == 0 || !isBase64(text[i-1])):
			n := 1
			for n < len(rest) && isBase64(rest[n]) {
				n++
			}
			if n >= minEncoded && n <= maxMarker {
				if kind := encoded(rest[:n]); kind != "" {
					found = append(found, memento.Finding{Kind: kind, Start: i, End: i + n})
				}
			}
			if n >= minEncoded {
				i += n - 1
			}
		}
	}
	return found
}

// closing returns the offset after the mark that ends what rest begins with, as far as it
// is read.
func closing(rest, mark string) int {
	rest = rest[:min(len(rest), maxMarker)]
	if i := strings.Index(rest, mark); i >= 0 {
		return i + len(mark)
	}
	return len(rest)
}

// tokenAt returns the length of the token with which rest begins, or 0.
func tokenAt(rest string) int {
	start := strings.ToLower(rest[:min(len(rest), maxToken)])
	for _, t := range tokens {
		if strings.HasPrefix(start, t) {
			return len(t)
		}
	}
	return 0
}

// inCode reports whether text[start:end] is in backticks on its line: a name, not a marker.
func inCode(text string, start, end int) bool {
	before, after := around(text, start, end)
	return strings.Count(before, "`")%2 == 1 && strings.Contains(after, "`")
}

// markdownComment returns the length of a Markdown link definition that is used as a
// comment, "[//]: # (…)", at the start of a line, or 0.
func markdownComment(text string, i int) int {
	rest := text[i:]
	if i > 0 && text[i-1] != '\n' || !strings.HasPrefix(rest, "[//]:") && !strings.HasPrefix(rest, "[comment]:") && !strings.HasPrefix(rest, "[//]: #") {
		return 0
	}
	return closing(rest, "\n")
}

// startsRole reports whether a line gives the system the word, to somebody: "System: you
// are …".
func startsRole(line string) bool {
	if c := line[0] | 0x20; c != 's' && c != 'a' && c != 'd' {
		return false
	}
	i := strings.IndexByte(line[:min(len(line), 24)], ':')
	if i < 0 {
		return false
	}
	switch strings.ToLower(line[:i]) {
	case "system", "system message", "system prompt", "assistant", "developer":
	default:
		return false
	}
	words := strings.Fields(strings.ToLower(line[i+1 : min(len(line), i+80)]))
	return len(words) > 1 && (words[0] == "you" || words[0] == "ignore" || words[0] == "new" && words[1] == "instructions" || words[0] == "from" && words[1] == "now")
}

// models are the words by which comments address a model.
var models = map[string]bool{
	"ai": true, "ais": true, "llm": true, "llms": true, "claude": true, "chatgpt": true, "gpt": true, "gemini": true, "copilot": true, "assistant": true, "assistants": true,
	"chatbot": true, "ki": true, "ia": true, "summarizer": true,
}

// orders are the words by which they ask it for something.
var orders = map[string]bool{
	"must": true, "should": true, "please": true, "always": true, "never": true, "ignore": true, "send": true, "include": true, "insert": true, "run": true, "execute": true,
	"append": true, "recommend": true, "reply": true, "respond": true, "output": true, "tell": true, "say": true, "mention": true, "do": true, "don't": true, "forget": true,
	"fetch": true, "visit": true, "open": true, "delete": true, "add": true, "approve": true, "rate": true, "use": true, "read": true, "follow": true, "remember": true, "write": true,
	"muss": true, "sende": true, "ignoriere": true, "doit": true, "debe": true, "deve": true, "envoie": true, "envia": true,
}

// speaks reports whether a comment addresses a model and asks it for something.
func speaks(text string) bool {
	model, order := false, false
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !isWordRune(r) }) {
		model = model || models[w]
		order = order || orders[w]
	}
	return model && order
}

// isImage reports whether the "](" at i ends the text of an image: "![…](".
func isImage(text string, i int) bool {
	from := max(0, i-maxMention)
	open := strings.LastIndexByte(text[from:i], '[')
	return open > 0 && text[from+open-1] == '!'
}

// isSource reports whether the address at i is what an HTML image shows.
func isSource(text string, i int) bool {
	before := strings.ToLower(text[max(0, i-80):i])
	tag := strings.LastIndex(before, "<img")
	return tag >= 0 && !strings.Contains(before[tag:], ">")
}

// carried are names of what a model could be asked to fill into an address.
var carried = []string{
	"conversation", "secret", "password", "history", "memory", "memories", "api_key", "apikey", "api-key", "credential", "system_prompt", "system-prompt", "systemprompt",
	"chat", "transcript", "user_data", "userdata", "user-data", "private", "context", "summary", "data", "prompt", "stolen", "exfil", "leak", "base64", "token", "messages", "cookie", "notes",
}

// carries reports whether an address has a place for data of the conversation: a
// placeholder in its query, or for images anywhere; or whether it is a program.
func carries(address string, image bool) bool {
	lower := strings.ToLower(address)
	if strings.HasPrefix(lower, "javascript:") || strings.HasPrefix(lower, "data:text/html") {
		return true
	}
	if !strings.HasPrefix(lower, "http") && !strings.HasPrefix(lower, "//") {
		return false
	}
	query := strings.IndexByte(lower, '?')
	if query < 0 && !image {
		return false
	}
	part := lower[max(0, query):]
	for i := 0; i < len(part); i++ {
		end := 0
		switch part[i] {
		case '{', '<', '[':
			end = strings.IndexAny(part[i:], "}>]")
		case '$', '%':
			if strings.HasPrefix(part[i:], "%7b") || strings.HasPrefix(part[i:], "%3c") || strings.HasPrefix(part[i:], "%5b") {
				end = min(len(part)-i, 40)
			}
		}
		if end <= 0 {
			continue
		}
		inside := part[i : i+end]
		for _, name := range carried {
			if strings.Contains(inside, name) {
				return true
			}
		}
	}
	// Names in capitals stand for what is to be filled in, too.
	if _, params, ok := strings.Cut(address, "?"); ok { // lower may have another length
		for _, name := range []string{"CONVERSATION", "SECRET", "PASSWORD", "HISTORY", "API_KEY", "SYSTEM_PROMPT", "MEMORY", "DATA_HERE", "INSERT_", "SUMMARY", "EXFIL"} {
			if strings.Contains(params, "="+name) {
				return true
			}
		}
	}
	return false
}

// minEncoded is the shortest base64 that is decoded, in bytes.
const minEncoded = 32

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// encoded returns the kind of the first phrase in the base64 of a text, or "".
func encoded(run string) string {
	run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
	data, err := base64.RawStdEncoding.DecodeString(run[:len(run)/4*4])
	if err != nil || !utf8.Valid(data) {
		return ""
	}
	for _, f := range appendPhrases(nil, string(data)) {
		return f.Kind
	}
	return ""
}
