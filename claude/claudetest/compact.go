package claudetest

import "fmt"

// defaultCompactTrigger is the trigger of compact_20260112, in tokens.
const defaultCompactTrigger = 150_000

// compact applies compact_20260112, if the prompt is beyond its trigger.
func (s *Server) compact(r *request, m managed) (managed, *Error) {
	for _, e := range r.editList() {
		if e["type"] != editCompact {
			continue
		}
		trigger := int64(defaultCompactTrigger)
		if t, ok := e["trigger"].(map[string]any); ok {
			trigger, _ = number(t["value"])
		}
		if int64(m.tokens) < trigger {
			return m, nil
		}
		block, err := s.summarize(r, m)
		if err != nil {
			return m, err
		}
		m.compaction = block
		m.paused = e["pause_after_compaction"] == true
		if m.original == 0 {
			m.original = m.tokens
		}
		m.visible = append([]message{{role: roleAssistant, blocks: []map[string]any{block}}}, lastWords(m.visible)...)
		m.tokens = r.countFrame() + countMessages(m.visible)
	}
	return m, nil
}

// lastWords returns the last message if the user spoke in it: the model answers it
// after a compaction. Tool results have lost their calls, and are in the summary.
func lastWords(visible []message) []message {
	last := visible[len(visible)-1]
	if last.role != roleUser || len(results(last)) > 0 {
		return nil
	}
	return []message{last}
}

// compactOnDemand answers "compaction":{"type":"summarize"}.
func (s *Server) compactOnDemand(r *request) (*answer, managed, *Error) {
	m, err := r.manage()
	if err != nil {
		return nil, m, err
	}
	if m.tokens > s.opts.ContextWindow {
		return nil, m, invalid("prompt is too long: %d tokens > %d maximum", m.tokens, s.opts.ContextWindow)
	}
	block, err := s.summarize(r, m)
	if err != nil {
		return nil, m, err
	}
	m.compaction, m.paused = block, true
	delete(block, "encrypted_content")
	block["signature"] = sign([16]byte{}, [8]byte{}, text(block, "content")).String()
	return &answer{blocks: []map[string]any{block}, stopReason: "compaction"}, m, nil
}

// summarize makes a compaction block of what the model sees.
func (s *Server) summarize(r *request, m managed) (map[string]any, *Error) {
	p, err := s.scenario.locate(m.visible)
	if err != nil {
		return nil, err
	}
	summary := "The conversation so far was summarized."
	if p.conversation.Summary != "" {
		blocks, rendered := render(r, p, Turn{Say: p.conversation.Summary}, m.visible)
		if rendered != nil {
			return nil, s.scenario.scriptError("the summary of %s: %v", p.conversation.ID, rendered)
		}
		summary = text(blocks[0], "text")
	}
	content := fmt.Sprintf("%s\n%s", summary, p.mark())
	return map[string]any{
		"type": "compaction", "content": content,
		"encrypted_content": sign([16]byte{}, [8]byte{}, content).String(),
	}, nil
}
