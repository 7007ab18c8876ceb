package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// recorded are Claude's turns in one conversation.
//
//go:embed recording.json
var recorded []byte

// A reply is what this program needs of a response of the Messages API. Its
// blocks stay as they came: they have to go back unchanged.
type reply struct {
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
}

// A recording answers with the turns of an earlier conversation.
type recording struct {
	turns []reply
}

func newRecording() (*recording, error) {
	var r recording
	if err := json.Unmarshal(recorded, &r.turns); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return &r, nil
}

// answer stands where the API would read the messages.
func (r *recording) answer([]message) (reply, error) {
	if len(r.turns) == 0 {
		return reply{}, fmt.Errorf("the recording is over")
	}
	next := r.turns[0]
	r.turns = r.turns[1:]
	return next, nil
}

func isToolUse(block json.RawMessage) bool {
	var b struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(block, &b) == nil && b.Type == "tool_use"
}

func text(s string) any {
	return map[string]string{"type": "text", "text": s}
}

func blocks(content []json.RawMessage) []any {
	all := make([]any, len(content))
	for i, block := range content {
		all[i] = block
	}
	return all
}
