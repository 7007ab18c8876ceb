package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"memento"
	"memento/claude/claudetest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/spf13/cobra"
)

// Names of the demonstrations.
const (
	demoSupport     = "support"
	demoRefactoring = "refactoring"
)

func (a *app) demoCommand() *cobra.Command {
	var seed uint64
	c := &cobra.Command{
		Use:   "demo [support|refactoring]",
		Short: "Show an agent with memory, without a key",
		Long: `Demo runs an agent with memory against a scripted upstream in this process. It needs
no API key and no network: the agent, its tools, its memory and the protocol are real,
and only the model is a script. See docs/testing-agents.md.

support (the default) is an agent that meets a customer twice, each time with an empty
context, and forgets nothing in between. What it writes stays in the store: --store, or
a store named demo, which must be empty.

refactoring makes more than 200 tool calls under a small context window. It runs three
times: without context editing, with the edits of the API, and with the edits of
package contextedit in the client. The agent saves its progress before its context is
cleared, and finds what it needs again in its memory. Its memories are not kept.`,
		Example: `  memento demo
  memento --store demo log
  memento demo refactoring`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{demoSupport, demoRefactoring},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("seed") {
				seed = rand.Uint64()
			}
			switch name := strings.Join(args, ""); name {
			case "", demoSupport:
				return a.demoSupport(cmd.Context(), seed)
			case demoRefactoring:
				return a.demoRefactoring(cmd.Context(), seed)
			default:
				return usage("there is no demonstration %q; there are %s and %s", name, demoSupport, demoRefactoring)
			}
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 0, "`NUMBER` that selects what the agent is told, such as serial numbers: the same for the same number (default: another one each time)")
	return c
}

// demoSupport plays the scenario of a support agent on the selected store.
func (a *app) demoSupport(ctx context.Context, seed uint64) error {
	a.storeName = cmp.Or(a.storeName, os.Getenv("MEMENTO_STORE"), "demo")
	return a.withNewStore(ctx, func(s *memento.Store) error {
		for _, err := range s.List(ctx, memento.ListOptions{Depth: 1, Brief: true}) {
			if err != nil && !errors.Is(err, memento.ErrNoStore) {
				return err
			}
			if err == nil {
				return hint(fmt.Errorf("%w: the store %s has memories already", memento.ErrExist, line(a.storeName)), `choose another store with --store, or delete this one with "memento stores delete"`)
			}
		}
		d, err := startDemo(claudetest.Support(), seed, nil)
		if err != nil {
			return err
		}
		defer d.close()
		d.heard = a.printDemo
		for i, conversation := range d.scenario.Conversations {
			if err := a.demoHeading("conversation %d, with an empty context", i+1); err != nil {
				return err
			}
			if err := d.converse(ctx, s, conversation); err != nil {
				return err
			}
		}
		if a.json {
			return nil
		}
		return a.print("\nThe agent's memory is in the store %[1]s:\n\n  memento --store %[1]s ls\n  memento --store %[1]s log\n  memento --store %[1]s cat /customers/alex.xml\n", line(a.storeName))
	})
}

func (a *app) demoHeading(format string, args ...any) error {
	if a.json {
		return nil
	}
	return a.print("\n%s\n", a.paint(dim, "── "+fmt.Sprintf(format, args...)+" ──"))
}

// A demoLine is one thing that happens in a demonstration.
type demoLine struct {
	Conversation string          `json:"conversation"`
	Who          string          `json:"who"` // user, agent, or the name of a tool
	Text         string          `json:"text,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
}

// printDemo prints what happens as it happens.
func (a *app) printDemo(l demoLine) error {
	if a.json {
		return a.writeJSON(l)
	}
	if l.Input == nil {
		return a.print("%-8s %s\n", l.Who+":", a.contents(l.Text))
	}
	var input struct{ Command, Path, Number string }
	_ = json.Unmarshal(l.Input, &input) // what is shown is a summary
	return a.print("%s\n", a.paint(dim, strings.Join(strings.Fields(fmt.Sprintf("  %s %s %s %s", l.Who, line(input.Command), line(input.Path), line(input.Number))), " ")))
}

// saidIn returns the text of a message.
func saidIn(m *anthropic.BetaMessage) string {
	var all []string
	for _, b := range m.Content {
		if b.Type == "text" {
			all = append(all, strings.TrimSpace(b.Text))
		}
	}
	return strings.Join(all, "\n")
}
