package contextedit

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Request is the body of a POST /v1/messages, parsed once: its members as they are.
type Request struct {
	Prompt
	Config Config // of the member context_management
	// OnDemand reports whether the body asks for a summary alone, with the member
	// compaction.
	OnDemand bool

	members map[string]json.RawMessage
}

// ParseRequest parses a body. Errors: [ErrMessages] and [ErrConfig].
func ParseRequest(body []byte) (*Request, error) {
	r := &Request{}
	if err := json.Unmarshal(body, &r.members); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessages, err)
	}
	if r.members == nil {
		return nil, fmt.Errorf("%w: the body is no object", ErrMessages)
	}
	for name, to := range map[string]any{"model": &r.Model, "messages": &r.Messages} {
		if raw := r.members[name]; isSet(raw) {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrMessages, name, err)
			}
		}
	}
	r.System, r.Tools = r.members["system"], r.members["tools"]
	var err error
	if r.Config, err = ParseConfig(r.members["context_management"]); err != nil {
		return nil, err
	}
	return r, r.parseOnDemand()
}

// parseOnDemand reads the member compaction.
func (r *Request) parseOnDemand() error {
	raw := r.members["compaction"]
	if !isSet(raw) {
		return nil
	}
	var wire struct {
		Type string `json:"type"`
	}
	switch err := strict(raw, &wire); {
	case err != nil:
		return fmt.Errorf("%w: compaction: %w", ErrConfig, err)
	case wire.Type != "summarize":
		return fmt.Errorf("%w: compaction.type must be %q", ErrConfig, "summarize")
	case isSet(r.members["context_management"]):
		return fmt.Errorf("%w: %w", ErrConfig, errors.New("compaction cannot be combined with context_management"))
	}
	r.OnDemand = true
	return nil
}

// Body returns the body with other messages and without the members that ask the
// upstream for context management. The members that stay are kept, byte for byte.
func (r *Request) Body(messages []json.RawMessage) []byte {
	members := map[string]json.RawMessage{}
	for name, raw := range r.members {
		if name != "context_management" && name != "compaction" {
			members[name] = raw
		}
	}
	members["messages"] = encodeList(messages)
	return encodeObject(members)
}

// countMembers are the members of POST /v1/messages/count_tokens.
var countMembers = []string{"model", "system", "tools", "tool_choice", "thinking", "mcp_servers", "cache_control", "output_config", "output_format"}

// CountBody returns the body that asks count_tokens for the size of the prompt with
// messages. Its answer, divided by an estimate of the same messages, is a Scale.
func (r *Request) CountBody(messages []json.RawMessage) []byte {
	members := map[string]json.RawMessage{"messages": encodeList(messages)}
	for _, name := range countMembers {
		if raw, ok := r.members[name]; ok {
			members[name] = raw
		}
	}
	return encodeObject(members)
}
