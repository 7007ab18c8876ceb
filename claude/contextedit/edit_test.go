package contextedit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"memento/claude/claudetest"
	"memento/claude/contextedit"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A talk is a conversation as it grows on the side of a client.
type talk struct {
	model    string
	thinking string // the member thinking, or ""
	tools    string
	history  []json.RawMessage
	uses     int
}

const memoryTools = `[{"type":"memory_20250818","name":"memory"},{"name":"read","input_schema":{"type":"object"}}]`

// body returns the request with messages.
func (c *talk) body(messages []json.RawMessage) []byte {
	list, err := json.Marshal(messages)
	if err != nil {
		panic(err)
	}
	body := fmt.Sprintf(`{"model":%q,"max_tokens":4000,"tools":%s,"messages":%s`, c.model, c.tools, list)
	if c.thinking != "" {
		body += `,"thinking":` + c.thinking
	}
	return []byte(body + "}")
}

func (c *talk) prompt() contextedit.Prompt {
	return contextedit.Prompt{Model: c.model, Tools: json.RawMessage(c.tools), Messages: c.history}
}

func (c *talk) user(blocks ...string) { c.add("user", blocks) }

func (c *talk) add(role string, blocks []string) {
	c.history = append(c.history, json.RawMessage(fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(blocks, ","))))
}

func textOf(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

// call adds a turn of the assistant that calls a tool, and the result.
func (c *talk) call(tool, result string, before ...string) {
	c.uses++
	id := fmt.Sprintf("toolu_%d", c.uses)
	c.add("assistant", append(before, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{"path":"file %d"}}`, id, tool, c.uses)))
	c.user(fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, id, result))
}

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

func edit(t interface {
	Helper()
	Fatal(...any)
}, c contextedit.Config, p contextedit.Prompt, o *contextedit.Options) contextedit.Result {
	t.Helper()
	r, err := c.Edit(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func keep(n int) *int { return &n }

// newTalk returns a conversation with n calls of 1,000 tokens each.
func newTalk(n int) *talk {
	c := &talk{model: "claude-sonnet-4-5", tools: `[{"name":"read","input_schema":{"type":"object"}}]`}
	c.user(textOf("Begin."))
	for range n {
		c.call("read", words(1000))
	}
	return c
}

// cleared returns the numbers of the tool uses whose results are cleared.
func cleared(t *testing.T, messages []json.RawMessage) (all []int) {
	t.Helper()
	for _, raw := range messages {
		var m struct {
			Content []struct {
				ID      string `json:"tool_use_id"`
				Content any
			}
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Content {
			if b.Content == contextedit.Placeholder {
				var n int
				fmt.Sscanf(b.ID, "toolu_%d", &n)
				all = append(all, n)
			}
		}
	}
	return all
}

func TestClearToolUses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		uses  int
		clear contextedit.ClearToolUses
		want  []int
	}{
		{"below the trigger", 8, contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: 9000}}, nil},
		{"beyond the trigger", 10, contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: 10_000}}, []int{1, 2, 3, 4, 5, 6, 7}},
		{"not again at once", 12, contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: 10_000}}, []int{1, 2, 3, 4, 5, 6, 7}},
		{"again", 17, contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: 10_000}}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
		{"by tool uses", 5, contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 5}}, []int{1, 2}},
		{"keep one", 5, contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 5}, Keep: keep(1)}, []int{1, 2, 3, 4}},
		{"keep none", 5, contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 5}, Keep: keep(0)}, []int{1, 2, 3, 4, 5}},
		{"at least more than there is", 5, contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 5}, ClearAtLeast: 2500}, nil},
		{"at least, later", 6, contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 5}, ClearAtLeast: 2500}, []int{1, 2, 3}},
		{"excluded", 6, contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 5}, ExcludeTools: []string{"read"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newTalk(tt.uses)
			r := edit(t, contextedit.Config{ClearToolUses: &tt.clear}, c.prompt(), nil)
			if diff := cmp.Diff(tt.want, cleared(t, r.Messages)); diff != "" {
				t.Errorf("cleared (-want +got):\n%s", diff)
			}
			if err := claudetest.Check(c.body(r.Messages), nil); err != nil {
				t.Error(err)
			}
			var want []contextedit.AppliedEdit
			if n := len(tt.want); n > 0 {
				want = []contextedit.AppliedEdit{{Type: contextedit.TypeClearToolUses, ClearedToolUses: n, ClearedInputTokens: r.OriginalTokens - r.InputTokens}}
			}
			if diff := cmp.Diff(want, r.Applied); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClearToolInputs(t *testing.T) {
	c := newTalk(5)
	for _, clear := range []contextedit.ClearToolUses{
		{Trigger: contextedit.Trigger{ToolUses: 5}, ClearInputs: true},
		{Trigger: contextedit.Trigger{ToolUses: 5}, ClearInputsOf: []string{"read"}},
		{Trigger: contextedit.Trigger{ToolUses: 5}, ClearInputsOf: []string{"other"}},
	} {
		r := edit(t, contextedit.Config{ClearToolUses: &clear}, c.prompt(), nil)
		sent := string(c.body(r.Messages))
		for n, want := range map[int]bool{1: clear.ClearInputsOf == nil || clear.ClearInputsOf[0] == "read", 2: clear.ClearInputsOf == nil || clear.ClearInputsOf[0] == "read", 3: false} {
			if gone := !strings.Contains(sent, fmt.Sprintf("file %d", n)); gone != want {
				t.Errorf("%+v: the input of call %d is gone: %t", clear, n, gone)
			}
		}
		if err := claudetest.Check(c.body(r.Messages), nil); err != nil {
			t.Error(err)
		}
	}
}

// What a result has beside its content stays.
func TestClearedResultKeepsItsMembers(t *testing.T) {
	c := newTalk(0)
	c.add("assistant", []string{`{"type":"tool_use","id":"a","name":"read","input":{}}`})
	c.user(fmt.Sprintf(`{"type":"tool_result","tool_use_id":"a","is_error":true,"cache_control":{"type":"ephemeral"},"content":[%s]}`, textOf(words(100))))
	r := edit(t, contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 1}, Keep: keep(0)}}, c.prompt(), nil)
	want := `{"role":"user","content":[{"cache_control":{"type":"ephemeral"},"content":"[Cleared by context management]","is_error":true,"tool_use_id":"a","type":"tool_result"}]}`
	if got := string(r.Messages[2]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The model is warned before each clearing, once, and only with the memory tool.
func TestWarning(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tools   string
		trigger contextedit.Trigger
		results int // tokens of each
		no      bool
		warned  bool
	}{
		{"memory", memoryTools, contextedit.Trigger{InputTokens: 10_000}, 500, false, true},
		{"large results", memoryTools, contextedit.Trigger{InputTokens: 10_000}, 1500, false, true},
		{"by tool uses", memoryTools, contextedit.Trigger{ToolUses: 10}, 100, false, true},
		{"switched off", memoryTools, contextedit.Trigger{InputTokens: 10_000}, 500, true, false},
		{"without memory", `[{"name":"read","input_schema":{"type":"object"}}]`, contextedit.Trigger{InputTokens: 10_000}, 500, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newTalk(0)
			c.tools = tt.tools
			config := contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{Trigger: tt.trigger, ExcludeTools: []string{"memory"}}}
			clearings, warned, total := 0, false, 0
			for range 60 {
				c.call("read", words(tt.results))
				r := edit(t, config, c.prompt(), &contextedit.Options{NoWarning: tt.no})
				now := 0
				for _, a := range r.Applied {
					now = a.ClearedToolUses
				}
				if now > total {
					if clearings++; tt.warned && !warned {
						t.Fatalf("clearing %d comes without a warning", clearings)
					}
					total, warned = now, false
				}
				if r.Warned {
					if warned {
						t.Fatal("warned twice before one clearing")
					}
					warned = true
					if !bytes.Contains(r.Messages[len(r.Messages)-1], []byte(contextedit.Warning)) {
						t.Fatal("the last message has no warning")
					}
				}
				if warned && !tt.warned {
					t.Fatal("warned")
				}
			}
			if clearings < 3 {
				t.Errorf("%d clearings", clearings)
			}
		})
	}
}

// A clearing does not wait for a warning to be read if the window has no room.
func TestWindowIsKept(t *testing.T) {
	c := newTalk(0)
	c.tools = memoryTools
	config := contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: 10_000}}}
	for range 40 {
		c.call("read", words(3000))
		r := edit(t, config, c.prompt(), &contextedit.Options{Window: 11_000})
		if r.InputTokens > 11_000 && len(cleared(t, r.Messages)) < c.uses-contextedit.DefaultKeepToolUses {
			t.Fatalf("%d tokens, and more could be cleared", r.InputTokens)
		}
	}
}

func TestClearThinking(t *testing.T) {
	build := func(model string) *talk {
		c := &talk{model: model, tools: memoryTools, thinking: `{"type":"adaptive"}`}
		for turn := range 4 {
			c.user(textOf(fmt.Sprintf("Question %d.", turn)))
			for step := range 2 {
				thought, err := claudetest.NewThinking(c.body(c.history), fmt.Sprintf("thought %d.%d", turn, step), nil)
				if err != nil {
					t.Fatal(err)
				}
				if step == 0 {
					c.call("read", "short", string(thought))
				} else if turn < 3 {
					c.add("assistant", []string{string(thought), textOf("Answer.")})
				}
			}
		}
		return c
	}
	all := []string{"thought 0.0", "thought 0.1", "thought 1.0", "thought 1.1", "thought 2.0", "thought 2.1", "thought 3.0"}
	for _, tt := range []struct {
		name  string
		model string
		clear contextedit.ClearThinking
		gone  int // how many of all
		turns int
	}{
		{"older model", "claude-sonnet-4-5", contextedit.ClearThinking{}, 6, 3},
		{"newer model", "claude-opus-4-6", contextedit.ClearThinking{}, 0, 0},
		{"two turns", "claude-opus-4-6", contextedit.ClearThinking{KeepTurns: 2}, 4, 2},
		{"more turns than there are", "claude-opus-4-6", contextedit.ClearThinking{KeepTurns: 9}, 0, 0},
		{"all", "claude-sonnet-4-5", contextedit.ClearThinking{KeepAll: true}, 0, 0},
		{"bound thinking", "claude-fable-5-1", contextedit.ClearThinking{KeepTurns: 1}, 6, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := build(tt.model)
			r := edit(t, contextedit.Config{ClearThinking: &tt.clear}, c.prompt(), nil)
			sent := c.body(r.Messages)
			for i, thought := range all {
				if gone := !bytes.Contains(sent, []byte(thought)); gone != (i < tt.gone) {
					t.Errorf("%s is gone: %t", thought, gone)
				}
			}
			turns := 0
			for _, a := range r.Applied {
				turns += a.ClearedThinkingTurns
			}
			if turns != tt.turns {
				t.Errorf("%d turns are reported, want %d", turns, tt.turns)
			}
			if err := claudetest.Check(sent, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func cloneAll(messages []json.RawMessage) (all []json.RawMessage) {
	for _, m := range messages {
		all = append(all, bytes.Clone(m))
	}
	return all
}

// anyConfig draws a configuration with low triggers.
func anyConfig(t *rapid.T, thinking bool) contextedit.Config {
	c := contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{
		Keep:         keep(rapid.IntRange(0, 4).Draw(t, "keep")),
		ClearAtLeast: rapid.SampledFrom([]int{0, 0, 50, 400}).Draw(t, "clear_at_least"),
		ClearInputs:  rapid.Bool().Draw(t, "inputs"),
	}}
	if rapid.Bool().Draw(t, "exclude") {
		c.ClearToolUses.ExcludeTools = []string{"memory"}
	}
	if rapid.Bool().Draw(t, "by tool uses") {
		c.ClearToolUses.Trigger.ToolUses = rapid.IntRange(1, 8).Draw(t, "tool uses")
	} else {
		c.ClearToolUses.Trigger.InputTokens = rapid.IntRange(800, 3000).Draw(t, "tokens")
	}
	if thinking && rapid.Bool().Draw(t, "clear thinking") {
		c.ClearThinking = &contextedit.ClearThinking{KeepTurns: rapid.IntRange(0, 2).Draw(t, "turns"), KeepAll: rapid.Bool().Draw(t, "all")}
	}
	return c
}

// Whatever a conversation is, each of its requests keeps the rules of the API, editing
// is deterministic and idempotent, and the beginning of the prompt stays as it is until
// more is cleared.
func TestConversations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &talk{tools: memoryTools}
		c.model = rapid.SampledFrom([]string{"claude-sonnet-4-5", "claude-opus-4-6", "claude-fable-5-1"}).Draw(t, "model")
		if rapid.Bool().Draw(t, "thinking") {
			c.thinking = `{"type":"adaptive"}`
			if c.model == "claude-sonnet-4-5" {
				c.thinking = `{"type":"enabled","budget_tokens":1024}`
			}
		}
		config := anyConfig(t, c.thinking != "")
		c.user(textOf("Begin."))
		var last contextedit.Result
		for range rapid.IntRange(1, 16).Draw(t, "requests") {
			given := cloneAll(c.history)
			r := edit(t, config, c.prompt(), nil)
			if !reflect.DeepEqual(given, c.history) {
				t.Fatal("the history was changed")
			}
			sent := c.body(r.Messages)
			if err := claudetest.Check(sent, nil); err != nil {
				t.Fatalf("%v\nhistory %s\nsent %s", err, c.body(c.history), sent)
			}
			withState := edit(t, config, c.prompt(), &contextedit.Options{State: last.State})
			if !reflect.DeepEqual(r, withState) {
				t.Fatalf("with the last state it is something else:\n%s", cmp.Diff(r, withState))
			}
			p := c.prompt()
			p.Messages = r.Messages
			again := edit(t, config, p, nil)
			if !reflect.DeepEqual(r.Messages, again.Messages) {
				t.Fatalf("editing twice (-once +twice):\n%s", cmp.Diff(r.Messages, again.Messages))
			}
			if slices.Equal(r.Applied, last.Applied) && last.Messages != nil {
				for i, m := range last.Messages {
					if !bytes.Equal(m, r.Messages[i]) {
						t.Fatalf("nothing was cleared, and message %d changed:\n%s\n%s", i, m, r.Messages[i])
					}
				}
			}
			saved := 0
			for _, a := range r.Applied {
				saved += a.ClearedInputTokens
			}
			warnings := bytes.Count(sent, []byte("Context is nearly full")) * contextedit.Estimate([]byte(textOf(contextedit.Warning)))
			if r.InputTokens > r.OriginalTokens-saved+warnings {
				t.Fatalf("%d tokens of %d, with %d cleared", r.InputTokens, r.OriginalTokens, saved)
			}
			last = r

			var before []string
			if c.thinking != "" {
				// The model has seen the edited prompt.
				thought, err := claudetest.NewThinking(sent, "thought", nil)
				if err != nil {
					t.Fatal(err)
				}
				before = append(before, string(thought))
			}
			switch rapid.IntRange(0, 5).Draw(t, "answer") {
			case 0:
				c.add("assistant", append(before, textOf("Answer.")))
				c.user(textOf("Next question."))
			case 1:
				c.call("memory", "File created successfully at: /memories/a", before...)
			default:
				c.call("read", words(rapid.IntRange(1, 400).Draw(t, "words")), before...)
			}
		}
	})
}

// An estimate that was corrected does not change what was decided before.
func TestScaleWithState(t *testing.T) {
	config := contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: 10_000}}}
	c := newTalk(9)
	r := edit(t, config, c.prompt(), nil)
	if len(r.Applied) > 0 {
		t.Fatal("cleared too early")
	}
	double := edit(t, config, c.prompt(), &contextedit.Options{Scale: 2, State: r.State})
	if double.InputTokens != 2*r.InputTokens {
		t.Errorf("%d tokens, want twice %d", double.InputTokens, r.InputTokens)
	}
	if len(double.Applied) > 0 {
		t.Error("what was decided was decided again")
	}
	c.call("read", words(1000))
	if r = edit(t, config, c.prompt(), &contextedit.Options{Scale: 2, State: r.State}); len(r.Applied) == 0 {
		t.Error("nothing was cleared at twice the trigger")
	}
}

func TestCompactionBlockIsTheBeginning(t *testing.T) {
	c := newTalk(20)
	c.add("assistant", []string{string(contextedit.NewBlock("So far."))})
	c.user(textOf("Go on."))
	for range 4 {
		c.call("read", words(1000))
	}
	r := edit(t, contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: 4}}}, c.prompt(), nil)
	if diff := cmp.Diff([]int{21}, cleared(t, r.Messages)); diff != "" {
		t.Errorf("cleared (-want +got):\n%s", diff)
	}
	if r.OriginalTokens > 5000 {
		t.Errorf("%d tokens: what the summary replaced is counted", r.OriginalTokens)
	}
}

func TestNegativeNumbers(t *testing.T) {
	negative := -1
	for _, c := range []contextedit.Config{
		{ClearToolUses: &contextedit.ClearToolUses{Keep: &negative}},
		{ClearToolUses: &contextedit.ClearToolUses{ClearAtLeast: -1}},
		{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{InputTokens: -1}}},
		{ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: -1}}},
		{ClearThinking: &contextedit.ClearThinking{KeepTurns: -1}},
	} {
		if _, err := c.Edit(newTalk(6).prompt(), nil); !errors.Is(err, contextedit.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", c, err)
		}
	}
}

// FuzzEdit: no input makes Edit fail in another way than with an error, and a request
// that keeps the rules keeps them when it is edited.
func FuzzEdit(f *testing.F) {
	c := newTalk(6)
	f.Add(c.body(c.history), 3, 1)
	f.Add(c.body(c.history), 1, -42)
	f.Add([]byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"user","content":[]}]}`), 1, 0)
	f.Add([]byte(`{"messages":[{"role":"assistant","content":[{"type":"compaction","content":"x"},{"type":"tool_use","id":"a","name":"b","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`), 1, 0)
	f.Fuzz(func(t *testing.T, body []byte, uses, keeping int) {
		request, err := contextedit.ParseRequest(body)
		if err != nil {
			return
		}
		config := contextedit.Config{
			ClearThinking: &contextedit.ClearThinking{KeepTurns: 1},
			ClearToolUses: &contextedit.ClearToolUses{Trigger: contextedit.Trigger{ToolUses: uses}, Keep: &keeping},
		}
		r, err := config.Edit(request.Prompt, nil)
		if err != nil {
			return
		}
		if claudetest.Check(body, nil) != nil {
			return
		}
		if err := claudetest.Check(request.Body(r.Messages), nil); err != nil {
			t.Errorf("%v\nsent %s", err, request.Body(r.Messages))
		}
	})
}
