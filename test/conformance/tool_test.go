package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// An insert whose answer is lost is repeated by the SDK, and executed once.
func TestLostAnswerOfTheTool(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s.url)
	c := anthropic.NewClient(option.WithBaseURL(p.url), option.WithAPIKey(s.key))
	var store anthropic.BetaManagedAgentsMemoryStore
	if err := c.Post(t.Context(), "v1/memory_stores/by-name", map[string]string{"name": "notes"}, &store); err != nil {
		t.Fatal(err)
	}
	call := func(id string, input map[string]any) string {
		t.Helper()
		block := map[string]any{"type": "tool_use", "id": id, "name": "memory", "input": input}
		var result struct {
			Content string `json:"content"`
			IsError bool   `json:"is_error"`
		}
		if err := c.Post(t.Context(), "v1/memory_stores/"+store.ID+"/tool", block, &result); err != nil || result.IsError {
			t.Fatalf("%v: %v, %s", input, err, result.Content)
		}
		return result.Content
	}
	call("toolu_1", map[string]any{"command": "create", "path": "/memories/log.md", "file_text": "first\n"})
	p.loseAnswer(http.MethodPost, "/tool")
	passed := p.during(func() {
		call("toolu_2", map[string]any{"command": "insert", "path": "/memories/log.md", "insert_line": 1, "insert_text": "second\n"})
	})
	if len(passed) != 2 || !passed[0].lost {
		t.Errorf("the insert was asked for %d times, want 2", len(passed))
	}
	if view := call("toolu_3", map[string]any{"command": "view", "path": "/memories/log.md"}); strings.Count(view, "second") != 1 {
		t.Errorf("executed more than once: %s", view)
	}
}
