package textindex

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

var stemmers = [languages]func(*snowballstem.Env) bool{
	English: english.Stem, German: german.Stem, French: french.Stem, Spanish: spanish.Stem, Italian: italian.Stem,
	Portuguese: portuguese.Stem, Dutch: dutch.Stem, Swedish: swedish.Stem, Norwegian: norwegian.Stem,
	Danish: danish.Stem, Finnish: finnish.Stem, Hungarian: hungarian.Stem, Romanian: romanian.Stem,
	Turkish: turkish.Stem, Russian: russian.Stem, Arabic: arabic.Stem, Tamil: tamil.Stem,
}

// maxStemmed is the longest word that is stemmed, in bytes. A longer one is its own stem.
const maxStemmed = 64

// stems returns the stems of a word as a text has it, without diacritics: that of the word
// itself, and that of its form. They differ where a stemmer heeds diacritics, which a query
// may lack. An irregular form of English also has the stem of its word. A character of a
// script without spaces has none.
func stems(l Language, word, form string) []string {
	first := stem(l, form)
	if len(word) == len(form) && isASCII(word) {
		if base := irregular[form]; l == English && base != "" {
			return []string{first, stem(l, base)} // its own too: saw is also a tool
		}
		return []string{first}
	}
	if second := fold(stem(l, strings.ToLower(norm.NFC.String(word)))); second != first && second != "" {
		return []string{first, second}
	}
	return []string{first}
}

func stem(l Language, word string) (stem string) {
	if len(word) > maxStemmed || !utf8.ValidString(word) {
		return word
	}
	env := snowballstem.NewEnv(word)
	stemmers[l](env)
	if stem = env.Current(); stem == "" {
		return word
	}
	return stem
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
