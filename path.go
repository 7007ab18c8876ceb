package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"memento/internal/lookalike"
)

// A Path names a memory or a directory in a store: "/notes/todo.md".
//
// It starts with "/" and its segments are separated by single slashes. [Root]
// is "/"; no other path ends in a slash, directories included. Paths are
// case-sensitive and compare byte by byte. Use [ParsePath] to make one from
// untrusted text; a Path made by conversion is checked again before anything
// is written to it.
type Path string

// Root is the directory that holds everything in a store. It always exists.
const Root Path = "/"

// MaxPathBytes is the longest path, in bytes, that any store accepts. A store's
// own [Limits] may be lower. Source: Memory Stores API, path rules.
const MaxPathBytes = 1024

// ParsePath checks s against the path rules of the Memory Stores API and
// returns it as a Path that names a memory:
//
//   - "/" at the start, at least one segment, no empty segment, no "/" at the end
//   - no "." or ".." segment
//   - at most [MaxPathBytes] bytes of valid UTF-8, in Unicode form NFC
//   - no control or format characters (Cc, Cf), no U+2028, no U+2029
//
// The error is a [*PathError], which is [ErrInvalidPath].
func ParsePath(s string) (Path, error) {
	if reason := pathFault(s); reason != "" {
		return "", &PathError{Path: s, Reason: reason}
	}
	return Path(s), nil
}

// ParseDir is ParsePath for directories: it accepts [Root], and a single "/"
// at the end, which it removes.
func ParseDir(s string) (Path, error) {
	if s == "/" {
		return Root, nil
	}
	return ParsePath(strings.TrimSuffix(s, "/"))
}

// pathFault says what is wrong with s as the path of a memory, or "".
func pathFault(s string) string {
	switch {
	case s == "":
		return reasonEmpty
	case s[0] != '/':
		return reasonRelative
	case s == "/":
		return reasonRoot
	case len(s) > MaxPathBytes:
		return reasonTooLong
	case s[len(s)-1] == '/':
		return reasonSlashEnd
	}
	ascii := true
	start := 1 // of the current segment
	for i := 1; i <= len(s); i++ {
		if i < len(s) && s[i] != '/' {
			switch c := s[i]; {
			case c < 0x20 || c == 0x7f:
				return reasonControl
			case c >= utf8.RuneSelf:
				ascii = false
			}
			continue
		}
		switch s[start:i] {
		case "":
			return reasonEmptySegment
		case ".", "..":
			return reasonDots
		}
		start = i + 1
	}
	if ascii {
		return ""
	}
	return unicodeFault(s)
}

// unicodeFault is the part of pathFault that only text beyond ASCII can fail.
func unicodeFault(s string) string {
	if !utf8.ValidString(s) {
		return reasonUTF8
	}
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return reasonControl
		}
	}
	if !norm.NFC.IsNormalString(s) {
		return reasonNFC
	}
	return ""
}

// IsRoot reports whether p is [Root].
func (p Path) IsRoot() bool { return p == Root }

// Parent returns the directory that holds p. The parent of [Root] is Root.
func (p Path) Parent() Path {
	i := strings.LastIndexByte(string(p), '/')
	if i <= 0 {
		return Root
	}
	return p[:i]
}

// Base returns the last segment of p, without a slash; "" for [Root].
func (p Path) Base() string {
	return string(p[strings.LastIndexByte(string(p), '/')+1:])
}

// Depth returns the number of segments of p: 0 for [Root], 1 for "/a".
func (p Path) Depth() int {
	if p.IsRoot() {
		return 0
	}
	return strings.Count(string(p), "/")
}

// Contains reports whether q lies below the directory p. No path contains itself.
func (p Path) Contains(q Path) bool {
	return len(q) > len(p.Prefix()) && strings.HasPrefix(string(q), p.Prefix())
}

// Prefix returns what every path below the directory p starts with: p and a slash.
func (p Path) Prefix() string {
	if p.IsRoot() {
		return "/"
	}
	return string(p) + "/"
}

// Join returns the path of name, which may hold slashes, below the directory p.
func (p Path) Join(name string) Path { return Path(p.Prefix() + name) }

// Ancestors yields the directories above p, nearest first, without [Root].
func (p Path) Ancestors() iter.Seq[Path] {
	return func(yield func(Path) bool) {
		for q := p.Parent(); !q.IsRoot(); q = q.Parent() {
			if !yield(q) {
				return
			}
		}
	}
}

// Segments yields the names in p from the root down.
func (p Path) Segments() iter.Seq[string] {
	return strings.SplitSeq(strings.TrimPrefix(string(p), "/"), "/")
}

// Moved returns where p is after the file or directory from has become to.
// It returns p unless p is from or lies below it.
func (p Path) Moved(from, to Path) Path {
	if p == from {
		return to
	}
	if !from.Contains(p) {
		return p
	}
	return to.Join(string(p[len(from.Prefix()):]))
}

// IsHidden reports whether the memory tool never shows the memory at p, because one of
// its names begins with a dot or is node_modules.
func (p Path) IsHidden() bool {
	for name := range p.Segments() {
		if hidden(name) {
			return true
		}
	}
	return false
}

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
	return matchNames(names(pattern), names(string(p)), func(pattern, name string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// looksLike reports whether the pattern matches p, or a path that a person or a model
// could take for p: see package lookalike.
func (g Pattern) looksLike(p Path) bool {
	pattern := string(g)
	if !strings.Contains(pattern, "/") {
		pattern = "/**/" + pattern
	}
	return matchNames(names(pattern), names(string(p)), nameLooksLike)
}

// nameLooksLike reports whether a name looks like one that a pattern matches. The literal
// parts of a pattern with "*" and "?" are compared by what they look like, those of one
// with a set only without case.
func nameLooksLike(pattern, name string) bool {
	if ok, _ := path.Match(pattern, name); ok {
		return true
	}
	given := lookalike.Of(name)
	if !strings.ContainsAny(pattern, `*?[\`) {
		return lookalike.Of(pattern).Alike(given)
	}
	for i := range given {
		skeleton := strings.ToLower(pattern)
		if !strings.ContainsAny(pattern, `[\`) {
			skeleton = mapLiterals(pattern, func(text string) string { return lookalike.OfPart(text)[i] })
		}
		if ok, _ := path.Match(skeleton, given[i]); ok {
			return true
		}
	}
	return false
}

// mapLiterals replaces what is between the "*" and "?" of a pattern.
func mapLiterals(pattern string, replace func(string) string) string {
	var b strings.Builder
	for pattern != "" {
		i := strings.IndexAny(pattern, "*?")
		if i < 0 {
			i = len(pattern)
		}
		if i > 0 {
			b.WriteString(replace(pattern[:i]))
			pattern = pattern[i:]
			continue
		}
		b.WriteByte(pattern[0])
		pattern = pattern[1:]
	}
	return b.String()
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
func matchNames(patterns, given []string, match func(pattern, name string) bool) bool {
	p, n := 0, 0
	again, from := -1, 0 // where to continue if the last "**" has to match one more name
	for p < len(patterns) {
		switch {
		case patterns[p] == "**":
			again, from = p+1, n
			p++
			continue
		case n < len(given):
			if match(patterns[p], given[n]) {
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

// toolRoot is where every path of an agent starts.
const toolRoot = "/memories"

// A location is a path of the agent's, split into a mount and a path in its store.
type location struct {
	*mount
	path  Path // the store's
	slash bool // whether the agent's ended in a slash, which only a directory's may
}

// outsideMounts reports whether the location is in none of the stores.
func (p location) outsideMounts() bool { return p.store == nil && !p.path.IsRoot() }

// exists reports whether there is a file or a directory. If the storage fails, it
// returns true: the command fails later, with the storage's error.
func (p location) exists(ctx context.Context) bool {
	_, err := p.store.Peek(ctx, ByPath(p.path))
	return !errors.Is(err, ErrNotExist)
}

func (p location) isFile(ctx context.Context) bool {
	_, err := p.store.Peek(ctx, ByPath(p.path))
	return err == nil
}

// locate finds the location of the agent's path. A path that another program could
// read as a different path is refused: percent-encoding, backslashes, dots.
func (t *Tool) locate(path string) (location, error) {
	fail := func(format string, args ...any) (location, error) {
		args = append([]any{truncated(path, MaxPathBytes)}, args...)
		return location{}, refusal(ErrInvalidPath, format, args...)
	}
	rest, ok := below(path, toolRoot)
	if !ok {
		return fail(textOutside)
	}
	if strings.ContainsAny(rest, `%\.`) {
		if reason := ambiguity(rest); reason == textEscape {
			return fail(textEscape)
		} else if reason != "" {
			return fail(textInvalidPath, reason)
		}
	}
	m := &t.top
	for i := range t.mounts {
		if r, ok := below(path, t.mounts[i].root); ok {
			m, rest = &t.mounts[i], r
			break
		}
	}
	if rest == "" || rest == "/" {
		return location{m, Root, false}, nil
	}
	rest, slash := strings.CutSuffix(rest, "/")
	if strings.HasSuffix(rest, "/") {
		return fail(textInvalidPath, reasonEmptySegment)
	}
	if reason := pathFault(rest); reason != "" {
		return fail(textInvalidPath, reason)
	}
	return location{m, Path(rest), slash}, nil
}

// below returns the part of the path below a directory: "", or a text that starts
// with a slash. ok is false if the path is not the directory, nor below it.
func below(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// locateWritable is locate for commands that write. It refuses a read-only mount
// before anything is looked up in it, and /memories if all mounts are read-only.
func (t *Tool) locateWritable(path string) (location, error) {
	p, err := t.locate(path)
	switch {
	case err != nil || !p.readOnly:
		return p, err
	case t.top.readOnly:
		return p, refusal(ErrProtected, textAllReadOnly, p.root)
	}
	return p, refusal(ErrProtected, textMountReadOnly, p.root, t.roots(false))
}

// locateFile is locateWritable for commands on a file; missing is the sentence for a
// path that can be none.
func (t *Tool) locateFile(path, missing string) (location, error) {
	p, err := t.locateWritable(path)
	if err == nil && (p.slash || p.path.IsRoot() || p.outsideMounts()) {
		return p, refusal(ErrNotExist, missing, path)
	}
	return p, err
}

// ambiguity returns why a path below the root is refused that another program might
// decode or resolve: textEscape if the result could be outside of the root, else a
// reason for textInvalidPath; "" if there is nothing to decode or resolve.
func ambiguity(rest string) string {
	plain := rest
	for range 8 { // encodings of encodings; more than this never decodes to anything
		decoded := unescape(plain)
		if decoded == plain {
			break
		}
		plain = decoded
	}
	depth := 0
	for name := range strings.SplitSeq(strings.ReplaceAll(plain, `\`, "/"), "/") {
		switch name {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return textEscape
			}
		default:
			depth++
		}
	}
	switch {
	case plain != rest:
		return reasonPercent
	case strings.Contains(rest, `\`):
		return reasonBackslash
	}
	return ""
}

// unescape decodes the percent-encodings in s; a percent sign that starts none stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == '%' && len(s) >= 3 {
			if c, err := url.PathUnescape(s[:3]); err == nil {
				b.WriteString(c)
				s = s[3:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// truncated returns at most n bytes of a text that is only echoed.
func truncated(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
