package textindex

import (
	"context"

	"memento"
)

// A Scanner searches memories without an index: each is read once, and remembered only if it
// has a word of the query. What it finds, and in which order, is what an index finds; except
// that a form without diacritics, whose stem only its spelling with diacritics shares with the
// query, is not found in memories that were added before the first one with that spelling.
type Scanner struct {
	opts memento.SearchOptions
	all  scanned
}

// NewScanner returns a scanner for a search.
func NewScanner(opts memento.SearchOptions) *Scanner {
	return &Scanner{opts: opts, all: scanned{recent: newRecentView(), found: NewRecent(), rest: newRestStats(), lexer: newLexer(newWordFilter(request(opts), 0)), room: usual.found}}
}

// Empty reports whether the query has no word to look for, so that nothing need be read.
func (s *Scanner) Empty() bool { return request(s.opts).Empty() }

// Add reads a memory, which was not added before. It reports whether it may match.
func (s *Scanner) Add(ctx context.Context, id memento.MemoryID, text Text) (mayMatch bool, err error) {
	return s.all.add(ctx, string(id), text)
}

// Search returns the memories that match, best first. It may be called once, at the end.
func (s *Scanner) Search(ctx context.Context, lookup Lookup) ([]memento.Match, error) {
	s.all.found.Sort()
	return Search(ctx, s.all.parts(), s.opts, lookup)
}
