package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The commands of the list in docs/command-line.md exist, and their flags.
func TestCommandList(t *testing.T) {
	text, err := os.ReadFile("../../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "## Commands for people\n\n```\n")
	list, _, _ := strings.Cut(after, "```\n")
	n := 0
	for line := range strings.Lines(list) {
		command := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), 2)[0]
		args := strings.Fields(command)
		root := newApp(strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer)).rootCommand()
		found, rest, err := root.Find(args[1:])
		if err != nil || found == root || found.HasSubCommands() {
			t.Errorf("%s: there is no such command: %v", command, err)
			continue
		}
		if err := found.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		n++
	}
	if n < 20 {
		t.Errorf("the list has %d commands", n)
	}
}
