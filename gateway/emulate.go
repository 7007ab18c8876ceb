package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"memento"
	"memento/claude/contextedit"
	"memento/internal/memorytool"
	"memento/internal/strictjson"
)

// Emulation says what the gateway does for an upstream that speaks the Messages API, but
// lacks these features.
type Emulation struct {
	// Memory declares the memory tool as an ordinary tool with a JSON schema, and adds
	// the instructions for it to the system prompt.
	Memory bool
	// ContextEditing makes clear_tool_uses_20250919 and clear_thinking_20251015.
	ContextEditing bool
	// Compaction makes compact_20260112 and compaction on demand.
	Compaction bool
}

// removeBetas removes the betas of what is emulated: an upstream without these features
// refuses names that it does not know.
func (e Emulation) removeBetas(h http.Header) {
	var gone []string
	if e.Memory && e.ContextEditing {
		gone = append(gone, "context-management-2025-06-27")
	}
	if e.Compaction {
		gone = append(gone, "compact-2026-01-12", "compact-2026-09-04")
	}
	lines := h.Values("Anthropic-Beta")
	if !slices.ContainsFunc(gone, func(beta string) bool { return strings.Contains(strings.Join(lines, ","), beta) }) {
		return
	}
	var kept []string
	for _, line := range lines {
		for beta := range strings.SplitSeq(line, ",") {
			if beta = strings.TrimSpace(beta); beta != "" && !slices.Contains(gone, beta) && !slices.Contains(kept, beta) {
				kept = append(kept, beta)
			}
		}
	}
	h.Del("Anthropic-Beta")
	if len(kept) > 0 {
		h.Set("Anthropic-Beta", strings.Join(kept, ","))
	}
}

// ordinaryTool is the declaration of the memory tool for upstreams that do not know it.
var ordinaryTool = []byte(`{"name":"` + memento.ToolName + `","description":` + string(strictjson.Quote(memorytool.Description)) + `,"input_schema":` + memorytool.Schema + `}`)

// withEmulatedTool returns the body with the ordinary tool and its instructions.
func (o object) withEmulatedTool() object { return o.withTool(ordinaryTool).withProtocol() }

// withProtocol returns the body with the instructions at the end of the system prompt.
func (o object) withProtocol() object { return o.withGuidance(memorytool.Protocol) }

// withGuidance returns the body with a text at the end of the system prompt.
func (o object) withGuidance(guidance string) object {
	text := strictjson.Quote(guidance)
	block := append(append([]byte(`{"type":"text","text":`), text...), '}')
	switch system := o.get("system"); {
	case len(system) > 0 && system[0] == '[':
		return o.set("system", appended(system, block))
	case len(system) > 2 && system[0] == '"':
		joined := append([]byte(nil), system[:len(system)-1]...)
		joined = append(append(joined, `\n\n`...), text[1:]...)
		return o.set("system", joined)
	}
	return o.set("system", text)
}

// withOrdinaryTool returns the body with the application's declaration of the native tool
// replaced, for an upstream that does not know it. found is whether there is one.
func (o object) withOrdinaryTool() (edited object, found bool) {
	list, err := elements(o.get("tools"))
	if err != nil {
		return o, false
	}
	for i, raw := range list {
		t, err := parseObject(raw)
		if err != nil || t.str("type") != memento.ToolType {
			continue
		}
		ordinary, err := parseObject(ordinaryTool)
		if err != nil {
			return o, false
		}
		if control := t.get("cache_control"); control != nil {
			ordinary = ordinary.set("cache_control", control)
		}
		list[i] = ordinary.text
		found = true
	}
	if !found {
		return o, false
	}
	return o.set("tools", listOf(list)).withProtocol(), true
}

// An editing is the context management of a request that the upstream cannot do.
type editing struct {
	config     contextedit.Config
	onDemand   bool                      // the request asks for a summary alone
	asked      bool                      // the request has context_management
	iterations []contextedit.Iteration   // the summaries, and the rounds before the last of them
	applied    []contextedit.AppliedEdit // of the last round
}

// newEditing returns the context management that is emulated for a request; nil if there
// is none.
func (g *Gateway) newEditing(r *request) (*editing, error) {
	e := g.c.Emulate
	if !e.ContextEditing && !e.Compaction {
		return nil, nil
	}
	parsed, err := contextedit.ParseRequest(r.text)
	if errors.Is(err, contextedit.ErrConfig) {
		return nil, invalid(err.Error())
	}
	if err != nil {
		return nil, nil // the upstream says what is wrong
	}
	c := parsed.Config
	asked := r.get("context_management") != nil
	switch {
	case !e.Compaction && (c.Compact != nil || parsed.OnDemand):
		return nil, invalid("context_management: the upstream has no compaction, and the gateway does not emulate it: start it with --emulate compaction")
	case !e.ContextEditing && (c.ClearToolUses != nil || c.ClearThinking != nil):
		return nil, invalid("context_management: the upstream has no context editing, and the gateway does not emulate it: start it with --emulate context-editing")
	case !asked && !parsed.OnDemand && !(e.Compaction && hasCompaction(parsed.Messages)):
		return nil, nil
	}
	return &editing{config: c, onDemand: parsed.OnDemand, asked: asked}, nil
}

// hasCompaction reports whether messages may have a compaction block, which the upstream
// does not know.
func hasCompaction(messages []json.RawMessage) bool {
	for _, m := range messages {
		if bytes.Contains(m, []byte(`"compaction"`)) {
			return true
		}
	}
	return false
}

// edited returns the list of messages for the upstream.
func (c *conversation) edited(o object, messages []byte) []byte {
	list, err := elements(messages)
	if err != nil {
		return messages
	}
	raw := make([]json.RawMessage, len(list))
	for i, m := range list {
		raw[i] = m
	}
	e := c.editing
	if e.config.ClearToolUses != nil || e.config.ClearThinking != nil {
		result, err := e.config.Edit(contextedit.Prompt{Model: c.request.model, System: o.get("system"), Tools: o.get("tools"), Messages: raw}, nil)
		if err != nil {
			return messages // the upstream says what is wrong
		}
		raw, e.applied = result.Messages, result.Applied
		for _, a := range result.Applied {
			c.cleared += int64(a.ClearedInputTokens)
		}
	}
	if c.g.c.Emulate.Compaction {
		raw = contextedit.Expand(raw)
	}
	all := make([][]byte, len(raw))
	for i, m := range raw {
		all[i] = m
	}
	return listOf(all)
}

// managed is the member context_management of an answer; nil if none is
// emulated.
func (e *editing) managed() []byte {
	if e == nil || !e.asked {
		return nil
	}
	applied := e.applied
	if applied == nil {
		applied = []contextedit.AppliedEdit{}
	}
	data, err := json.Marshal(map[string]any{"applied_edits": applied})
	if err != nil {
		return nil // plain values
	}
	return data
}

// counted is the member context_management of an answer to count_tokens.
func counted(original int64) []byte {
	return append(strconv.AppendInt([]byte(`{"original_input_tokens":`), original, 10), '}')
}
