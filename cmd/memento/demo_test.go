package main

import (
	"testing"

	"memento"
	"memento/sensitive"
)

// The long workflow ends in each mode with the prompt within its window, with a save
// before each clearing, and with all planted facts found again.
func TestDemoRefactoring(t *testing.T) {
	sent := map[string]int{}
	for _, mode := range demoModes {
		r, err := runRefactoring(t.Context(), 7, mode.name, mode.server, mode.client, &memento.StoreOptions{Detector: sensitive.Default()})
		if err != nil {
			t.Fatalf("%s: %v", mode.name, err)
		}
		sent[mode.name] = r.TokensSent
		if r.LargestPrompt > r.Window || r.ToolCalls != 200 || r.FactsPlanted != 10 || r.FactsFound != 10 {
			t.Errorf("%+v", r)
		}
		if mode.server || mode.client {
			if r.Clearings < 3 || r.Saved != r.Clearings {
				t.Errorf("%s: %d clearings, %d after a save", mode.name, r.Clearings, r.Saved)
			}
			if r.Recalls < 2 {
				t.Errorf("%s: the progress file was viewed %d times", mode.name, r.Recalls)
			}
		} else if r.Clearings != 0 {
			t.Errorf("%s: %d clearings", mode.name, r.Clearings)
		}
	}
	for _, mode := range []string{"server", "contextedit"} {
		if 2*sent[mode] > sent["off"] {
			t.Errorf("%s sends %d tokens, of %d without", mode, sent[mode], sent["off"])
		}
	}
}
