package memento

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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
