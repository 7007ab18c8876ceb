package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	failureLines = 40  // that the report spends on what failed: CI shows the end of its log
	lineBytes    = 300 // of each of them
)

// A failure is a test, a package or a command that failed, and what it printed.
type failure struct{ name, output string }

// failures is the error of a suite in which some failed.
type failures []failure

func (f failures) Error() string {
	names := make([]string, 0, len(f))
	for _, one := range f {
		names = append(names, one.name)
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("and %d more", more))
	}
	return "failed: " + strings.Join(names, ", ")
}

// asFailures returns what a suite's error is about.
func asFailures(err error) failures {
	if several, ok := errors.AsType[failures](err); ok {
		return several
	}
	message, detail, _ := strings.Cut(err.Error(), "\n")
	return failures{{message, detail}}
}

// report returns the end of what is printed: the result of each suite, and then each
// failure with its output, on at most [failureLines] lines.
func report(results []string, failed failures) string {
	lines := append([]string{""}, results...)
	if len(failed) > 0 {
		lines = append(lines, "", fmt.Sprintf("%d failed; all that they printed is above:", len(failed)))
		lines = append(lines, failed.lines(failureLines-2)...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// lines returns n lines at most: the name of each failure, and of its output as much as fits.
func (f failures) lines(n int) (lines []string) {
	if more := len(f) - n; more > 0 {
		return append(f[:n-1].lines(n-1), fmt.Sprintf("and %d more", more+1))
	}
	outputs, wanted := make([][]string, len(f)), make([]int, len(f))
	for i, one := range f {
		outputs[i] = ownLines(one.output)
		wanted[i] = len(outputs[i])
	}
	for i, share := range shares(n-len(f), wanted) {
		lines = append(lines, clipped("FAIL "+f[i].name))
		for _, line := range shortened(outputs[i], share) {
			lines = append(lines, clipped("     "+line))
		}
	}
	return lines
}

// shares divides n lines among outputs that want some, so that the short ones are whole and
// the others get equal parts.
func shares(n int, wanted []int) []int {
	got := make([]int, len(wanted))
	for progress := true; progress; {
		progress = false
		for i := range wanted {
			if n > 0 && got[i] < wanted[i] {
				got[i]++
				n--
				progress = true
			}
		}
	}
	return got
}

// ownLines returns the lines of a test's output without those that package testing and the
// go command add.
func ownLines(output string) []string {
	return slices.DeleteFunc(strings.Split(output, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- FAIL: ", "--- PASS: ", "FAIL\t", "exit status "} {
			if strings.HasPrefix(line, prefix) {
				return true
			}
		}
		return line == "" || line == "FAIL" || line == "PASS"
	})
}

// shortened returns the beginning and the end of lines: at most n.
func shortened(lines []string, n int) []string {
	switch {
	case len(lines) <= n:
		return lines
	case n < 3:
		return lines[:n]
	}
	head := n / 2
	tail := n - 1 - head
	gap := fmt.Sprintf("… %d lines …", len(lines)-head-tail)
	return slices.Concat(lines[:head], []string{gap}, lines[len(lines)-tail:])
}

// clipped returns the beginning of a long line.
func clipped(line string) string {
	if len(line) <= lineBytes {
		return line
	}
	end := lineBytes
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + "…"
}

// A tail is a writer that keeps the end of what is written.
type tail struct{ text []byte }

const tailBytes = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailBytes; extra > tailBytes {
		t.text = slices.Delete(t.text, 0, extra)
	}
	return len(p), nil
}
