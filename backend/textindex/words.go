// Package textindex finds memories by their words, for all backends: it splits texts into
// words, keeps indexes of them, ranks what a query finds, and picks the passage to show.
//
// A backend stores the blocks of indexes for it, as a [Medium] of [Live], or passes all
// memories to a [Scanner]. docs/search.md describes queries, ranking and indexes.
package textindex

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Word is a word of a text.
type Word struct {
	Text       string // without case and diacritics
	Start, End int    // offsets of its bytes in the text

	single bool // a character of a script without spaces
}

// Words yields the words of text: sequences of letters and digits, and each single
// character of scripts that do not put spaces between words.
func Words(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		start := -1 // of the word being read
		end := func(at int) bool {
			if start < 0 {
				return true
			}
			w := Word{Text: fold(text[start:at]), Start: start, End: at}
			start = -1
			return w.Text == "" || yield(w)
		}
		for i := 0; i < len(text); {
			r, size := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(text[i:])
			}
			switch kindOf(r) {
			case inWord:
				if start < 0 {
					start = i
				}
			case ownWord:
				if !end(i) || !yield(Word{Text: text[i : i+size], Start: i, End: i + size, single: true}) {
					return
				}
			default:
				if !end(i) {
					return
				}
			}
			i += size
		}
		end(len(text))
	}
}

type kind int

const (
	between kind = iota
	inWord
	ownWord
)

func kindOf(r rune) kind {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return inWord
		}
		return between
	}
	switch {
	case r == 'ー', r == 'ｰ': // the prolonged sound mark, which belongs to no script
		return ownWord
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return ownWord
	case unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co):
		return inWord
	}
	return between
}

// fold removes case and diacritics.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return foldUnicode(word)
		}
	}
	return strings.ToLower(word)
}

func foldUnicode(word string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		switch r = unicode.ToLower(r); {
		case unicode.Is(unicode.Mn, r):
		case r == 'ς': // a sigma at the end of a word
			b.WriteRune('σ')
		default:
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// normal returns the words of text, separated by spaces. Splitting it at the spaces gives
// the words again.
func normal(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for w := range Words(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}
