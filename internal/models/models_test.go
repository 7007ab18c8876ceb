package models

import "testing"

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		model        string
		family       string
		major, minor int
	}{
		{"claude-opus-4-5", "opus", 4, 5},
		{"claude-opus-4-5-20251101", "opus", 4, 5},
		{"claude-opus-4-20250514", "opus", 4, 0},
		{"claude-opus-4", "opus", 4, 0},
		{"claude-sonnet-5", "sonnet", 5, 0},
		{"claude-sonnet-5-5", "sonnet", 5, 5},
		{"claude-haiku-4-5-20251001", "haiku", 4, 5},
		{"claude-mythos-preview", "mythos", 0, 0},
		{"claude-opus-10-12", "opus", 10, 12},
		{"us.anthropic.claude-opus-4-6-v1:0", "opus", 4, 6},
		{"anthropic.claude-sonnet-4-20250514-v1:0", "sonnet", 4, 0},
		{"claude-opus-4-1@20250805", "opus", 4, 1},
		{"anthropic/claude-opus-4.6", "opus", 4, 6},
		{"claude-3-7-sonnet-20250219", "sonnet", 3, 7},
		{"claude-3-opus-latest", "opus", 3, 0},
		{"CLAUDE-OPUS-4-6", "opus", 4, 6},
	} {
		family, major, minor, ok := parse(tt.model)
		if !ok || family != tt.family || major != tt.major || minor != tt.minor {
			t.Errorf("parse(%q) = %q, %d, %d, %t", tt.model, family, major, minor, ok)
		}
	}
	for _, model := range []string{"", "gpt-4", "claude", "my-model"} {
		if family, _, _, ok := parse(model); ok {
			t.Errorf("parse(%q) finds %q", model, family)
		}
	}
}

func TestSupportOf(t *testing.T) {
	type want struct{ memory, editing, compaction, keeps, forced, binds bool }
	for model, w := range map[string]want{
		"claude-3-7-sonnet-20250219": {},
		"claude-3-opus-latest":       {},
		"claude-opus-4-20250514":     {memory: true, editing: true, forced: true},
		"claude-opus-4-1":            {memory: true, editing: true, forced: true},
		"claude-opus-4-5":            {memory: true, editing: true, keeps: true, forced: true},
		"claude-opus-4-6":            {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-opus-5":              {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-opus-5-5":            {memory: true, editing: true, compaction: true, keeps: true, binds: true},
		"claude-opus-9":              {memory: true, editing: true, compaction: true, keeps: true, binds: true},
		"claude-sonnet-4-5":          {memory: true, editing: true, forced: true},
		"claude-sonnet-4-6":          {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-sonnet-5-5":          {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-haiku-4-5":           {memory: true, editing: true, forced: true},
		"claude-haiku-5-5":           {memory: true, editing: true, forced: true},
		"claude-fable-5":             {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-fable-5-2":           {memory: true, editing: true, compaction: true, keeps: true, binds: true},
		"claude-mythos-preview":      {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-mythos-5-2":          {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"some-other-model":           {memory: true, editing: true, compaction: true, keeps: true, forced: true},
		"claude-minstrel-7":          {memory: true, editing: true, compaction: true, keeps: true, forced: true},
	} {
		s := SupportOf(model)
		if got := (want{s.Memory, s.ContextEditing, s.Compaction, s.KeepsThinking, s.ForcedTools, s.BindsThinking}); got != w {
			t.Errorf("SupportOf(%q) = %+v, want %+v", model, got, w)
		}
	}
}

func TestThinkingBudgetAndPrefill(t *testing.T) {
	for model, want := range map[string][2]bool{
		"claude-opus-4-5":            {true, true},
		"claude-opus-4-6":            {true, false},
		"claude-opus-4-7":            {false, false},
		"claude-sonnet-4-5-20250929": {true, true},
		"claude-sonnet-5":            {false, false},
		"claude-haiku-4-5":           {true, true},
		"claude-fable-5-1":           {false, false},
	} {
		if s := SupportOf(model); s.ThinkingBudget != want[0] || s.Prefill != want[1] {
			t.Errorf("SupportOf(%q): ThinkingBudget %t, Prefill %t", model, s.ThinkingBudget, s.Prefill)
		}
	}
}
