package main

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"
)

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour reports whether the user permits colours.
func wantsColour() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A colour is the code of an SGR escape sequence.
type colour string

const (
	bold  colour = "1"
	dim   colour = "2"
	red   colour = "31"
	green colour = "32"
	cyan  colour = "36"
	blue  colour = "34;1"
)

// paint colours text on a terminal.
func (a *app) paint(c colour, text string) string {
	if !a.colour || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// line escapes characters that are harmful in a terminal: control characters, line
// separators and bidirectional controls. The result is a single line.
func line(text string) string { return escape(text, "") }

// printable is line for texts of several lines: newlines and tabs stay.
func printable(text string) string { return escape(text, "\n\t") }

func escape(text, keep string) string {
	harmful := func(r rune) bool {
		switch {
		case strings.ContainsRune(keep, r):
			return false
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == unicode.ReplacementChar:
			return true
		}
		return unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.IndexFunc(text, harmful) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !harmful(r) || r == unicode.ReplacementChar:
			b.WriteRune(r)
		case r == '\n', r == '\t', r == '\r':
			b.WriteString(strings.Trim(fmt.Sprintf("%q", r), "'"))
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// contents returns contents for standard output: unchanged or, on a terminal, escaped.
func (a *app) contents(text string) string {
	if a.stdoutTTY {
		return printable(text)
	}
	return text
}

// print writes data to standard output.
func (a *app) print(format string, args ...any) error {
	_, err := fmt.Fprintf(a.out, format, args...)
	return err
}

// header prints the names of columns, on a terminal.
func (a *app) header(format string, args ...any) error {
	if !a.stdoutTTY || a.quiet || a.json {
		return nil
	}
	return a.print("%s\n", a.paint(dim, fmt.Sprintf(format, args...)))
}

// say prints a message to standard error, except with --quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// progress returns functions for a long task: show prints a counter on a terminal, end
// removes it. show is nil without a terminal.
func (a *app) progress(what string) (show func(done int), end func()) {
	if !a.stderrTTY || a.quiet {
		return nil, func() {}
	}
	var next time.Time
	shown := false
	show = func(done int) {
		if now := a.now(); now.After(next) {
			next, shown = now.Add(100*time.Millisecond), true
			fmt.Fprintf(a.stderr, "\r%s %d", what, done)
		}
	}
	return show, func() {
		if shown {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
	}
}
