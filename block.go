package memento

import (
	"context"
	"fmt"
)

// How the Messages API calls the memory tool.
const (
	// ToolType is the type of the tool in a request's list of tools.
	ToolType = "memory_20250818"
	// ToolName is the name of the tool, in that list and in tool_use blocks.
	ToolName = "memory"
)

// A ResultBlock is a tool_result content block of the Messages API.
type ResultBlock struct {
	Type      string `json:"type"`                  // always "tool_result"
	ToolUseID string `json:"tool_use_id,omitempty"` // of the block answered; "" for a bare input
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`

	// Err is as in [Result]. It is not sent to the agent.
	Err error `json:"-"`
}

// A Call is one call of the memory tool, parsed and checked: see [ParseCall].
type Call struct {
	ID string // of the tool_use block; "" for a bare input

	command string
	path    string                                       // that the call is about; of a rename, the new one
	run     func(context.Context, *Tool) (string, error) // nil if the call is refused
	refused error                                        // a *ToolError
}

// ParseCall parses a whole tool_use block, or a bare input as [Tool.Run] takes
// it. It checks everything that does not depend on a store: the JSON, the name of
// the tool, the command, and which fields it has.
//
// An error is a [*ToolError], whose text is the answer for the agent. The Call that
// is returned with it has the ID of the block, if that could be read, and
// [Tool.RunCall] answers it with that text. So a program that answers every call
// need not look at the error.
func ParseCall(raw []byte) (Call, error) {
	f, err := parseObject(raw)
	kind, _ := f.text("type")
	if kind != "tool_use" {
		if err != nil {
			return refusedCall("", err)
		}
		return parseInput("", f)
	}
	id, _ := f.text("id")
	if err != nil {
		return refusedCall(id, err)
	}
	if name, ok := f.text("name"); ok && name != ToolName {
		return refusedCall(id, refusal(ErrInvalid, textNoTool, truncated(name, 100)))
	}
	input, err := parseObject(f["input"])
	if err != nil {
		return refusedCall(id, err)
	}
	return parseInput(id, input)
}

func refusedCall(id string, err error) (Call, error) {
	return Call{ID: id, refused: err}, err
}

// Writes reports whether the call may change memories. One that was refused by
// ParseCall changes nothing.
func (c Call) Writes() bool { return c.run != nil && c.command != "view" }

// RunCall executes a call and returns the block that answers it.
func (t *Tool) RunCall(ctx context.Context, c Call) ResultBlock {
	r := t.runCall(ctx, c)
	return ResultBlock{Type: "tool_result", ToolUseID: c.ID, Content: r.Content, IsError: r.IsError, Err: r.Err}
}

// Interrupted answers a call of which nobody knows whether it was executed, because the
// conversation was interrupted meanwhile. A call that changes nothing is executed. One
// that does is not: its answer is that it was cancelled, and how to see whether it took
// effect.
func (t *Tool) Interrupted(ctx context.Context, c Call) ResultBlock {
	if !c.Writes() {
		return t.RunCall(ctx, c)
	}
	return ResultBlock{Type: "tool_result", ToolUseID: c.ID, Content: t.opts.Profile.errorText(fmt.Sprintf(textCancelled, c.path)), IsError: true}
}

// RunBlock executes a whole tool_use block, or a bare input as [Tool.Run] takes
// it, and returns the block that answers it. It is [ParseCall] and [Tool.RunCall].
func (t *Tool) RunBlock(ctx context.Context, block []byte) ResultBlock {
	c, _ := ParseCall(block) // RunCall answers with the error
	return t.RunCall(ctx, c)
}

// TooLong answers a block that was not read because it has more than max bytes.
func TooLong(max int64) ResultBlock {
	return ResultBlock{Type: "tool_result", Content: fmt.Sprintf(textTooLong, groupDigits(max)), IsError: true}
}
