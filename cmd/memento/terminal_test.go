package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 😀\u200d":           "plain é 😀\u200d",
		"\x1b[31mred\x1b[0m":        `\x1b[31mred\x1b[0m`,
		"a\nb\tc\r":                 `a\nb\tc\r`,
		"\x00\x07\x7f\u009b":        `\x00\x07\x7f\x9b`,
		"\u202eevil\u2066":          `\u202eevil\u2066`,
		"\u2028":                    `\u2028`,
		"bad \xff":                  "bad \ufffd",
		"\u200fdirection\u061cmark": `\u200fdirection\u061cmark`,
	} {
		if got := line(in); got != want {
			t.Errorf("line(%q) = %q; want %q", in, got, want)
		}
	}
	if got := printable("a\n\tb\x1b\r"); got != "a\n\tb"+`\x1b\r` {
		t.Errorf("printable kept too much or too little: %q", got)
	}
}

// On a terminal contents are escaped and coloured; elsewhere they are as they are.
func TestTerminalOutput(t *testing.T) {
	const evil = "\x1b]0;owned\x07\n"
	url := database(t)
	for _, text := range []string{"old\n", evil} {
		if code, _, errs := runWith(t, text, "--backend", url, "put", "/a.md"); code != exitOK {
			t.Fatal(errs)
		}
	}
	for _, args := range [][]string{{"cat", "/a.md"}, {"diff", "/a.md"}, {"log"}, {"ls"}, {"search", "owned"}, {"tool", "view", "/memories/a.md"}} {
		for _, terminal := range []bool{false, true} {
			var out, errs bytes.Buffer
			a := newApp(strings.NewReader(""), &out, &errs)
			a.stdoutTTY, a.colour = terminal, terminal
			root := a.rootCommand()
			root.SetArgs(append([]string{"--backend", url}, args...))
			err := root.ExecuteContext(t.Context())
			a.out.Flush()
			if code := a.report(err); code > exitFailure {
				t.Fatalf("%v: %s", args, &errs)
			}
			raw := strings.Contains(out.String(), "\x1b]") || strings.Contains(out.String(), "\x07")
			if terminal && raw {
				t.Errorf("%v sends contents to the terminal as they are: %q", args, &out)
			}
			if !terminal && strings.Contains(out.String(), "\x1b[") {
				t.Errorf("%v colours what is no terminal: %q", args, &out)
			}
			if !terminal && args[0] == "cat" && out.String() != evil {
				t.Errorf("cat wrote %q; want %q", &out, evil)
			}
		}
	}
}
