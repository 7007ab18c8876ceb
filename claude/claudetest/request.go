package claudetest

import (
	"net/http"
	"slices"
	"strings"
)

// A request is a checked request of the Messages API.
type request struct {
	fields   map[string]any
	model    string
	version  string   // the header anthropic-version
	betas    []string // the header anthropic-beta
	stream   bool
	messages []message
}

// A message is one message, its content as blocks.
type message struct {
	role   string
	blocks []map[string]any
}

// options are fields that both endpoints know.
var options = shape{
	"model":              must(isString),
	"messages":           must(anything), // see parseMessages
	"system":             optional(systemPrompt),
	"tools":              optional(tools),
	"tool_choice":        orNull(toolChoice),
	"thinking":           orNull(thinking),
	"cache_control":      cacheControl,
	"context_management": orNull(anything), // see checkEdits
	"compaction":         orNull(anything), // see checkEdits
	"output_config":      orNull(isObject),
	"output_format":      orNull(isObject),
	"mcp_servers":        orNull(listOf(isObject)),
	"speed":              orNull(isString),
	"billing_policy":     orNull(isObject),
	"diagnostics":        orNull(isObject),
}

// parameters are the fields of POST /v1/messages.
var parameters = options.with(shape{
	"max_tokens":            must(isInt(1)),
	"metadata":              orNull(shape{"user_id": orNull(isString)}.check),
	"stop_sequences":        orNull(listOf(isString)),
	"stream":                orNull(isBool),
	"temperature":           orNull(isShare),
	"top_p":                 orNull(isShare),
	"top_k":                 orNull(isInt(0)),
	"service_tier":          orNull(oneOf("auto", "standard_only")),
	"container":             orNull(anything),
	"inference_geo":         orNull(isString),
	"fallbacks":             orNull(anything),
	"fallback_credit_token": orNull(anything),
	"thread":                orNull(thread),
})

var thread = union(map[string]rule{
	"create":   shape{"type": must(anything)}.check,
	"continue": shape{"type": must(anything), "previous_message_id": must(isString)}.check,
})

var (
	display      = orNull(oneOf("summarized", "omitted"))
	blockBinding = orNull(shape{"prefix_mismatch_behavior": optional(oneOf("error", "drop_block"))}.check)

	thinking = union(map[string]rule{
		"enabled":  shape{"type": must(anything), "budget_tokens": must(isInt(1024)), "display": display, "block_binding": blockBinding}.check,
		"adaptive": shape{"type": must(anything), "display": display, "block_binding": blockBinding}.check,
		"disabled": shape{"type": must(anything), "block_binding": blockBinding}.check,
	})

	parallel   = orNull(isBool)
	toolChoice = union(map[string]rule{
		"auto": shape{"type": must(anything), "disable_parallel_tool_use": parallel}.check,
		"any":  shape{"type": must(anything), "disable_parallel_tool_use": parallel}.check,
		"tool": shape{"type": must(anything), "name": must(isString), "disable_parallel_tool_use": parallel}.check,
		"none": shape{"type": must(anything)}.check,
	})
)

// systemPrompt is a text, or text blocks.
func systemPrompt(at string, v any) *Error {
	if _, ok := v.(string); ok {
		return nil
	}
	if err := listOf(textBlock.check)(at, v); err != nil {
		return err
	}
	for i, b := range v.([]any) {
		if b.(map[string]any)["text"] == "" {
			return invalid("%s: text content blocks must be non-empty", index(at, i))
		}
	}
	return nil
}

// Check applies the rules of the API to the body of a POST /v1/messages, and
// returns the [*Error] that the API answers a violation with. The zero Options and
// no header mean a request with all betas.
func Check(body []byte, opts *Options) error {
	header := http.Header{"Anthropic-Version": {versions[0]}, "Anthropic-Beta": slices.Clone(needed)}
	_, err := parse(body, header, opts.withDefaults(), parameters)
	if err != nil {
		return err
	}
	return nil
}

// parse checks a request and everything in it that does not need to count tokens.
func parse(body []byte, header http.Header, o Options, known shape) (*request, *Error) {
	version, betas, err := checkHeaders(header)
	if err != nil {
		return nil, err
	}
	fields, err := decode(body)
	if err != nil {
		return nil, err
	}
	if err := known.check("", fields); err != nil {
		return nil, err
	}
	if version == versions[1] {
		for _, name := range []string{"temperature", "top_k", "top_p"} {
			if _, ok := fields[name]; ok {
				return nil, invalid("%s: Extra inputs are not permitted", name)
			}
		}
	}
	r := &request{fields: fields, model: text(fields, "model"), version: version, betas: betas}
	r.stream, _ = fields["stream"].(bool)
	if !slices.Contains(o.Models, r.model) && (len(o.Models) > 0 || !strings.HasPrefix(r.model, "claude-")) {
		return nil, notFound("model: %s", r.model)
	}
	if r.messages, err = parseMessages(fields["messages"]); err != nil {
		return nil, err
	}
	for _, check := range []func(Options) *Error{r.checkBetas, r.checkTools, r.checkThinking, r.checkEdits, r.checkCacheControl} {
		if err := check(o); err != nil {
			return nil, err
		}
	}
	if r.threadType() != "continue" {
		if err := r.checkConversation(o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// threadType returns the kind of the member thread, or "".
func (r *request) threadType() string {
	t, _ := r.fields["thread"].(map[string]any)
	return text(t, "type")
}

// parseMessages checks each message by itself.
func parseMessages(v any) ([]message, *Error) {
	list, ok := v.([]any)
	if !ok {
		return nil, invalid("messages: Input should be a valid list")
	}
	if len(list) == 0 {
		return nil, invalid("messages: at least one message is required")
	}
	messages := make([]message, len(list))
	for i, item := range list {
		at := index("messages", i)
		if err := (shape{"role": must(oneOf(roleUser, roleAssistant)), "content": must(anything)}).check(at, item); err != nil {
			return nil, err
		}
		object := item.(map[string]any)
		m := message{role: text(object, "role")}
		blocks, isList := object["content"].([]any)
		if s, ok := object["content"].(string); ok {
			if s != "" {
				m.blocks = []map[string]any{{"type": "text", "text": s}}
			}
		} else if !isList {
			return nil, invalid("%s.content: Input should be a valid string or list", at)
		}
		for j, b := range blocks {
			if err := checkBlock(index(at+".content", j), m.role, b); err != nil {
				return nil, err
			}
			m.blocks = append(m.blocks, b.(map[string]any))
		}
		messages[i] = m
	}
	return messages, nil
}

// messageLimit is the largest body of a request, in bytes.
const messageLimit = 32 << 20
