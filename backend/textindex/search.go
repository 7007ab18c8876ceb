package textindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"memento"
)

// DefaultMatches is how many memories a search returns if its options do not say.
const DefaultMatches = 20

// readAtOnce is how many memories are looked up at a time while results are filtered.
const readAtOnce = 64

// A Found memory was looked up for a search.
type Found struct {
	Memory memento.Memory // with contents, or without if they are sealed
	Actor  memento.Actor  // of its newest version, if Lookup was asked for it

	// Damaged says that its contents cannot be read. The index still finds it, by the words
	// that it was indexed with, but there is no passage to show.
	Damaged bool
}

// A Lookup returns memories with their contents by their IDs; fewer if some do not exist. It
// sees the same instant as the parts that are searched. It is asked for actors only if the
// search needs them.
type Lookup func(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]Found, error)

// Search returns the memories that match, best first. The parts together have each living
// memory once.
func Search(ctx context.Context, parts []Part, opts memento.SearchOptions, lookup Lookup) ([]memento.Match, error) {
	return searchParts(ctx, parts, opts, lookup, nil)
}

// searchParts is Search. Without meeting, what since: and by: ask is decided only when
// memories have been looked up.
func searchParts(ctx context.Context, parts []Part, opts memento.SearchOptions, lookup Lookup, meeting Meeting) ([]memento.Match, error) {
	r := request(opts)
	if r.Empty() {
		return nil, nil
	}
	s := &search{r: r, dirs: []memento.Path{opts.Dir, r.Dir}, limit: cmp.Or(max(opts.Limit, 0), DefaultMatches), lookup: lookup, meeting: meeting}
	var err error
	if s.k, err = newRanking(ctx, s.r, parts); err != nil {
		return nil, err
	}
	s.limit = min(s.limit, s.k.memories)
	return s.run(ctx)
}

// request returns the request of a search.
func request(opts memento.SearchOptions) *Request {
	r := ParseRequest(opts.Query, time.Now())
	if opts.All {
		r = Request{All: true, Exact: Parse(opts.Query)}
	}
	if r.All {
		r.words = wordsOf(r.Exact)
	}
	return &r
}

// wordsOf returns the words of a query as words that a memory must have.
func wordsOf(q Query) (words []queryWord) {
	for p := range q.Phrases() {
		for i, w := range p {
			q := queryWord{form: term(w), weight: 1, must: true, typing: i == len(p)-1}
			if i := slices.IndexFunc(words, func(other queryWord) bool { return other.form == q.form }); i >= 0 {
				words[i].typing = words[i].typing && q.typing
			} else if len(words) < maxRequestWords {
				words = append(words, q)
			}
		}
	}
	return words
}

type search struct {
	r       *Request
	k       *ranking
	dirs    []memento.Path
	limit   int
	lookup  Lookup
	meeting Meeting // nil if there is none

	reader       *reader
	ranked, rest []match // ranked by contents, and by the index alone
}

type match struct {
	memento.Match
	seq  int64
	text string // its contents, and what of them
	best window // is shown
}

func (s *search) run(ctx context.Context) ([]memento.Match, error) {
	defer s.k.release()
	if err := s.k.rank(ctx); err != nil {
		return nil, err
	}
	s.k.keepEligible()
	for _, dir := range s.dirs {
		if err := s.k.keepBelow(ctx, dir); err != nil {
			return nil, err
		}
	}
	s.reader = s.k.reader()
	want := max(Candidates, s.limit)
	if err := s.collect(ctx, want); err != nil {
		return nil, err
	}
	slices.SortFunc(s.ranked, func(x, y match) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(y.seq, x.seq))
	})
	var matches []memento.Match
	for _, m := range append(s.ranked, s.rest...) {
		if len(matches) == s.limit {
			break
		}
		m.best.show(m.text, &m.Match)
		matches = append(matches, m.Match)
	}
	return matches, nil
}

// collect finds so many matches, best candidates first, if there are so many.
func (s *search) collect(ctx context.Context, want int) error {
	conditional := s.meeting != nil && !s.r.Condition.IsZero()
	n := want
	if conditional {
		n *= 8 // metadata are less to read than contents
	}
	for first := true; ; first = false {
		if conditional && !first { // few meet the condition
			if err := s.k.keepMeeting(ctx, s.r.Condition, s.meeting); err != nil {
				return err
			}
			conditional = false
		}
		best := s.k.best(n)
		all := len(best) < n
		s.k.drop(best)
		if conditional {
			var err error
			if best, err = meetingOf(ctx, s.r.Condition, s.meeting, best); err != nil {
				return err
			}
			slices.SortFunc(best, candidate.compare)
		}
		for part := range slices.Chunk(best, readAtOnce) {
			found, err := s.read(ctx, part)
			if err != nil {
				return err
			}
			for _, f := range found {
				if s.take(f); len(s.ranked)+len(s.rest) == want {
					return nil
				}
			}
		}
		if all {
			return nil
		}
		n *= 8 // many are not accepted
	}
}

// take makes a match of a memory, if it is accepted. The first ones, which are the best
// candidates, are ranked by their contents too.
func (s *search) take(f scored) {
	text := f.Memory.Content
	if f.Damaged {
		text = ""
	}
	m := match{Match: memento.Match{Memory: f.Memory, Score: float64(f.score)}, seq: f.seq}
	m.Memory.Content = ""
	if !s.accepts(f, text, &m.Match) {
		return
	}
	all := s.reader.occurrences(text)
	best := s.reader.best(all)
	if len(s.ranked) < Candidates {
		m.Score += float64(s.reader.passageWeight*best.value + proximityWeight*s.reader.proximity(all))
		m.text, m.best = text, best // shown if it is among the best after all are ranked
		s.ranked = append(s.ranked, m)
	} else {
		best.show(text, &m.Match)
		s.rest = append(s.rest, m)
	}
}

type scored struct {
	Found
	candidate
}

// read looks up candidates below the directories of the request.
func (s *search) read(ctx context.Context, candidates []candidate) ([]scored, error) {
	var below []candidate
	var ids []memento.MemoryID
	for _, c := range candidates {
		entries, err := s.k.parts[c.part].Entries(ctx, []uint32{c.doc})
		if err != nil {
			return nil, err
		}
		entry := entries[0]
		if slices.ContainsFunc(s.dirs, func(dir memento.Path) bool {
			return dir != "" && !strings.HasPrefix(entry.Path, dir.Prefix())
		}) {
			continue
		}
		below = append(below, c)
		ids = append(ids, memento.MemoryID(entry.Key))
	}
	if len(ids) == 0 {
		return nil, ctx.Err()
	}
	known, err := s.lookup(ctx, ids, s.r.By != "")
	if err != nil {
		return nil, err
	}
	var found []scored
	for i, id := range ids {
		if f, ok := known[id]; ok {
			found = append(found, scored{f, below[i]})
		}
	}
	return found, ctx.Err()
}

// accepts decides what neither the index nor metadata have decided. For match:all it fills in
// the line.
func (s *search) accepts(f scored, text string, m *memento.Match) bool {
	if s.r.All && !f.Damaged {
		var ok bool
		if m.Line, m.Snippet, ok = s.r.Exact.Match(string(f.Memory.Path), text); !ok {
			return false
		}
	}
	if !s.r.Accepts(f.Memory.UpdatedAt, f.Actor) {
		return false
	}
	for _, p := range s.r.phrases {
		if !f.Damaged && p.words.stands(string(f.Memory.Path), text) == p.not {
			return false
		}
	}
	return true
}

// stands reports whether a memory has the words of the phrase together.
func (p phrase) stands(path, contents string) bool {
	return p.exactly(slices.Collect(Words(path))) || p.exactly(slices.Collect(Words(contents)))
}

func (p phrase) exactly(words []Word) bool {
	for i := range len(words) - len(p) + 1 {
		if slices.EqualFunc(p, words[i:i+len(p)], func(word string, w Word) bool { return word == w.Text }) {
			return true
		}
	}
	return false
}
