package memento

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Pattern selects paths of a store, for settings that apply to some of them.
//
// "*" stands for any characters of one name, "?" for one of them, "[a-z]" for
// one of a set, and a whole name "**" for any number of directories, none
// included. What matches a directory matches everything below it. A pattern
// without a slash matches names in any directory: "*.key" is "/**/*.key". "/" matches
// everything, "/team" the memory or directory of that name, and "/logs/*/raw" every
// "raw" in a directory in /logs.
type Pattern string

const (
	maxPatterns     = 100  // in one list
	maxPatternBytes = 1024 // of one pattern
)

// Match reports whether the pattern matches p. An invalid pattern, which settings refuse,
// matches nothing.
func (g Pattern) Match(p Path) bool {
	pattern := string(g)
	if !strings.Contains(pattern, "/") {
		pattern = "/**/" + pattern
	}
	return matchNames(names(pattern), names(string(p)))
}

// names splits a path or a pattern; the root has none.
func names(s string) []string {
	s = strings.Trim(s, "/")
	if s == "" {
		return nil
	}
	return strings.Split(s, "/")
}

// matchNames reports whether the patterns match the names, or the directory that
// the first of them name. The time is bounded by the product of their numbers:
// of two "**", only the last one ever needs another try.
func matchNames(patterns, given []string) bool {
	p, n := 0, 0
	again, from := -1, 0 // where to continue if the last "**" has to match one more name
	for p < len(patterns) {
		switch {
		case patterns[p] == "**":
			again, from = p+1, n
			p++
			continue
		case n < len(given):
			if ok, _ := path.Match(patterns[p], given[n]); ok {
				p, n = p+1, n+1
				continue
			}
		}
		if again < 0 || from >= len(given) {
			return false
		}
		from++
		p, n = again, from
	}
	return true
}

func matchAny(patterns []Pattern, p Path) bool {
	return slices.ContainsFunc(patterns, func(g Pattern) bool { return g.Match(p) })
}

// checkPatterns returns ErrInvalid for an invalid list. what names it in the error.
func checkPatterns(what string, patterns []Pattern) error {
	if len(patterns) > maxPatterns {
		return fmt.Errorf("%w: %s has %d patterns; at most %d are allowed", ErrInvalid, what, len(patterns), maxPatterns)
	}
	for _, g := range patterns {
		if reason := patternFault(string(g)); reason != "" {
			return fmt.Errorf("%w: %s: pattern %q: %s", ErrInvalid, what, g, reason)
		}
	}
	return nil
}

// patternFault returns why a pattern is invalid, or "".
func patternFault(g string) string {
	switch {
	case g == "":
		return reasonEmpty
	case len(g) > maxPatternBytes:
		return fmt.Sprintf("it is longer than %d bytes", maxPatternBytes)
	case strings.Contains(g, "/") && g[0] != '/':
		return "it must start with a slash, or have none"
	}
	for _, name := range names(g) {
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Sprintf("%q is not complete", name)
		}
		if reason := pathFault("/" + name); reason != "" {
			return reason // no path has such a name
		}
	}
	return ""
}
