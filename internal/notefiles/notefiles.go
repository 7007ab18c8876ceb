// Package notefiles decides which files of a folder or an archive are notes, and at which
// path of a store each belongs. Import, export and sync share these rules.
//
//   - What is hidden is left out: names that begin with a dot (".git", ".obsidian",
//     ".trash", ".memento") and node_modules, with everything below them, unless
//     Rules.Hidden is set. ".memento", which has memento's own files, is always left out.
//   - What matches one of Rules.Exclude is left out. [ParsePattern] reads such patterns.
//   - Links, FIFOs, sockets and devices are left out. They are never followed or opened.
//   - A name in another Unicode form than NFC, as macOS and some zip programs write
//     them, belongs to the path in NFC. Of two names that differ only in this form, the
//     second one has a [SameName].
//   - A file whose contents are not UTF-8 text, such as an image, is not a note and is
//     left alone: see [IsText] and [TextStart].
//
// A file that is too large by its size may still be no text, like a photograph; Read says
// which, from its first bytes.
//
// [Rules.Judge] decides about one name, of whatever source. [Walk] lists the notes of a
// folder, and [Read] reads one, with a limit on its size.
package notefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"memento"

	"golang.org/x/text/unicode/norm"
)

// Rules say which files are notes. The zero value has the defaults.
type Rules struct {
	// Exclude are patterns of paths that are left out.
	Exclude []memento.Pattern
	// Hidden includes hidden names, except ".memento".
	Hidden bool
	// MaxBytes is the limit for the contents of one note, in bytes; 0 means none.
	MaxBytes int64
}

// A Reason says why a file is not a note. The empty reason is that of a note.
type Reason string

// The reasons. Those for which [Reason.Expected] is false are worth a message for each
// file.
const (
	Hidden     Reason = "it is hidden"
	Excluded   Reason = "it is excluded"
	NotRegular Reason = "it is a link, or not a regular file"
	NotText    Reason = "it is not UTF-8 text"
	BadName    Reason = "its name is not a valid path"
	TooLarge   Reason = "it is larger than a note can be"
	SameName   Reason = "another file has the same name in another Unicode form"
	Unreadable Reason = "it cannot be read"
)

// Expected reports whether files are usually left out for this reason without anybody
// missing them.
func (r Reason) Expected() bool {
	switch r {
	case "", Hidden, Excluded, NotRegular, NotText:
		return true
	}
	return false
}

// ownFolder has memento's own files, wherever it is.
const ownFolder = ".memento"

// Judge returns the path of the file or directory at name, which is relative and has
// slashes, and why it is left out; "" if it is not. The size of a file does not matter
// if it is negative. A directory that is left out is left out with everything below it.
//
// Whether contents are text, and whether two names are the same, is not for one name to
// decide.
func (r *Rules) Judge(name string, mode fs.FileMode, size int64) (memento.Path, Reason) {
	p, err := memento.ParsePath("/" + norm.NFC.String(name))
	if err != nil {
		p = ""
	}
	switch {
	case leadsOut(name):
		return "", BadName
	case hasOwnFolder(name) || !r.Hidden && memento.Path("/"+name).IsHidden():
		return p, Hidden
	case p != "" && r.excludes(p):
		return p, Excluded
	case !mode.IsDir() && !mode.IsRegular():
		return p, NotRegular
	case p == "":
		return "", BadName
	case mode.IsRegular() && r.MaxBytes > 0 && size > r.MaxBytes:
		return p, TooLarge
	}
	return p, ""
}

func hasOwnFolder(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ownFolder {
			return true
		}
	}
	return false
}

// leadsOut reports whether a name has steps that go up or nowhere. Such names begin with a
// dot, but are not hidden.
func leadsOut(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

func (r *Rules) excludes(p memento.Path) bool {
	for _, g := range r.Exclude {
		if g.Match(p) {
			return true
		}
	}
	return false
}

// NameFault says what is wrong with a name for which Judge returned [BadName].
func NameFault(name string) string {
	_, err := memento.ParsePath("/" + norm.NFC.String(name))
	if at, ok := errors.AsType[*memento.PathError](err); ok {
		return at.Reason
	}
	return ""
}

// ParsePattern reads a pattern of paths as a person writes it: "*.tmp" for names in any
// directory, "/drafts" or "drafts/" for one at the top, "work/*/old" and "**/old" for
// paths from the top.
//
// Errors: memento.ErrInvalid.
func ParsePattern(text string) (memento.Pattern, error) {
	g := norm.NFC.String(strings.TrimPrefix(text, "./"))
	if trimmed := strings.TrimRight(g, "/"); trimmed != "" && trimmed != g {
		g = "/" + strings.TrimLeft(trimmed, "/")
	} else if strings.Contains(g, "/") {
		g = "/" + strings.TrimLeft(g, "/")
	}
	if g == "" || g == "/" {
		return "", fmt.Errorf("%w: the pattern %q excludes nothing, or everything", memento.ErrInvalid, text)
	}
	if _, err := path.Match(g, ""); err != nil {
		return "", fmt.Errorf("%w: the pattern %q is not complete", memento.ErrInvalid, text)
	}
	return memento.Pattern(g), nil
}

// IsText reports whether contents can be those of a memory: UTF-8, and no zero byte,
// which only files of other kinds have.
func IsText(contents []byte) bool {
	return utf8.Valid(contents) && !hasZero(contents)
}

// TextStart reports whether text can begin with start, which may end within a character.
func TextStart(start []byte) bool {
	if hasZero(start) {
		return false
	}
	for len(start) > 0 {
		c, size := utf8.DecodeRune(start)
		if c == utf8.RuneError && size == 1 {
			return !utf8.FullRune(start)
		}
		start = start[size:]
	}
	return true
}

func hasZero(b []byte) bool {
	for _, c := range b {
		if c == 0 {
			return true
		}
	}
	return false
}
