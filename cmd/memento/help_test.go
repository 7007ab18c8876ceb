package main

import (
	"io"
	"regexp"
	"testing"
)

// rawType matches types of Go that have no place in a help text.
var rawType = regexp.MustCompile(`stringArray|int64|float64|\bstrings\b|\bint32\b`)

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
		if text := c.UsageString(); rawType.MatchString(text) {
			t.Errorf("%s: its help has %q", c.CommandPath(), rawType.FindString(text))
		}
		if c.Short == "" || c.Example == "" || c.Args == nil {
			t.Errorf("%s lacks a summary, an example or a check of its arguments", c.CommandPath())
		}
	}
	if count < 25 {
		t.Errorf("only %d commands", count)
	}
}
