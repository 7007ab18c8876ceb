// Package textindex finds memories by their words, for all backends: it splits texts into
// words, keeps indexes of them, ranks what a query finds, and picks the passage to show.
//
// A backend stores the blocks of indexes for it, as a [Storage] of [Live], or passes all
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
		for at := 0; ; {
			s, ok := nextSpan(text, at)
			if !ok {
				return
			}
			at = s.end
			w := Word{Text: text[s.start:s.end], Start: s.start, End: s.end, single: s.single}
			if !s.single {
				if w.Text = fold(w.Text); w.Text == "" {
					continue
				}
			}
			if !yield(w) {
				return
			}
		}
	}
}

// A span is where a text has a word.
type span struct {
	start, end int // offsets of its bytes
	single     bool
}

// nextSpan returns the next word of a text from an offset on. A word may have nothing left of
// it without diacritics.
func nextSpan(text string, at int) (s span, ok bool) {
	for at < len(text) {
		c := text[at]
		if c < utf8.RuneSelf {
			if asciiKind[c] == inWord {
				return span{at, wordEnd(text, at+1), false}, true
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		switch kindOf(r) {
		case inWord:
			return span{at, wordEnd(text, at+size), false}, true
		case ownWord:
			return span{at, at + size, true}, true
		}
		at += size
	}
	return span{}, false
}

// wordEnd returns where a word ends that goes at least to an offset.
func wordEnd(text string, at int) int {
	for at < len(text) {
		if c := text[at]; c < utf8.RuneSelf {
			if asciiKind[c] != inWord {
				return at
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		if kindOf(r) != inWord {
			return at
		}
		at += size
	}
	return at
}

type kind uint8

const (
	between kind = iota
	inWord
	ownWord
)

// asciiKind are the kinds of ASCII characters.
var asciiKind = func() (kinds [utf8.RuneSelf]kind) {
	for c := range kinds {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			kinds[c] = inWord
		}
	}
	return kinds
}()

func kindOf(r rune) kind {
	if r < utf8.RuneSelf {
		return asciiKind[r]
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
