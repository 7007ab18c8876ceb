package gateway

import (
	"memento"
)

// An answer is what one round of the upstream said.
type answer struct {
	blocks []block
	stop   string // stop_reason
	usage  []byte // as it is at the end of the round
	// managed is context_management, nil if there is none.
	managed []byte
}

// A block is a content block of an answer.
type block struct {
	raw        []byte
	kind, name string
	id         string // of a tool_use
}

func newBlock(raw []byte) (block, error) {
	o, err := parseObject(raw)
	if err != nil {
		return block{}, err
	}
	b := block{raw: raw, kind: o.str("type"), name: o.str("name"), id: o.str("id")}
	return b, nil
}

// isMemory reports whether the block is a call of the memory tool.
func (b block) isMemory() bool { return b.kind == "tool_use" && b.name == memento.ToolName }

// hides reports whether the application does not see a block: a call that is the gateway's.
func (c *conversation) hides(b block) bool { return c.tool != nil && b.isMemory() }

// parseAnswer reads a message that is not streamed.
func parseAnswer(o object) (answer, error) {
	list, err := elements(o.get("content"))
	if err != nil {
		return answer{}, err
	}
	a := answer{stop: o.str("stop_reason"), usage: o.get("usage"), managed: o.get("context_management")}
	for _, raw := range list {
		b, err := newBlock(raw)
		if err != nil {
			return answer{}, err
		}
		a.blocks = append(a.blocks, b)
	}
	return a, nil
}

// cleared returns how many tokens the upstream's own context edits have removed from the
// prompt.
func (a answer) cleared() (tokens int64) {
	managed, err := parseObject(a.managed)
	if err != nil {
		return 0
	}
	edits, err := elements(managed.get("applied_edits"))
	if err != nil {
		return 0
	}
	for _, raw := range edits {
		if e, err := parseObject(raw); err == nil {
			tokens += number(e.get("cleared_input_tokens"))
		}
	}
	return tokens
}

// content returns all blocks, for the upstream.
func (a answer) content() []byte {
	var all [][]byte
	for _, b := range a.blocks {
		all = append(all, b.raw)
	}
	return listOf(all)
}

// visible returns the blocks of an answer that the application sees.
func (c *conversation) visible(a answer) [][]byte {
	var all [][]byte
	for _, b := range a.blocks {
		if !c.hides(b) {
			all = append(all, b.raw)
		}
	}
	return all
}

// calls returns the memory calls that are to be executed, and whether the application
// has calls of its own to answer. The upstream's calls before a fallback belong to an
// attempt that it has given up.
func (a answer) calls() (memory [][]byte, others bool) {
	if a.stop != "tool_use" {
		return nil, false
	}
	for _, b := range a.blocks {
		switch {
		case b.kind == "fallback":
			memory, others = nil, false
		case b.isMemory():
			memory = append(memory, b.raw)
		case b.kind == "tool_use":
			others = true
		}
	}
	return memory, others
}

func message(role string, content []byte) []byte {
	text := append([]byte(`{"role":"`+role+`","content":`), content...)
	return append(text, '}')
}
