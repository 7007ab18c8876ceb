package memento

import (
	"fmt"
	"slices"
	"strings"

	"memento/internal/lines"
)

// The pure part of the commands that edit text.
//
// Lines are as in package lines; they count from 1.

// lineAt returns the number of the line that holds the byte at offset.
func lineAt(text string, offset int) int {
	return strings.Count(text[:offset], "\n") + 1
}

// lineOffset returns where line n starts; one past the last line is the end.
func lineOffset(text string, n int) int {
	offset := 0
	for range n - 1 {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			return len(text)
		}
		offset += i + 1
	}
	return offset
}

// A matchError says where the text to be replaced occurs, if not exactly once.
type matchError struct {
	lines []int // of each occurrence, overlapping ones included; none repeated
}

func (e *matchError) Error() string {
	if len(e.lines) == 0 {
		return ErrNoMatch.Error()
	}
	return fmt.Sprintf("%v, in lines %v", ErrManyMatches, e.lines)
}

func (e *matchError) Unwrap() error {
	if len(e.lines) == 0 {
		return ErrNoMatch
	}
	return ErrManyMatches
}

// replaceOnce replaces the only occurrence of old, which must not be empty, by
// new, both literally. It returns the offset of the replacement as well.
func replaceOnce(text, old, new string) (edited string, at int, err error) {
	at = strings.Index(text, old)
	if at < 0 {
		return "", 0, &matchError{}
	}
	// Another occurrence may overlap the first.
	if next := strings.Index(text[at+1:], old); next >= 0 {
		return "", 0, &matchError{lines: occurrences(text, old)}
	}
	return text[:at] + new + text[at+len(old):], at, nil
}

// occurrences returns the lines on which old begins, overlapping ones included.
func occurrences(text, old string) []int {
	var lines []int
	line, counted := 1, 0
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return slices.Compact(lines)
		}
		at := from + i
		line += strings.Count(text[counted:at], "\n")
		counted = at
		lines = append(lines, line)
		from = at + 1
	}
}

// A rangeError says that a line is not among those a text has.
type rangeError struct {
	lines int // that the text has
}

func (e *rangeError) Error() string { return fmt.Sprintf("%v: [0, %d]", ErrOutOfRange, e.lines) }
func (e *rangeError) Unwrap() error { return ErrOutOfRange }

// insertAfter puts insert, as whole lines, after line n of text; 0 is the top.
// At the end, the text keeps ending with "\n" or not as it did, unless the last
// line is empty now, which needs its "\n"; an empty text becomes the
// inserted text as it stands.
func insertAfter(text string, n int, insert string) (string, error) {
	total := lines.Count(text)
	if n < 0 || n > total {
		return "", &rangeError{lines: total}
	}
	if text == "" && insert != "" {
		return insert, nil
	}
	insert = strings.TrimSuffix(insert, "\n") + "\n"
	at := lineOffset(text, n+1)
	if at == len(text) && text != "" && text[len(text)-1] != '\n' {
		if last := strings.TrimSuffix(insert, "\n"); last != "" && last[len(last)-1] != '\n' {
			insert = last
		}
		return text + "\n" + insert, nil
	}
	return text[:at] + insert + text[at:], nil
}
