package claudetest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"memento/claude/contextedit"
)

// An answer is what the model says.
type answer struct {
	id         string // of the message
	blocks     []map[string]any
	stopReason string
}

// A place is where a conversation stands.
type place struct {
	conversation *Conversation
	turn         int  // the next turn of the script
	side         byte // 'w' or 'r' if the last turn was OnWarning or Recall; else 0
	sides        int  // how many of these were made since the last turn of the script
}

var (
	ownID = regexp.MustCompile(`^toolu_([a-z0-9]+)_(\d{4})(?:([wr])(\d+))?_\d+$`)
	// ownMark ends a summary: it keeps the place when the calls are gone.
	ownMark = regexp.MustCompile(`\[script ([a-z0-9]+) turn (\d+)\]`)
)

func (p place) mark() string { return fmt.Sprintf("[script %s turn %d]", p.conversation.ID, p.turn) }

// toolUseID returns the ID of call k of the next turn.
func (p place) toolUseID(k int) string {
	if p.side != 0 {
		return fmt.Sprintf("toolu_%s_%04d%c%d_%d", p.conversation.ID, p.turn, p.side, p.sides, k)
	}
	return fmt.Sprintf("toolu_%s_%04d_%d", p.conversation.ID, p.turn, k)
}

// scriptError is the answer to a request that breaks no rule but is not in the script.
func (s *Scenario) scriptError(format string, args ...any) *Error {
	return invalid("claudetest: scenario %s: %s", s.Name, fmt.Sprintf(format, args...))
}

// locate finds the place from the messages that the model sees.
func (s *Scenario) locate(messages []message) (p place, err *Error) {
	jump := func(id, turn string) {
		i := slices.IndexFunc(s.Conversations, func(c Conversation) bool { return c.ID == id })
		if i >= 0 {
			n, _ := strconv.Atoi(turn)
			p = place{conversation: &s.Conversations[i], turn: n}
		}
	}
	for i, m := range messages {
		called := false
		for _, b := range m.blocks {
			seen := text(b, "text")
			if b["type"] == "compaction" {
				seen = text(b, "content")
			}
			if found := ownMark.FindStringSubmatch(seen); found != nil {
				jump(found[1], found[2])
				called = m.role == roleAssistant && len(m.blocks) == 1
			} else if b["type"] == "text" && p.conversation == nil && m.role == roleUser {
				p.conversation = s.beginning(seen)
			}
			if found := ownID.FindStringSubmatch(text(b, "id")); found != nil && b["type"] == "tool_use" {
				called = true
				jump(found[1], found[2])
				if found[3] == "" {
					p.turn++
				} else {
					p.side = found[3][0]
					p.sides, _ = strconv.Atoi(found[4])
				}
			}
		}
		follows := i > 0 && messages[i-1].role == roleAssistant
		if m.role == roleAssistant && !called && !follows && p.conversation != nil {
			p = place{conversation: p.conversation, turn: p.turn + 1}
		}
	}
	if p.conversation == nil {
		return p, s.scriptError("no conversation begins with the first words of the user")
	}
	return p, nil
}

// beginning returns the conversation that begins with what the user says.
func (s *Scenario) beginning(said string) *Conversation {
	for i := range s.Conversations {
		if c := &s.Conversations[i]; len(c.Turns) > 0 && strings.Contains(said, c.Turns[0].User) {
			return c
		}
	}
	return nil
}

// errForgotten is returned by find if the fact is not in the context.
var errForgotten = errors.New("not in the context")

// play makes the next turn of a request whose model sees the given messages.
func (s *Scenario) play(r *request, visible []message) (*answer, *Error) {
	p, err := s.locate(visible)
	if err != nil {
		return nil, err
	}
	if p.turn >= len(p.conversation.Turns) {
		return nil, s.scriptError("conversation %s has ended; it has %d turns", p.conversation.ID, len(p.conversation.Turns))
	}
	turn := p.conversation.Turns[p.turn]
	last := visible[len(visible)-1]
	if err := s.checkScript(p, turn, last); err != nil {
		return nil, err
	}
	makeSide := func(side byte, t *Turn) (*answer, *Error) {
		p.side, p.sides = side, p.sides+1
		blocks, rendered := render(r, p, *t, visible)
		if rendered != nil {
			return nil, s.scriptError("%v", rendered)
		}
		return s.answer(r, p, *t, blocks)
	}
	if w := p.conversation.OnWarning; w != nil && p.side != 'w' && strings.Contains(seenIn(last), contextedit.Warning) {
		return makeSide('w', w)
	}
	sided := p.side
	p.side, p.sides = 0, 0
	blocks, rendered := render(r, p, turn, visible)
	switch {
	case rendered == nil:
		return s.answer(r, p, turn, blocks)
	case !errors.Is(rendered, errForgotten):
		return nil, s.scriptError("conversation %s, turn %d: %v", p.conversation.ID, p.turn+1, rendered)
	case p.conversation.Recall != nil && sided != 'r':
		return makeSide('r', p.conversation.Recall)
	}
	forgotten := Turn{Say: "I have forgotten what I need to go on."}
	return s.answer(r, p, forgotten, []map[string]any{{"type": "text", "text": forgotten.Say}})
}

// checkScript refuses what the script does not expect.
func (s *Scenario) checkScript(p place, turn Turn, last message) *Error {
	said := seenIn(last)
	if turn.User != "" && p.side == 0 && !strings.Contains(said, turn.User) {
		return s.scriptError("conversation %s, turn %d: the user should say %q", p.conversation.ID, p.turn+1, turn.User)
	}
	if p.side != 0 {
		return nil // the last message answers a turn that is not in the script
	}
	for _, pattern := range turn.Expect {
		if !regexp.MustCompile(pattern).MatchString(said) {
			return s.scriptError("conversation %s, turn %d: the last message should match %q", p.conversation.ID, p.turn+1, pattern)
		}
	}
	return nil
}

// render makes the content blocks of a turn, without thinking.
func render(r *request, p place, turn Turn, visible []message) ([]map[string]any, error) {
	fill := func(s string) (string, error) {
		t, err := parseTemplate(s)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = t.Funcs(template.FuncMap{"find": func(pattern string) (string, error) { return find(visible, pattern) }}).Execute(&b, turn.vars)
		return b.String(), err
	}
	var blocks []map[string]any
	if turn.Say != "" {
		said, err := fill(turn.Say)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, map[string]any{"type": "text", "text": said})
	}
	for k, c := range turn.Calls {
		input, err := fillAll(c.Input, fill)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": p.toolUseID(k), "name": c.Tool, "input": input})
	}
	return blocks, nil
}

// fillAll fills the strings in v.
func fillAll(v any, fill func(string) (string, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return fill(v)
	case map[string]any:
		filled := make(map[string]any, len(v))
		for name, inner := range v {
			var err error
			if filled[name], err = fillAll(inner, fill); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case []any:
		filled := make([]any, len(v))
		for i, inner := range v {
			var err error
			if filled[i], err = fillAll(inner, fill); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case nil:
		return map[string]any{}, nil
	}
	return v, nil
}

// find returns the first group of the last match of pattern in what the model was
// told: by the user and by tools. What it has written itself is no source.
func find(visible []message, pattern string) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	if re.NumSubexp() < 1 {
		return "", fmt.Errorf("the regular expression %q needs a group", pattern)
	}
	for _, m := range slices.Backward(visible) {
		if m.role != roleUser {
			continue
		}
		if all := re.FindAllStringSubmatch(seenIn(m), -1); len(all) > 0 {
			return all[len(all)-1][1], nil
		}
	}
	return "", fmt.Errorf("%q: %w", pattern, errForgotten)
}

// seenIn returns all texts in a message: what is said, called and returned.
func seenIn(m message) string {
	var b strings.Builder
	for _, block := range m.blocks {
		for _, name := range []string{"text", "content", "input"} {
			for _, s := range stringsIn(block[name]) {
				b.WriteString(s)
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// answer checks what is said against the request, and adds thinking.
func (s *Scenario) answer(r *request, p place, turn Turn, blocks []map[string]any) (*answer, *Error) {
	declared := r.toolNames()
	for _, b := range blocks {
		if b["type"] == "tool_use" && !slices.Contains(declared, text(b, "name")) {
			return nil, s.scriptError("conversation %s, turn %d calls the tool %q, which the request does not declare", p.conversation.ID, p.turn+1, text(b, "name"))
		}
	}
	choice, _ := r.fields["tool_choice"].(map[string]any)
	switch n := len(turn.Calls); {
	case n > 0 && text(choice, "type") == "none":
		return nil, s.scriptError("conversation %s, turn %d calls tools, and tool_choice is none", p.conversation.ID, p.turn+1)
	case n > 1 && choice["disable_parallel_tool_use"] == true:
		return nil, s.scriptError("conversation %s, turn %d makes %d calls, and disable_parallel_tool_use is set", p.conversation.ID, p.turn+1, n)
	}
	a := &answer{blocks: blocks, stopReason: turn.Stop}
	if a.stopReason == "" {
		a.stopReason = "end_turn"
		if len(turn.Calls) > 0 {
			a.stopReason = "tool_use"
		}
	}
	if turn.Thinking != "" && r.thinks() {
		a.blocks = slices.Insert(a.blocks, 0, r.newThought(turn.Thinking))
	}
	return a, nil
}

// newThought makes a thinking block that continues the request.
func (r *request) newThought(thought string) map[string]any {
	n := len(r.messages)
	if r.messages[n-1].role == roleAssistant {
		n-- // the answer goes on with the last message
	}
	s := sign(r.newPrefixes().before(n), r.lastSignature(), thought)
	return map[string]any{"type": "thinking", "thinking": thought, "signature": s.String()}
}
