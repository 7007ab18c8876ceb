package claudetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"memento/internal/models"
)

// thinks reports whether the request has thinking switched on.
func (r *request) thinks() bool {
	t, _ := r.fields["thinking"].(map[string]any)
	kind := text(t, "type")
	return kind == "enabled" || kind == "adaptive"
}

// checkThinking checks the member "thinking" against the others.
func (r *request) checkThinking(Options) *Error {
	t, _ := r.fields["thinking"].(map[string]any)
	switch text(t, "type") {
	case "enabled":
		if !models.SupportOf(r.model).ThinkingBudget {
			return invalid("thinking.type: \"enabled\" is not supported for this model. Use \"adaptive\" and output_config.effort to control thinking behavior.")
		}
		budget, _ := number(t["budget_tokens"])
		if limit, ok := number(r.fields["max_tokens"]); ok && budget >= limit {
			return invalid("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at docs.claude.com for more information.")
		}
	case "disabled":
		if models.SupportOf(r.model).BindsThinking {
			return invalid("thinking.type: \"disabled\" is not supported for this model")
		}
	}
	return nil
}

// checkLeadingThinking checks that, with a thinking budget, the turn of the assistant
// that is going on begins with thinking: what the API calls the final assistant
// message, before the last calls and results.
func (r *request) checkLeadingThinking() *Error {
	t, _ := r.fields["thinking"].(map[string]any)
	if text(t, "type") != "enabled" {
		return nil
	}
	i := len(r.messages) - 1
	for ; i >= 0; i-- {
		if r.messages[i].role == roleUser && len(results(r.messages[i])) == 0 {
			return nil // a new turn: nothing has to be thought yet
		}
		if r.messages[i].role == roleAssistant {
			break
		}
	}
	if i < 0 || len(r.messages[i].blocks) == 0 {
		return nil
	}
	// The turn began where the assistant first spoke after the user did.
	for i >= 2 && len(results(r.messages[i-1])) > 0 {
		i -= 2
	}
	switch kind := r.messages[i].blocks[0]["type"]; kind {
	case "thinking", "redacted_thinking", "compaction":
		return nil
	default:
		return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).", i, kind)
	}
}

// A signature seals a thinking block: its text, the thinking before it, and the
// conversation before it. It is opaque to clients.
//
//	prefix (16 bytes) | previous (8 bytes) | MAC of both and of the text (16 bytes)
type signature struct {
	prefix   [16]byte // the hash of tools, system prompt and messages before
	previous [8]byte  // the beginning of the MAC of the thinking before; zero for the first
	mac      [16]byte
}

// signatureKey is not a secret: it lets signatures outlive a process.
var signatureKey = []byte("claudetest: thinking")

func sign(prefix [16]byte, previous [8]byte, thought string) signature {
	h := hmac.New(sha256.New, signatureKey)
	h.Write(prefix[:])
	h.Write(previous[:])
	h.Write([]byte(thought))
	s := signature{prefix: prefix, previous: previous}
	copy(s.mac[:], h.Sum(nil))
	return s
}

func (s signature) id() (id [8]byte) {
	copy(id[:], s.mac[:])
	return id
}

func (s signature) String() string {
	return base64.StdEncoding.EncodeToString(slices.Concat(s.prefix[:], s.previous[:], s.mac[:]))
}

// parseSignature returns the signature of thought, if it is one.
func parseSignature(encoded, thought string) (s signature, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 40 {
		return s, false
	}
	copy(s.prefix[:], raw)
	copy(s.previous[:], raw[16:])
	copy(s.mac[:], raw[24:])
	want := sign(s.prefix, s.previous, thought)
	return s, hmac.Equal(want.mac[:], s.mac[:])
}

// thoughtOf returns the signature and the sealed text of a thinking block.
func thoughtOf(b map[string]any) (encoded, thought string, ok bool) {
	switch b["type"] {
	case "thinking":
		return text(b, "signature"), text(b, "thinking"), true
	case "redacted_thinking":
		encoded, _, _ := strings.Cut(text(b, "data"), ".")
		return encoded, "", true
	}
	return "", "", false
}

// checkSignatures checks the seal of each thinking block, and, on models that bind
// thinking to its conversation, that nothing before it was changed.
func (r *request) checkSignatures(o Options) *Error {
	binds := o.BindThinking || models.SupportOf(r.model).BindsThinking
	drop := r.dropsMismatches()
	prefixes := r.newPrefixes()
	var last *signature
	for i, m := range r.messages {
		for j, b := range m.blocks {
			encoded, thought, ok := thoughtOf(b)
			if !ok {
				continue
			}
			s, ok := parseSignature(encoded, thought)
			if !ok {
				return invalid("messages.%d.content.%d: Invalid `signature` in `%s` block.", i, j, b["type"])
			}
			// Thinking must be left out from one end, not from the middle.
			gap := last != nil && s.previous != last.id()
			if binds && !drop && (gap || s.prefix != prefixes.before(i)) {
				return invalid("messages.%d.content.%d: Invalid `signature` in `%s` block. The conversation before it is not the one that it was made for. To drop such blocks, set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", i, j, b["type"])
			}
			last = &s
		}
	}
	return nil
}

// dropsMismatches reports whether thinking that is bound to another conversation is
// to be dropped rather than refused.
func (r *request) dropsMismatches() bool {
	t, _ := r.fields["thinking"].(map[string]any)
	b, _ := t["block_binding"].(map[string]any)
	return text(b, "prefix_mismatch_behavior") == "drop_block"
}

// lastSignature returns the signature of the last thinking in the messages.
func (r *request) lastSignature() (previous [8]byte) {
	for _, m := range r.messages {
		for _, b := range m.blocks {
			if encoded, thought, ok := thoughtOf(b); ok {
				if s, ok := parseSignature(encoded, thought); ok {
					previous = s.id()
				}
			}
		}
	}
	return previous
}

// NewThinking returns a thinking block as the model would begin its answer to a POST
// /v1/messages with: valid after the prompt of body, and after no other on models
// that bind thinking. Errors: [*Error] if the request is not valid.
func NewThinking(body []byte, thought string, o *Options) (json.RawMessage, error) {
	header := http.Header{"Anthropic-Version": {versions[0]}, "Anthropic-Beta": needed}
	r, err := parse(body, header, o.withDefaults(), parameters)
	if err != nil {
		return nil, err
	}
	return encode(r.newThought(thought)), nil
}
