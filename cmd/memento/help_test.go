package main

import (
	"io"
	"testing"
)

// Every command has a help text with examples.
func TestHelpTexts(t *testing.T) {
	a := newApp(nil, io.Discard, io.Discard)
	root := a.rootCommand()
	count := 0
	for commands := root.Commands(); len(commands) > 0; {
		c := commands[0]
		commands = append(commands[1:], c.Commands()...)
		if c.IsAdditionalHelpTopicCommand() {
			continue
		}
		count++
		if c.Short == "" || c.Example == "" || c.Args == nil {
			t.Errorf("%s lacks a summary, an example or a check of its arguments", c.CommandPath())
		}
	}
	if count < 25 {
		t.Errorf("only %d commands", count)
	}
}
