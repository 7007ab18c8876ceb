package claude

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento"
)

// keptTurns is how many of the latest turns a transcript has: more than there are
// conversations that use one Memory at the same time.
const keptTurns = 64

// A transcript has the memory calls of the latest turns, with the results of those
// that were executed. The runner starts the calls of a turn all at once, so only
// from here is their order known.
type transcript struct {
	mu    sync.Mutex
	turns []*turn // oldest first
	// byID has the calls with an ID, newest first. The API's IDs are unique, but a proxy's
	// or a test server's may be the same in two conversations.
	byID map[string][]*call
}

// A turn has the memory calls of one message, in their order.
type turn struct{ calls []*call }

// A call is executed once, after the calls before it in its turn.
type call struct {
	id      string
	input   [sha256.Size]byte
	before  *call // nil for the first of a turn
	claimed bool  // by one of the runner's goroutines; guarded by transcript.mu

	mu     sync.Mutex // held while the call is executed
	done   chan struct{}
	result memento.ResultBlock // once done is closed
}

// add takes in a message that the API has sent.
func (t *transcript) add(message *anthropic.BetaMessage) {
	if message.StopReason != anthropic.BetaStopReasonToolUse {
		return // the runner executes nothing of it
	}
	added := &turn{}
	var before *call
	for _, block := range message.Content {
		switch {
		case block.Type == "fallback":
			// What stands before belongs to a refused attempt, and is not executed.
			added.calls, before = nil, nil
		case block.Type == "tool_use" && block.Name == memento.ToolName:
			before = &call{id: block.ID, input: hashInput(block.AsToolUse().Input), before: before, done: make(chan struct{})}
			added.calls = append(added.calls, before)
		}
	}
	if len(added.calls) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.turns) == keptTurns {
		for _, c := range t.turns[0].calls {
			t.byID[c.id] = slices.DeleteFunc(t.byID[c.id], func(other *call) bool { return other == c })
			if len(t.byID[c.id]) == 0 {
				delete(t.byID, c.id)
			}
		}
		t.turns = append(t.turns[:0], t.turns[1:]...)
	}
	t.turns = append(t.turns, added)
	if t.byID == nil {
		t.byID = map[string][]*call{}
	}
	for _, c := range added.calls {
		t.byID[c.id] = append([]*call{c}, t.byID[c.id]...)
	}
}

// claim returns the call with the ID and the input, or nil if it is in no known turn.
// If the ID is not known, because the runner's spans are off, it returns the first call
// of the latest turns that has the input and was not claimed before.
func (t *transcript) claim(id string, input json.RawMessage) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.turns) == 0 {
		return nil
	}
	hash := hashInput(input)
	var candidates []*call
	if id != "" {
		candidates = t.byID[id]
	} else {
		for _, turn := range slices.Backward(t.turns) {
			candidates = append(candidates, turn.calls...)
		}
	}
	var repeated *call
	for _, c := range candidates {
		switch {
		case c.input != hash:
		case !c.claimed:
			c.claimed = true
			return c
		case repeated == nil:
			repeated = c
		}
	}
	return repeated
}

// run executes the call, if it was not yet, after those before it, and returns its result.
func (c *call) run(ctx context.Context, tool *memento.Tool, parsed memento.Call) memento.ResultBlock {
	if c.before != nil {
		select {
		case <-c.before.done:
		case <-ctx.Done():
			return tool.Interrupted(ctx, parsed)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return c.result
	default:
	}
	if ctx.Err() != nil {
		return tool.Interrupted(ctx, parsed)
	}
	c.result = tool.RunCall(ctx, parsed)
	close(c.done)
	return c.result
}

// hashInput identifies an input, however its JSON is written.
func hashInput(input any) [sha256.Size]byte {
	data, err := json.Marshal(input)
	if err != nil {
		return [sha256.Size]byte{}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if d.Decode(&value) == nil {
		if sorted, err := json.Marshal(value); err == nil {
			data = sorted
		}
	}
	return sha256.Sum256(data)
}
