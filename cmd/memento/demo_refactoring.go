package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"memento"
	"memento/backend/storeurl"
	"memento/claude"
	"memento/claude/claudetest"
	"memento/claude/contextedit"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// Sizes of the refactoring, in tokens.
const (
	demoWindow       = 40_000  // with context editing
	demoLargeWindow  = 200_000 // without
	demoTrigger      = 25_000
	demoClearAtLeast = 5_000
)

// progressFile is what the agent goes on from.
const progressFile = memento.Path("/refactoring_progress.xml")

// demoModes are the ways to keep the context small.
var demoModes = []struct {
	name, about string
	server      bool
	client      bool
}{
	{name: "off", about: "nothing is cleared"},
	{name: "server", about: "the API clears, with clear_tool_uses_20250919", server: true},
	{name: "contextedit", about: "the client clears, with package contextedit", client: true},
}

// A demoRun is what came of the refactoring in one mode.
type demoRun struct {
	Mode          string `json:"mode"`
	Requests      int    `json:"requests"`
	Window        int    `json:"context_window"`
	TokensSent    int    `json:"tokens_sent"` // of all prompts, as the model saw them
	LargestPrompt int    `json:"largest_prompt"`
	Clearings     int    `json:"clearings"`
	Saved         int    `json:"saved"`         // clearings with a save of the progress since the one before
	ToolCalls     int    `json:"tool_calls"`    // without the memory tool
	FactsFound    int    `json:"facts_found"`   // anchors that were given correctly
	FactsPlanted  int    `json:"facts_planted"` // anchors in the contracts
	Recalls       int    `json:"recalls"`       // views of the progress file

	progress string
	savedAt  []int // for each save, how many requests came before
}

// demoRefactoring plays the refactoring in all modes.
func (a *app) demoRefactoring(ctx context.Context, seed uint64) error {
	if !a.json {
		if err := a.print("%s\n\n%-12s %9s %13s %15s %9s  %-6s %7s  %s\n", claudetest.Refactoring().About,
			"mode", "requests", "tokens sent", "largest prompt", "clearings", "saved", "recalls", "facts found"); err != nil {
			return err
		}
	}
	var last *demoRun
	for _, mode := range demoModes {
		r, err := runRefactoring(ctx, seed, mode.name, mode.server, mode.client, a.storeOptions())
		if err != nil {
			return fmt.Errorf("%s: %w", mode.name, err)
		}
		if last = r; a.json {
			err = a.writeJSON(r)
		} else {
			err = a.print("%-12s %9d %13s %15s %9d  %-6s %7d  %d/%d\n", r.Mode, r.Requests, thousands(r.TokensSent), thousands(r.LargestPrompt), r.Clearings, fmt.Sprintf("%d/%d", r.Saved, r.Clearings), r.Recalls, r.FactsFound, r.FactsPlanted)
		}
		if err != nil {
			return err
		}
		_ = a.out.Flush() // each run takes a moment; an error comes again at the end
	}
	if a.json {
		return nil
	}
	return a.print("\n%s", a.demoExplanation(last))
}

func (a *app) demoExplanation(r *demoRun) string {
	var b strings.Builder
	for _, mode := range demoModes {
		fmt.Fprintf(&b, "%-12s %s\n", mode.name, mode.about)
	}
	fmt.Fprintf(&b, "\nThe context window has %s tokens, and %s without clearing. The agent made %d calls, was\nwarned before each clearing, saved its progress, and read its file again when it needed what was gone.\n\n/memories%s at the end:\n\n",
		thousands(demoWindow), thousands(demoLargeWindow), r.ToolCalls, progressFile)
	for l := range strings.Lines(r.progress) {
		fmt.Fprintf(&b, "  %s", a.contents(l))
	}
	return b.String()
}

// thousands writes n with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// runRefactoring plays the refactoring on a store in memory.
func runRefactoring(ctx context.Context, seed uint64, name string, server, client bool, o *memento.StoreOptions) (*demoRun, error) {
	r := &demoRun{Mode: name, Window: demoWindow}
	if !server && !client {
		r.Window = demoLargeWindow
	}
	var cleared []int // in the order of the requests
	edited := &contextedit.Transport{
		Config: contextedit.Config{ClearToolUses: &contextedit.ClearToolUses{
			Trigger: contextedit.Trigger{InputTokens: demoTrigger}, ClearAtLeast: demoClearAtLeast,
			ClearInputs: true, ExcludeTools: []string{memento.ToolName},
		}},
		Options: contextedit.Options{Window: demoWindow},
		Edited: func(result contextedit.Result) {
			n := 0
			for _, a := range result.Applied {
				n += a.ClearedToolUses
			}
			cleared = append(cleared, n)
		},
	}
	var options []option.RequestOption
	if client {
		options = append(options, option.WithHTTPClient(&http.Client{Transport: edited}))
	}
	d, err := startDemo(claudetest.Refactoring(), seed, &claudetest.Options{ContextWindow: r.Window}, options...)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if server {
		clear := claude.ClearToolUses()
		clear.OfClearToolUses20250919.Trigger.OfInputTokens = &anthropic.BetaInputTokensTriggerParam{Value: demoTrigger}
		clear.OfClearToolUses20250919.ClearAtLeast.Value = demoClearAtLeast
		clear.OfClearToolUses20250919.ClearToolInputs.OfBool = anthropic.Bool(true)
		d.edits = []claude.Edit{clear}
	}
	d.called = func(tool string, input json.RawMessage) { r.count(d.world, tool, input) }
	d.heard = func(l demoLine) error {
		var call struct {
			Command string
			Text    string `json:"insert_text"`
		}
		if l.Who == memento.ToolName && json.Unmarshal(l.Input, &call) == nil {
			if call.Command == "view" {
				r.Recalls++
			}
			if strings.Contains(call.Text, `before="clearing"`) {
				r.savedAt = append(r.savedAt, len(d.upstream.Requests()))
			}
		}
		return nil
	}
	b, err := storeurl.Open(ctx, "mem:", nil)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "demo"}, o)
	if err := d.converse(ctx, s, d.scenario.Conversations[0]); err != nil {
		return nil, err
	}
	for _, request := range d.upstream.Requests() {
		r.Requests++
		r.TokensSent += request.InputTokens
		r.LargestPrompt = max(r.LargestPrompt, request.InputTokens)
		if server {
			cleared = append(cleared, request.ClearedToolUses)
		}
	}
	r.countClearings(cleared)
	memory, err := s.Get(ctx, memento.ByPath(progressFile))
	if err != nil {
		return nil, err
	}
	r.progress = memory.Content
	return r, nil
}

// count counts a call, and checks the anchor of a module against the world.
func (r *demoRun) count(w *claudetest.World, tool string, input json.RawMessage) {
	r.ToolCalls++
	var call struct{ Module, Anchor string }
	if tool != "finish_module" || json.Unmarshal(input, &call) != nil {
		return
	}
	r.FactsPlanted++
	if call.Anchor == w.Planted(call.Module+"/contract.go") {
		r.FactsFound++
	}
}

// countClearings counts how often the number of cleared tool uses grows from one request
// to the next, and how often the progress was saved before that.
func (r *demoRun) countClearings(cleared []int) {
	last, before := 0, 0
	for i, n := range cleared {
		if n <= last {
			continue
		}
		last = n
		r.Clearings++
		if slices.ContainsFunc(r.savedAt, func(at int) bool { return at > before && at <= i }) {
			r.Saved++
		}
		before = i
	}
}
