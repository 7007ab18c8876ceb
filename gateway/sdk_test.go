package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/claude/claudetest"
	"memento/gateway"
)

// saving is a conversation in which the model looks into its memory, saves something, and
// answers; then it is asked again.
func saving() []claudetest.Turn {
	return []claudetest.Turn{
		{User: "I like tea", Thinking: "What do I know?", Say: "Let me look.", Calls: []claudetest.Call{memoryCall("view", "path", "/memories")}},
		{Thinking: "Nothing yet.", Say: "I note it.", Calls: []claudetest.Call{
			memoryCall("create", "path", "/memories/tea.md", "file_text", "The user likes tea.\n"),
			memoryCall("insert", "path", "/memories/tea.md", "insert_line", 1, "insert_text", "Green."),
		}},
		{Thinking: "Done.", Say: "Noted: tea."},
		{User: "What do I like?", Say: "Again, I look.", Calls: []claudetest.Call{memoryCall("view", "path", "/memories/tea.md")}},
		{Say: `You like {{find "user likes ([a-z]+)"}}.`},
	}
}

func params(words ...string) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 4000}
	for _, s := range words {
		p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(s)))
	}
	return p
}

// said returns the texts of a message.
func said(m *anthropic.Message) string {
	var all []string
	for _, b := range m.Content {
		if b.Type == "text" {
			all = append(all, b.Text)
		} else if b.Type == "tool_use" {
			all = append(all, "<"+b.Name+">")
		}
	}
	return strings.Join(all, " ")
}

func TestPlainClient(t *testing.T) {
	up := scripted(saving()...)
	w := newWorld(t, up)
	client := w.client()
	p := params("I like tea")
	first, err := client.Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(first), "Let me look. I note it. Noted: tea."; got != want || first.StopReason != "end_turn" {
		t.Errorf("said %q, stopped with %q; want %q, end_turn", got, first.StopReason, want)
	}
	if got, want := w.file("/tea.md"), "The user likes tea.\nGreen.\n"; got != want {
		t.Errorf("the memory is %q, want %q", got, want)
	}
	p.Messages = append(p.Messages, first.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("What do I like?")))
	second, err := client.Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(second), "Again, I look. You like tea."; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	// The upstream saw the hidden rounds again in the later requests.
	requests := up.Requests()
	last := string(requests[len(requests)-1].Body)
	for _, want := range []string{`"command":"view"`, `"command":"create"`, "File created successfully"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last request lacks %s: %s", want, last)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.turns) != 2 || w.turns[0].Rounds != 3 || w.turns[0].MemoryCalls != 3 || w.turns[0].Outcome != "ok" {
		t.Errorf("observed %+v", w.turns)
	}
}

// The accumulation of a stream is what the request without streaming returns.
func TestStreamEqualsWhole(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		var answers []string
		var usages []anthropic.Usage
		for _, streaming := range []bool{false, true} {
			turns := saving()
			if !keeps {
				turns[1].Calls = turns[1].Calls[:1]
			}
			w := newWorld(t, scripted(turns...), func(c *gateway.Config) {
				if !keeps {
					c.State = nil
				}
			})
			client := w.client()
			p := params("I like tea")
			p.Thinking = anthropic.ThinkingConfigParamOfEnabled(2000)
			var m anthropic.Message
			if streaming {
				s := client.Messages.NewStreaming(t.Context(), p)
				for s.Next() {
					if err := m.Accumulate(s.Current()); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Err(); err != nil {
					t.Fatal(err)
				}
			} else {
				whole, err := client.Messages.New(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				m = *whole
			}
			content, err := json.Marshal(m.ToParam())
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, m.ID+" "+string(m.StopReason)+" "+string(content))
			m.Usage.JSON = anthropic.Usage{}.JSON
			usages = append(usages, m.Usage)
		}
		if answers[0] != answers[1] {
			t.Errorf("whole:\n%s\nstreamed:\n%s", answers[0], answers[1])
		}
		if a, b := usages[0], usages[1]; a.InputTokens != b.InputTokens || a.OutputTokens != b.OutputTokens || a.InputTokens < 100 {
			t.Errorf("usage: whole %d in, %d out; streamed %d in, %d out", a.InputTokens, a.OutputTokens, b.InputTokens, b.OutputTokens)
		}
	}
}
