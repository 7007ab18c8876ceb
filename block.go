package memento

import (
	"context"
	"fmt"
)

// A ResultBlock is a tool_result content block of the Messages API.
type ResultBlock struct {
	Type      string `json:"type"`                  // always "tool_result"
	ToolUseID string `json:"tool_use_id,omitempty"` // of the block answered; "" for a bare input
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

// RunBlock executes a whole tool_use block, or a bare input as [Tool.Run] takes
// it, and returns the block that answers it.
func (t *Tool) RunBlock(ctx context.Context, block []byte) ResultBlock {
	b := ResultBlock{Type: "tool_result"}
	r := func() Result {
		f, err := parseObject(block)
		kind, _ := f.text("type")
		if kind == "tool_use" {
			b.ToolUseID, _ = f.text("id") // also of a block that is refused
		}
		if err != nil {
			return answer("", err)
		}
		if kind != "tool_use" {
			return answer(t.run(ctx, f))
		}
		if name, ok := f.text("name"); ok && name != "memory" {
			return Result{Content: fmt.Sprintf(textNoTool, truncated(name, 100)), IsError: true}
		}
		return t.Run(ctx, f["input"])
	}()
	b.Content, b.IsError = r.Content, r.IsError
	return b
}

// TooLong answers a block that was not read because it has more than max bytes.
func TooLong(max int64) ResultBlock {
	return ResultBlock{Type: "tool_result", Content: fmt.Sprintf(textTooLong, groupDigits(max)), IsError: true}
}
