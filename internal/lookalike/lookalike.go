// Package lookalike tells which names a person, or a model, could take for each other.
//
// It compares skeletons as UTS #39 (Unicode Security Mechanisms) describes them, except
// names: case, white space at the ends and characters that nobody sees do not count
// either.
//
// The table confusables.txt is the one of UTS #39 for single characters, Copyright © Unicode, Inc.,
// under the Unicode License (https://www.unicode.org/license.txt): each line has a
// prototype, a tab, and the characters that look like it.
package lookalike

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

//go:embed confusables.txt
var table string

// prototypes returns what each character looks like.
var prototypes = sync.OnceValue(func() map[rune]string {
	m := map[rune]string{}
	for line := range strings.Lines(table) {
		prototype, alike, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for _, r := range alike {
			m[r] = prototype
		}
	}
	return m
})

// A Skeleton is what a name looks like. Two names look alike if one of the two texts of
// their skeletons is the same: I looks like l, and is the capital of i.
type Skeleton [2]string

// Of returns the skeleton of a name.
func Of(name string) Skeleton {
	name = strings.TrimRight(strings.TrimSpace(visible(name)), " .") // as Windows does
	return skeleton(name)
}

// OfPart returns the skeleton of a part of a name.
func OfPart(text string) Skeleton { return skeleton(visible(text)) }

// visible removes what nobody sees.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, norm.NFKC.String(text))
}

func skeleton(text string) Skeleton {
	return Skeleton{look(fold(text)), fold(look(text))}
}

// fold removes differences of case.
func fold(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return cases.Fold().String(text)
		}
	}
	return strings.ToLower(text) // the same for ASCII, and faster
}

// look replaces each character by what it looks like.
func look(text string) string {
	of := prototypes()
	var b strings.Builder
	for _, r := range norm.NFD.String(text) {
		if p, ok := of[r]; ok {
			b.WriteString(p)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFD.String(b.String())
}

// Alike reports whether two skeletons are of names that look alike.
func (s Skeleton) Alike(t Skeleton) bool { return s[0] == t[0] || s[1] == t[1] }

// Paths finds paths that look alike, in one pass over them in any order: two names in
// one directory, of files or directories. It keeps some 200 bytes for each name. The zero
// Paths is ready to use.
type Paths struct {
	added map[string]bool
	first map[place]string
}

// A place is what a path looks like: its directory, and one of the texts of the skeleton
// of its name.
type place struct {
	dir   string
	which int
	text  string
}

// A Pair is two paths that look alike, in one directory.
type Pair struct{ First, Second string }

// Add adds a path, such as "/a/b.md", and the directories above it. It returns the pairs
// of each of these, if it is new, and the first path that it looks like.
func (s *Paths) Add(path string) (pairs []Pair) {
	if s.added == nil {
		s.added, s.first = map[string]bool{}, map[place]string{}
	}
	path = strings.TrimSuffix(path, "/")
	for end := len(path); end > 0 && !s.added[path[:end]]; end = strings.LastIndexByte(path[:end], '/') {
		whole := path[:end]
		s.added[whole] = true
		slash := strings.LastIndexByte(whole, '/')
		other := ""
		for i, text := range Of(whole[slash+1:]) {
			at := place{whole[:slash+1], i, text}
			if first, ok := s.first[at]; !ok {
				s.first[at] = whole
			} else if other == "" {
				other = first
			}
		}
		if other != "" {
			pairs = append(pairs, Pair{other, whole})
		}
	}
	return pairs
}

// letters returns the ASCII letter in lower case that each character looks like.
var letters = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for r, p := range prototypes() {
		if len(p) == 1 && 'A' <= p[0]&^0x20 && p[0]&^0x20 <= 'Z' {
			m[r] = rune(p[0] | 0x20)
		}
	}
	return m
})

// Letter returns the ASCII letter, in lower case, that r looks like; r if there is none.
func Letter(r rune) rune {
	if l, ok := letters()[r]; ok {
		return l
	}
	return r
}
