package contextedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Types of edits, as they are on the wire.
const (
	TypeClearToolUses = "clear_tool_uses_20250919"
	TypeClearThinking = "clear_thinking_20251015"
	TypeCompact       = "compact_20260112"
)

// Defaults of the API.
const (
	DefaultTrigger        = 100_000 // tokens, of clear_tool_uses_20250919
	DefaultKeepToolUses   = 3
	DefaultCompactTrigger = 150_000 // tokens
	MinCompactTrigger     = 50_000  // tokens
)

// ErrConfig is returned for a context_management that the API would refuse.
var ErrConfig = errors.New("contextedit: invalid context_management")

// A Config says which edits are made; nil means not. Thinking is cleared first.
type Config struct {
	ClearThinking *ClearThinking
	ClearToolUses *ClearToolUses
	// Compact is for [Compact.Due] and [Compactor]; Edit does not summarize.
	Compact *Compact
}

// ClearToolUses is clear_tool_uses_20250919: when the prompt reaches the trigger, the
// results of the oldest tool uses are replaced by [Placeholder].
type ClearToolUses struct {
	Trigger Trigger
	// Keep is how many of the last tool uses keep their results; nil means 3.
	// Tool uses of ExcludeTools are not counted.
	Keep *int
	// ClearAtLeast is how many tokens must be cleared for the edit to be made at
	// all; 0 means any number.
	ClearAtLeast int
	// ExcludeTools are the names of tools whose results are never cleared.
	ExcludeTools []string
	// ClearInputs also clears the inputs of the calls, of all tools or of those
	// in ClearInputsOf.
	ClearInputs   bool
	ClearInputsOf []string
}

// A Trigger is reached with a number of input tokens or of tool uses, whichever is not
// 0; both 0 means 100,000 input tokens. Tool uses that are cleared or excluded are not
// counted.
type Trigger struct{ InputTokens, ToolUses int }

// ClearThinking is clear_thinking_20251015: the thinking of old turns is removed. A
// turn is everything that the assistant says and calls between two words of the user;
// the turn that is going on counts, and is never cleared.
type ClearThinking struct {
	// KeepTurns is how many of the last turns with thinking keep it. 0 means the
	// model's default: all turns, or one on older models.
	KeepTurns int
	// KeepAll keeps all.
	KeepAll bool
}

// check refuses what [ParseConfig] refuses, in a Config that a program made.
func (c Config) check() error {
	keep, least, trigger, turns := 0, 0, Trigger{}, 0
	if e := c.ClearToolUses; e != nil {
		least, trigger = e.ClearAtLeast, e.Trigger
		if e.Keep != nil {
			keep = *e.Keep
		}
	}
	if e := c.ClearThinking; e != nil {
		turns = e.KeepTurns
	}
	for _, n := range []struct {
		name  string
		value int
	}{
		{"ClearToolUses.Trigger.InputTokens", trigger.InputTokens},
		{"ClearToolUses.Trigger.ToolUses", trigger.ToolUses},
		{"ClearToolUses.Keep", keep},
		{"ClearToolUses.ClearAtLeast", least},
		{"ClearThinking.KeepTurns", turns},
	} {
		if n.value < 0 {
			return fmt.Errorf("%w: %s is %d, must not be negative", ErrConfig, n.name, n.value)
		}
	}
	return nil
}

// Compact is compact_20260112: when the prompt reaches the trigger, the conversation
// is replaced by a summary.
type Compact struct {
	// Trigger is in input tokens; 0 means 150,000. The API's minimum is 50,000.
	Trigger int
	// PauseAfterCompaction returns the summary alone, so that the application can
	// go on with messages of its choice.
	PauseAfterCompaction bool
	// Instructions replace the built-in prompt for the summary.
	Instructions string
}

// Due reports whether a prompt of so many tokens is to be compacted.
func (c *Compact) Due(inputTokens int) bool {
	return c != nil && inputTokens >= orDefault(c.Trigger, DefaultCompactTrigger)
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// wireAmount is {"type":"input_tokens","value":N} and the like.
type wireAmount struct {
	Type  string `json:"type"`
	Value *int   `json:"value,omitempty"`
}

// wireEdit has the members of all edits.
type wireEdit struct {
	Type            string          `json:"type"`
	Trigger         *wireAmount     `json:"trigger,omitempty"`
	Keep            json.RawMessage `json:"keep,omitempty"`
	ClearAtLeast    *wireAmount     `json:"clear_at_least,omitempty"`
	ExcludeTools    []string        `json:"exclude_tools,omitempty"`
	ClearToolInputs json.RawMessage `json:"clear_tool_inputs,omitempty"`

	PauseAfterCompaction *bool   `json:"pause_after_compaction,omitempty"`
	Instructions         *string `json:"instructions,omitempty"`
}

// ParseConfig reads the member context_management of a request. null and an empty
// object are the zero Config. Errors are [ErrConfig], with the place in the text.
func ParseConfig(raw json.RawMessage) (Config, error) {
	var c Config
	var wire struct {
		Edits []json.RawMessage `json:"edits"`
	}
	if err := strict(raw, &wire); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for i, rawEdit := range wire.Edits {
		fail := func(format string, args ...any) (Config, error) {
			return Config{}, fmt.Errorf("%w: context_management.edits.%d: %w", ErrConfig, i, fmt.Errorf(format, args...))
		}
		var e wireEdit
		if err := strict(rawEdit, &e); err != nil {
			return fail("%w", err)
		}
		var err error
		switch {
		case e.Type == TypeClearToolUses && c.ClearToolUses == nil:
			c.ClearToolUses, err = e.clearToolUses()
		case e.Type == TypeClearThinking && i > 0:
			return fail("%s must be the first edit", e.Type)
		case e.Type == TypeClearThinking:
			c.ClearThinking, err = e.clearThinking()
		case e.Type == TypeCompact && c.Compact == nil:
			c.Compact, err = e.compact()
		case e.Type == TypeClearToolUses || e.Type == TypeCompact:
			return fail("%s is there twice", e.Type)
		default:
			return fail("the type %q is not known; types are %s, %s and %s", e.Type, TypeClearThinking, TypeClearToolUses, TypeCompact)
		}
		if err != nil {
			return fail("%w", err)
		}
	}
	return c, nil
}

// strict decodes raw into v, and refuses unknown members and anything after it.
func strict(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the end of the JSON")
	}
	return nil
}

// only refuses members of other types of edits.
func (e wireEdit) only(allowed wireEdit) error {
	for _, m := range []struct {
		name        string
		set, unused bool
	}{
		{"trigger", e.Trigger != nil, allowed.Trigger == nil},
		{"keep", e.Keep != nil, allowed.Keep == nil},
		{"clear_at_least", e.ClearAtLeast != nil, allowed.ClearAtLeast == nil},
		{"exclude_tools", e.ExcludeTools != nil, allowed.ExcludeTools == nil},
		{"clear_tool_inputs", e.ClearToolInputs != nil, allowed.ClearToolInputs == nil},
		{"pause_after_compaction", e.PauseAfterCompaction != nil, allowed.PauseAfterCompaction == nil},
		{"instructions", e.Instructions != nil, allowed.Instructions == nil},
	} {
		if m.set && m.unused {
			return fmt.Errorf("%s has no member %s", e.Type, m.name)
		}
	}
	return nil
}

// amount returns the value of a, which must have one of the types and be at least min.
func (a *wireAmount) amount(member string, min int, types ...string) (kind string, value int, err error) {
	for _, t := range types {
		if a.Type == t {
			if a.Value == nil || *a.Value < min {
				return "", 0, fmt.Errorf("%s.value must be at least %d", member, min)
			}
			return t, *a.Value, nil
		}
	}
	return "", 0, fmt.Errorf("%s.type must be one of %q", member, types)
}

func (e wireEdit) clearToolUses() (*ClearToolUses, error) {
	c := &ClearToolUses{ExcludeTools: e.ExcludeTools}
	if e.PauseAfterCompaction != nil || e.Instructions != nil {
		return nil, e.only(wireEdit{Trigger: e.Trigger, Keep: e.Keep, ClearAtLeast: e.ClearAtLeast, ExcludeTools: e.ExcludeTools, ClearToolInputs: e.ClearToolInputs})
	}
	if e.Trigger != nil {
		kind, n, err := e.Trigger.amount("trigger", 1, "input_tokens", "tool_uses")
		if err != nil {
			return nil, err
		}
		if c.Trigger.InputTokens = n; kind == "tool_uses" {
			c.Trigger = Trigger{ToolUses: n}
		}
	}
	if isSet(e.Keep) {
		var a wireAmount
		if err := strict(e.Keep, &a); err != nil {
			return nil, fmt.Errorf("keep: %w", err)
		}
		_, n, err := a.amount("keep", 0, "tool_uses")
		if err != nil {
			return nil, err
		}
		c.Keep = &n
	}
	if e.ClearAtLeast != nil {
		_, n, err := e.ClearAtLeast.amount("clear_at_least", 1, "input_tokens")
		if err != nil {
			return nil, err
		}
		c.ClearAtLeast = n
	}
	if isSet(e.ClearToolInputs) && json.Unmarshal(e.ClearToolInputs, &c.ClearInputs) != nil {
		if json.Unmarshal(e.ClearToolInputs, &c.ClearInputsOf) != nil {
			return nil, errors.New("clear_tool_inputs must be true, false or a list of names")
		}
	}
	return c, nil
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (e wireEdit) clearThinking() (*ClearThinking, error) {
	if err := e.only(wireEdit{Keep: json.RawMessage{}}); err != nil {
		return nil, err
	}
	c := &ClearThinking{}
	if !isSet(e.Keep) {
		return c, nil
	}
	if string(e.Keep) == `"all"` {
		c.KeepAll = true
		return c, nil
	}
	var a wireAmount
	if err := strict(e.Keep, &a); err != nil {
		return nil, fmt.Errorf("keep: %w", err)
	}
	if a.Type == "all" {
		c.KeepAll = true
		return c, nil
	}
	var err error
	_, c.KeepTurns, err = a.amount("keep", 1, "thinking_turns")
	return c, err
}

func (e wireEdit) compact() (*Compact, error) {
	c := &Compact{}
	if err := e.only(wireEdit{Trigger: &wireAmount{}, PauseAfterCompaction: new(bool), Instructions: new(string)}); err != nil {
		return nil, err
	}
	if e.Trigger != nil {
		_, n, err := e.Trigger.amount("trigger", MinCompactTrigger, "input_tokens")
		if err != nil {
			return nil, err
		}
		c.Trigger = n
	}
	if e.PauseAfterCompaction != nil {
		c.PauseAfterCompaction = *e.PauseAfterCompaction
	}
	if e.Instructions != nil {
		c.Instructions = *e.Instructions
	}
	return c, nil
}
