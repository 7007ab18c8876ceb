package memento

import (
	"fmt"
	"slices"
	"strings"
)

// A Finding is a part of a text that looks like a secret or like personal data.
type Finding struct {
	Kind       string // what it looks like: lower-case words with hyphens, as in "github-pat"
	Start, End int    // where it is, in bytes; End is behind it
}

// A Detector finds what should not be remembered. Package sensitive has one. It
// is safe for concurrent use.
type Detector interface {
	// Detect returns what it finds in text, in the order of the text and
	// without overlaps; with personal, it also looks for personal data. What it
	// finds is never empty, starts and ends at characters, and is no longer
	// found once it is replaced by "[REDACTED:KIND]".
	Detect(text string, personal bool) []Finding
}

// A FindingLocation is what there is to say of a [Finding] without repeating it.
type FindingLocation struct {
	Path Path   // of the memory; "" if it is the path that looks sensitive
	Kind string // as in Finding
	Line int    // from 1; 0 if it is in the path
}

// A SensitiveError says what a write was refused for. It is [ErrSensitive].
type SensitiveError struct {
	Found []FindingLocation // at least one
}

func (e *SensitiveError) Error() string {
	return fmt.Sprintf("%v: %s", ErrSensitive, findingsText(e.Found))
}

func (e *SensitiveError) Unwrap() error { return ErrSensitive }

// findingsText lists what was found and where, without repeating it: "jwt on line
// 3, github-pat in the path".
func findingsText(found []FindingLocation) string {
	return listFirst(found, 10, func(f FindingLocation) string {
		if f.Line == 0 {
			return f.Kind + " in the path"
		}
		return fmt.Sprintf("%s on line %d", f.Kind, f.Line)
	})
}

// A screen looks through what is written, with one store's settings.
type screen struct {
	detector Detector
	settings Sensitive
	patterns []func(string) bool
}

func newScreen(d Detector, s Sensitive) *screen {
	c := &screen{detector: d, settings: s}
	for _, p := range s.AllowPatterns {
		if re, err := allowed(p); err == nil { // settings with others are refused
			c.patterns = append(c.patterns, re.MatchString)
		}
	}
	return c
}

// find returns what is in a text of the memory at p and is not allowed.
func (c *screen) find(p Path, text string) []Finding {
	if c.settings.Mode == Off || matchAny(c.settings.AllowPaths, p) {
		return nil
	}
	found := c.detector.Detect(text, c.settings.Personal)
	return slices.DeleteFunc(found, func(f Finding) bool { return c.allows(text[f.Start:f.End]) })
}

func (c *screen) allows(text string) bool {
	return slices.Contains(c.settings.Allow, text) ||
		slices.ContainsFunc(c.patterns, func(match func(string) bool) bool { return match(text) })
}

// mark is what stands for something that was redacted.
func mark(kind string) string { return "[REDACTED:" + kind + "]" }

// redacted returns text with what was found in it replaced.
func redacted(text string, found []Finding) string {
	var b strings.Builder
	end := 0
	for _, f := range found {
		b.WriteString(text[end:f.Start])
		b.WriteString(mark(f.Kind))
		end = f.End
	}
	b.WriteString(text[end:])
	return b.String()
}

// A cleaning is what has become of a text before it is written.
type cleaning struct {
	text     string
	found    []Finding // what was replaced; places are those in the text before
	replaced []FindingLocation
}

// clean returns what may be written of a text; in the mode Reject, it refuses.
func (c *screen) clean(p Path, text string) (cleaning, error) {
	found := c.find(p, text)
	if len(found) == 0 {
		return cleaning{text: text}, nil
	}
	if c.settings.Mode == Reject {
		return cleaning{}, &SensitiveError{Found: suspect(p, text, found)}
	}
	r := cleaning{text: redacted(text, found), found: found}
	// The lines as they are now: a key of many lines has become one.
	line, end := 1, 0
	for _, f := range found {
		line += strings.Count(text[end:f.Start], "\n")
		r.replaced = append(r.replaced, FindingLocation{Path: p, Kind: f.Kind, Line: line})
		end = f.End
	}
	return r, nil
}

// moved returns where what was at a place in the text is now.
func (r *cleaning) moved(at int) int {
	shift := 0
	for _, f := range r.found {
		switch {
		case f.End <= at:
			shift += len(mark(f.Kind)) - (f.End - f.Start)
		case f.Start < at:
			return f.Start + shift
		}
	}
	return at + shift
}

// suspect describes what was found in a text.
func suspect(p Path, text string, found []Finding) []FindingLocation {
	var list []FindingLocation
	line, end := 1, 0
	for _, f := range found {
		line += strings.Count(text[end:f.Start], "\n")
		list = append(list, FindingLocation{Path: p, Kind: f.Kind, Line: line})
		end = f.Start
	}
	return list
}

// checkPath refuses a path that looks sensitive, in every mode but Off: no part
// of a path can be replaced.
func (c *screen) checkPath(p Path) error {
	found := c.find(p, string(p))
	if len(found) == 0 {
		return nil
	}
	e := &SensitiveError{}
	for _, f := range found {
		e.Found = append(e.Found, FindingLocation{Kind: f.Kind})
	}
	return e
}
