package contextedit

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"memento/internal/models"
	"memento/internal/strictjson"
)

// Texts that are put into messages. They never change within a conversation.
const (
	// Placeholder is the content of a cleared tool result.
	Placeholder = "[Cleared by context management]"
	// Warning is the text block at the end of a user message before a clearing.
	Warning = "<system_warning>Context is nearly full: older tool results will be cleared soon. Save to your memory directory what you still need from them.</system_warning>"
)

// Shares of the trigger, in percent.
const (
	warnAt = 85  // from here on the model is warned
	grace  = 125 // up to here a clearing waits one request for the warning to be read
)

// Options are the options of [Config.Edit]; nil means all defaults.
type Options struct {
	// Estimate returns the tokens of a content block, a system prompt or a list
	// of tools; nil means [Estimate].
	Estimate func(part json.RawMessage) int
	// Scale multiplies all estimates; 0 means 1. It is the measured size of an
	// earlier prompt of the conversation, from count_tokens or from the usage of
	// its answer, divided by the size that Edit returned for it.
	Scale float64
	// State is the [Result.State] of the last edit of this conversation. The zero
	// State decides everything again, with the same outcome if Scale is the same.
	State State
	// Window is the most tokens of a prompt; a clearing does not wait for a
	// warning beyond it. 0 means that it is not known.
	Window int
	// NoWarning leaves out the warning before a clearing. It is only made if the
	// memory tool is among the tools.
	NoWarning bool
	// ServerSide is for an upstream, which edits after its check of thinking
	// blocks: those that a clearing would invalidate are kept.
	ServerSide bool
}

// State is what was decided about a conversation, by the messages as they are in its
// history. It can be stored as JSON beside it.
type State struct {
	Messages int   `json:"messages"`           // how many messages were decided about
	ToolUses int   `json:"tool_uses"`          // the first so many tool uses are cleared, without excluded ones
	Thinking int   `json:"thinking"`           // thinking in the first so many messages is removed
	Warnings []int `json:"warnings,omitempty"` // messages that end with the warning
	Warned   bool  `json:"warned,omitempty"`   // there was one since the last clearing
}

// A Result is an edited prompt.
type Result struct {
	// Messages are to be sent. Those that were not edited are the given ones.
	Messages []json.RawMessage
	// Applied is what is different from the history, in the shape of
	// context_management.applied_edits.
	Applied []AppliedEdit
	// InputTokens is the size of the prompt with Messages, OriginalTokens that of
	// the given one, both estimated.
	InputTokens, OriginalTokens int
	// Warned reports whether the last message ends with the warning.
	Warned bool
	State  State
}

// An AppliedEdit is an element of applied_edits.
type AppliedEdit struct {
	Type                 string `json:"type"`
	ClearedToolUses      int    `json:"cleared_tool_uses,omitempty"`
	ClearedThinkingTurns int    `json:"cleared_thinking_turns,omitempty"`
	ClearedInputTokens   int    `json:"cleared_input_tokens"`
}

// Edit returns the messages of p with the edits of c made. It does not change p.
// Time and memory are in proportion to the size of p. Errors: [ErrMessages], [ErrConfig]
// for a negative number.
func (c Config) Edit(p Prompt, o *Options) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	e := editor{config: c}
	if o != nil {
		e.Options = *o
	}
	if e.Estimate == nil {
		e.Estimate = Estimate
	}
	if e.Scale <= 0 || math.IsInf(e.Scale, 0) || math.IsNaN(e.Scale) {
		e.Scale = 1
	}
	if err := e.prepare(p); err != nil {
		return Result{}, err
	}
	for b := e.start + 1; b <= len(e.messages); b++ {
		e.add(b - 1)
		// A request ended before each answer, and ends here.
		if b > e.given && (b == len(e.messages) || e.messages[b].role == "assistant") {
			e.decide(b)
		}
	}
	return e.result(), nil
}

// A use is a tool use whose result is in the history and may be cleared.
type use struct {
	message, block             int             // of the tool_use
	resultMessage, resultBlock int             // of the tool_result
	result, input              json.RawMessage // the cleared blocks; input is nil if it is kept
	freed                      int             // tokens that clearing saves; negative for a short result
	cleared                    bool            // in the given history already
}

// An editor goes through a history as it grew.
type editor struct {
	Options
	config Config

	messages []message
	start    int   // the first message that counts: that of the last compaction block
	uses     []use // in order, without excluded tools
	freed    []int // freed[k] is what clearing the first k uses saves
	turns    []int // for each message, which turn it is in

	keepTurns int // -1 keeps all
	warns     bool
	binds     bool
	warning   int // the tokens of the warning

	// The state at the boundary that is looked at.
	state    State
	given    int // State.Messages of the caller
	total    int // tokens
	original int
	answered int   // how many of uses have their result in the messages so far
	thoughts []int // where the thinking of each turn begins, in the messages so far
}

func (e *editor) prepare(p Prompt) error {
	var err error
	if e.messages, err = parseMessages(p.Messages, e.Estimate); err != nil {
		return err
	}
	e.state = e.State
	e.state.Warnings = slices.Sorted(slices.Values(e.State.Warnings))
	if e.state.Messages > len(e.messages) {
		e.state = State{} // another history
	}
	e.given = e.state.Messages
	e.findStart()
	e.findTurns()
	if e.config.ClearToolUses != nil {
		e.findUses(*e.config.ClearToolUses)
	}
	e.state.ToolUses = min(max(0, e.state.ToolUses), len(e.uses))
	support := models.SupportOf(p.Model)
	e.binds = support.BindsThinking && !e.ServerSide
	e.keepTurns = -1
	if t := e.config.ClearThinking; t != nil && !t.KeepAll {
		switch e.keepTurns = t.KeepTurns; {
		case t.KeepTurns == 0 && support.KeepsThinking:
			e.keepTurns = -1
		case t.KeepTurns == 0:
			e.keepTurns = 1
		}
	}
	e.warns = !e.NoWarning && e.config.ClearToolUses != nil && hasMemoryTool(p.Tools)
	if e.warns {
		e.warning = e.Estimate(textBlock(strictjson.Quote(Warning)))
	}
	for _, part := range []json.RawMessage{p.System, p.Tools} {
		if len(part) > 0 {
			e.total += e.Estimate(part)
		}
	}
	e.original = e.total
	return nil
}

// hasMemoryTool reports whether the memory tool is declared, as Anthropic's or by name.
func hasMemoryTool(tools json.RawMessage) bool {
	var list []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(tools, &list) != nil {
		return false
	}
	for _, t := range list {
		if t.Type == memoryToolType || t.Name == "memory" {
			return true
		}
	}
	return false
}

// findStart finds the last compaction block: what is before it is not read.
func (e *editor) findStart() {
	for i := len(e.messages) - 1; i >= 0; i-- {
		for _, b := range e.messages[i].blocks {
			if b.kind == "compaction" {
				e.start = i
				return
			}
		}
	}
}

// findTurns numbers the turns: one begins wherever the user says something.
func (e *editor) findTurns() {
	e.turns = make([]int, len(e.messages))
	turn := 0
	for i, m := range e.messages {
		if m.words {
			turn++
		}
		e.turns[i] = turn
	}
}

// findUses lists the tool uses with results, and what clearing each would save.
func (e *editor) findUses(c ClearToolUses) {
	type call struct{ message, block int }
	calls := map[string]call{}
	placeholder := strictjson.Quote(Placeholder)
	for i := e.start; i < len(e.messages); i++ {
		for j, b := range e.messages[i].blocks {
			if b.kind == "tool_use" {
				calls[b.id] = call{i, j}
			}
			at, ok := calls[b.useID]
			if b.kind != "tool_result" || !ok {
				continue
			}
			tool := e.messages[at.message].blocks[at.block]
			if slices.Contains(c.ExcludeTools, tool.name) {
				continue
			}
			u := use{message: at.message, block: at.block, resultMessage: i, resultBlock: j}
			if u.cleared = isPlaceholder(b.raw); !u.cleared {
				u.result = b.with("content", placeholder)
				u.freed = b.tokens - e.Estimate(u.result)
				if c.ClearInputs || slices.Contains(c.ClearInputsOf, tool.name) {
					u.input = tool.with("input", json.RawMessage("{}"))
					u.freed += tool.tokens - e.Estimate(u.input)
				}
			}
			e.uses = append(e.uses, u)
		}
	}
	e.freed = make([]int, len(e.uses)+1)
	for k, u := range e.uses {
		e.freed[k+1] = e.freed[k] + u.freed
	}
}

// isPlaceholder reports whether a tool_result is cleared already.
func isPlaceholder(raw json.RawMessage) bool {
	if !bytes.Contains(raw, []byte(Placeholder)) {
		return false
	}
	var b struct {
		Content any `json:"content"`
	}
	return json.Unmarshal(raw, &b) == nil && b.Content == Placeholder
}

// add adds message i to the prompt, as far as it was decided about.
func (e *editor) add(i int) {
	m := e.messages[i]
	e.total += m.tokens
	e.original += m.tokens
	if i < e.state.Thinking {
		e.total -= m.thinking
	}
	if m.warned {
		e.state.Warned = e.state.Warned || i >= e.given
	} else if e.isWarned(i) {
		e.total += e.warning
	}
	if n := len(e.thoughts); m.thinking > 0 && (n == 0 || e.turns[e.thoughts[n-1]] != e.turns[i]) {
		e.thoughts = append(e.thoughts, i)
	}
	for ; e.answered < len(e.uses) && e.uses[e.answered].resultMessage <= i; e.answered++ {
		if e.uses[e.answered].cleared {
			e.state.ToolUses = max(e.state.ToolUses, e.answered+1)
		} else if e.answered < e.state.ToolUses {
			e.total -= e.uses[e.answered].freed
		}
	}
}

// isWarned reports whether message i gets the warning.
func (e *editor) isWarned(i int) bool {
	_, found := slices.BinarySearch(e.state.Warnings, i)
	return found
}

// tokens is n with the caller's scale.
func (e *editor) tokens(n int) int { return int(math.Round(float64(n) * e.Scale)) }

// decide makes the edits of the request that ended before message b.
func (e *editor) decide(b int) {
	e.state.Messages = b
	if n := len(e.thoughts); e.keepTurns > 0 && n > e.keepTurns {
		e.clearThinking(e.thoughts[n-e.keepTurns])
	}
	c := e.config.ClearToolUses
	if c == nil {
		return
	}
	last := e.messages[b-1]
	size := e.total
	if e.warns && last.warned {
		size -= e.warning // as it was when the warning was decided
	}
	near, reached, patient := e.trigger(c.Trigger, e.tokens(size))
	if !near {
		return
	}
	until := e.answered - DefaultKeepToolUses
	if c.Keep != nil {
		until = e.answered - *c.Keep
	}
	if until <= e.state.ToolUses {
		return
	}
	freed := e.freed[until] - e.freed[e.state.ToolUses]
	if freed <= 0 || e.tokens(freed) < c.ClearAtLeast {
		return
	}
	if e.warns && last.role == "user" && !last.warned && !e.state.Warned {
		if !reached || patient {
			e.state.Warned = true
			e.state.Warnings = append(e.state.Warnings, b-1)
			e.total += e.warning
			return
		}
	}
	if !reached || e.warns && last.warned && patient {
		return
	}
	e.state.ToolUses, e.state.Warned = until, false
	e.total -= freed
	if e.binds {
		// All thinking so far was made for other results.
		e.clearThinking(b)
	}
}

// trigger reports, for a prompt of size tokens, whether the trigger is near, whether it is reached, and whether a
// clearing can wait for one more request.
func (e *editor) trigger(t Trigger, size int) (near, reached, patient bool) {
	limit := orDefault(t.InputTokens, DefaultTrigger)
	patient = e.Window == 0 || size <= e.Window
	if t.ToolUses > 0 && t.InputTokens == 0 {
		size, limit = e.answered-e.state.ToolUses, t.ToolUses
	} else {
		patient = patient && percent(size, limit) <= grace
	}
	return percent(size, limit) >= warnAt, size >= limit, patient
}

func percent(n, of int) float64 { return float64(n) / float64(of) * 100 }

// clearThinking removes the thinking before message cut.
func (e *editor) clearThinking(cut int) {
	for i := max(e.state.Thinking, e.start); i < cut; i++ {
		e.total -= e.messages[i].thinking
	}
	e.state.Thinking = max(e.state.Thinking, cut)
}

// result builds the messages that were decided.
func (e *editor) result() Result {
	r := Result{InputTokens: e.tokens(e.total), OriginalTokens: e.tokens(e.original), State: e.state}
	changed := map[[2]int]json.RawMessage{} // blocks by message and place
	touched := map[int]bool{}
	uses := AppliedEdit{Type: TypeClearToolUses}
	for _, u := range e.uses[:e.state.ToolUses] {
		if u.cleared {
			continue
		}
		uses.ClearedToolUses++
		uses.ClearedInputTokens += u.freed
		changed[[2]int{u.resultMessage, u.resultBlock}] = u.result
		touched[u.resultMessage] = true
		if u.input != nil {
			changed[[2]int{u.message, u.block}] = u.input
			touched[u.message] = true
		}
	}
	thinking := AppliedEdit{Type: TypeClearThinking}
	lastTurn := -1
	for i := e.start; i < e.state.Thinking && i < len(e.messages); i++ {
		if !slices.ContainsFunc(e.messages[i].blocks, block.thinks) {
			continue
		}
		touched[i] = true
		thinking.ClearedInputTokens += e.messages[i].thinking
		if e.turns[i] != lastTurn {
			lastTurn = e.turns[i]
			thinking.ClearedThinkingTurns++
		}
	}
	for _, a := range []AppliedEdit{thinking, uses} {
		if a.ClearedThinkingTurns+a.ClearedToolUses > 0 {
			a.ClearedInputTokens = e.tokens(a.ClearedInputTokens)
			r.Applied = append(r.Applied, a)
		}
	}
	for i, m := range e.messages {
		warn := e.isWarned(i) && !m.warned
		if !touched[i] && !warn {
			r.Messages = append(r.Messages, m.raw)
			continue
		}
		var blocks []json.RawMessage
		for j, b := range m.blocks {
			if i < e.state.Thinking && b.thinks() {
				continue
			}
			if other, ok := changed[[2]int{i, j}]; ok {
				b.raw = other
			}
			blocks = append(blocks, b.raw)
		}
		if warn {
			blocks = append(blocks, textBlock(strictjson.Quote(Warning)))
		}
		// A message of thinking alone is left out; the API merges its neighbours.
		if len(blocks) > 0 {
			r.Messages = append(r.Messages, m.encode(blocks))
		}
	}
	if n := len(e.messages); n > 0 {
		r.Warned = e.messages[n-1].warned || e.isWarned(n-1)
	}
	return r
}
