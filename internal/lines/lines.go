// Package lines compares and merges texts line by line.
//
// A line ends with "\n" and nothing else. A final "\n" starts no further line:
// "a\nb" and "a\nb\n" have two lines, "" has none.
package lines

import "strings"

// Count returns the number of lines in text.
func Count(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// Split returns the lines of text without the "\n" that ends them.
func Split(text string) []string {
	all := make([]string, 0, Count(text))
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimSuffix(line, "\n"))
	}
	return all
}
