package archive

import (
	"regexp"
	"slices"

	"memento"
)

// Texts and paths of different forms, which no exception for one kind of text, or for some
// memories, allows together.
var (
	unlikeTexts = []string{"Zq7Rk2Wv9Tn4Xb6Lm8Yd", "8f14e45fceea167a5a36dedd4bea2543", "eyJ0.x-y_z/+==", "correct horse battery 42!", "naïve: pässwörd"}
	unlikePaths = []memento.Path{"/zq7rk/wv9tn.md", "/4xb6", "/lm8yd/2/notes.txt"}
)

// allowsAnything reports whether an expression allows texts of several forms: as an
// exception it turns the detection of secrets off.
func allowsAnything(pattern string) bool {
	re, err := regexp.Compile(`^(?s:` + pattern + `)$`)
	if err != nil { // which the settings refuse
		return false
	}
	matched := 0
	for _, text := range unlikeTexts {
		if re.MatchString(text) {
			matched++
		}
	}
	return matched > 1
}

// allowsAnywhere reports whether a pattern allows anything in paths that have nothing in
// common.
func allowsAnywhere(p memento.Pattern) bool {
	return !slices.ContainsFunc(unlikePaths, func(path memento.Path) bool { return !p.Match(path) })
}

// withoutWide returns exceptions without those that allow anything or anywhere, and how
// many these were.
func withoutWide(s memento.Sensitive) (narrow memento.Sensitive, wide int) {
	before := len(s.AllowPatterns) + len(s.AllowPaths)
	s.AllowPatterns = slices.DeleteFunc(slices.Clone(s.AllowPatterns), allowsAnything)
	s.AllowPaths = slices.DeleteFunc(slices.Clone(s.AllowPaths), allowsAnywhere)
	return s, before - len(s.AllowPatterns) - len(s.AllowPaths)
}
