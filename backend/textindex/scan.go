package textindex

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"memento"
)

// A scanned index is that of a store, whose newest changes are indexed only as far as one
// request needs it.
type scanned struct {
	segments []*liveSegment
	recent   *recentView
	extra    []segmentPart
	found    *Recent // memories that have words of the request
	rest     restStats
	lexer    *lexer
	room     int // for how many memories in found
}

// scan reads what the index does not have yet. It expects that the function words of the
// query are those by the languages of the index, and leaves them out, because most memories
// have them. If it learns something else, it reads everything again.
func (l *Live) scan(ctx context.Context, s *liveStore, v *view, now Snapshot, opts memento.SearchOptions) (*scanned, error) {
	spoken := v.recent.stats.Languages
	for _, segment := range v.segments {
		spoken |= segment.living.Languages
	}
	if spoken == 0 { // there is no index yet
		var err error
		if spoken, err = someLanguages(ctx, v, now); err != nil {
			return nil, err
		}
	}
	r := request(opts)
	functions, _ := r.functions(spoken)
	filter := newWordFilter(r, functions)
	all, err := l.scanFor(ctx, s, v, now, filter)
	if err != nil {
		return nil, err
	}
	after, _ := r.functions(all.languages())
	if after&functions == functions && !filter.late {
		return all, nil
	}
	return l.scanFor(ctx, s, v, now, newWordFilter(r, functions&after).with(filter.spelled))
}

// someLanguages returns the languages of some memories that the index does not have.
func someLanguages(ctx context.Context, v *view, now Snapshot) (spoken LanguageSet, err error) {
	changes, err := now.Changed(ctx, v.seq, readTogether)
	if err != nil {
		return 0, err
	}
	texts, err := textsOf(ctx, now, changes[:batch(changes)])
	for _, text := range texts {
		spoken = spoken.With(read(string(text.Path), text.Contents).language)
	}
	return spoken, err
}

// scanFor reads what the index does not have yet, and keeps what a filter does.
func (l *Live) scanFor(ctx context.Context, s *liveStore, v *view, now Snapshot, filter *wordFilter) (*scanned, error) {
	all := &scanned{recent: v.recent.clone(), found: NewRecent(), rest: newRestStats(), lexer: newLexer(filter), room: l.limits.found}
	for _, segment := range v.segments {
		all.segments = append(all.segments, &liveSegment{segment.id, segment.Clone(), segment.dead})
	}
	// The texts are read here and split into words by another goroutine, so that one waits for
	// the storage while the other works.
	err := readAhead(ctx, func(ctx context.Context, to chan<- []scannedText) error {
		return l.readScanned(ctx, s, v, now, all, to)
	}, all.addAll)
	if err != nil {
		return nil, err
	}
	all.found.Sort()
	all.rest.end()
	return all, nil
}

// readAhead calls read and, in another goroutine, use, which receives until there is no more,
// or it fails. The first error ends the context of both, and is returned.
func readAhead[T any](ctx context.Context, read func(context.Context, chan<- T) error, use func(context.Context, <-chan T) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ahead := make(chan T, 1) // so three batches are in main memory: this, and one on either side
	done := make(chan error, 1)
	go func() {
		err := use(ctx, ahead)
		if err != nil {
			stop(err)
			for range ahead { // until read has seen it
			}
		}
		done <- err
	}()
	err := read(ctx, ahead)
	if err != nil {
		stop(err)
	}
	close(ahead)
	if used := <-done; used != nil || err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// A scannedText is a memory that the index does not have.
type scannedText struct {
	key    string
	text   Text
	exists bool
	first  bool // whether it was not changed before; later, it may be, and follows again
}

// readScanned sends the texts that the index does not have, and hides what it has of those
// memories.
func (l *Live) readScanned(ctx context.Context, s *liveStore, v *view, now Snapshot, all *scanned, to chan<- []scannedText) error {
	for seq := v.seq; seq < now.Seq(); {
		changes, err := now.Changed(ctx, seq, l.limits.scan)
		if err != nil {
			return err
		}
		var some []scannedText
		read := func(batch []Change) (map[memento.MemoryID]Text, error) {
			if len(some) > 0 {
				to <- some
				some = nil
			}
			return s.writtenTexts(ctx, now, batch)
		}
		err = inBatches(ctx, changes, read, func(c Change, text Text, exists bool) error {
			if !c.First {
				for _, segment := range all.segments {
					if err := l.kill(ctx, now, segment, c.Memory); err != nil {
						return err
					}
				}
			}
			all.recent.hide(string(c.Memory))
			exists = exists && text.Seq == c.Seq // else a newer change follows
			if exists || !c.First {
				some = append(some, scannedText{string(c.Memory), text, exists, c.First})
			}
			return nil
		})
		if err != nil {
			return err
		}
		to <- some
		seq = after(changes, l.limits.scan, now)
	}
	return nil
}

// addAll reads memories until there are no more, or until the context ends.
func (all *scanned) addAll(ctx context.Context, from <-chan []scannedText) error {
	for texts := range from {
		for _, t := range texts {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !t.first {
				if err := all.remove(ctx, t.key); err != nil {
					return err
				}
			}
			if !t.exists {
				continue
			}
			if _, err := all.add(ctx, t.key, t.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove forgets a memory as it was before.
func (all *scanned) remove(ctx context.Context, key string) error {
	all.found.Delete(key)
	for _, p := range all.extra {
		doc, known, err := p.s.Number(ctx, p.read, key)
		if err != nil {
			return err
		}
		if known {
			p.s.Kill(doc)
		}
	}
	all.rest.remove(key)
	return nil
}

// add reads a memory, and reports whether it has words of the request.
func (all *scanned) add(ctx context.Context, key string, text Text) (has bool, err error) {
	d := all.lexer.read(string(text.Path), text.Contents)
	if len(d.forms) == 0 {
		all.rest.add(key, d)
		return false, nil
	}
	all.found.add(strings.Clone(key), text, d)
	if all.found.Len() < all.room {
		return true, nil
	}
	var blocks [][]byte
	head, err := Write(ctx, func(_ int, block []byte) error {
		blocks = append(blocks, block)
		return nil
	}, all.found.Source())
	if err != nil {
		return true, err
	}
	segment, err := ParseSegment(head, nil)
	if err != nil {
		return true, err
	}
	all.extra = append(all.extra, segmentPart{segment, func(_ context.Context, n int) ([]byte, error) { return blocks[n], nil }})
	all.found = NewRecent()
	return true, nil
}

// parts returns the index without its segments.
func (all *scanned) parts() []Part {
	parts := []Part{partial{all.found}, all.recent, onlyStats{NewRecent(), all.rest.Stats}}
	for _, p := range all.extra {
		parts = append(parts, partial{p})
	}
	return parts
}

// languages returns those of all memories.
func (all *scanned) languages() LanguageSet {
	found, _ := all.found.Stats(context.Background()) // which cannot fail
	spoken := all.recent.stats.Languages | all.rest.Languages | found.Languages
	for _, segment := range all.segments {
		spoken |= segment.living.Languages
	}
	for _, p := range all.extra {
		spoken |= p.s.living.Languages
	}
	return spoken
}

// A wordFilter knows which forms a request can look up. Which languages the store has is only
// known after all of it was read, so a form stays if it has a stem of the request in any
// language; the ranking does not look up those of languages that the store has not.
type wordFilter struct {
	forms    map[string]bool
	begins   []string
	stems    map[stemOf]bool
	initials [utf8.RuneSelf]LanguageSet // by first letter of a form: where it may have one of the stems
	// The forms that are kept only because of a spelling with diacritics. An index finds
	// such a form in any spelling, so what was read before the first such one lacks it: then
	// late is set.
	spelled []string
	late    bool
}

// newWordFilter returns a filter for a request, of which some words are not looked up.
func newWordFilter(r *Request, without mask) *wordFilter {
	f := &wordFilter{forms: map[string]bool{}, stems: map[stemOf]bool{}}
	for i, w := range r.words {
		if without.has(i) {
			continue
		}
		f.forms[w.form] = true
		if w.typing && !w.not {
			f.begins = append(f.begins, w.form)
		}
		if w.word == "" {
			continue
		}
		for l := range languages {
			for _, stem := range stems(l, w.word, w.form) {
				f.stems[stemOf{l, stem}] = true
				f.begin(l, stem)
			}
		}
	}
	return f
}

// begin notes the first letter of a stem. Stemmers leave that of words in ASCII alone, except
// that Turkish changes the last letter of a stem.
func (f *wordFilter) begin(l Language, stem string) {
	if l == Turkish && utf8.RuneCountInString(stem) == 1 {
		for i := range f.initials {
			f.initials[i] = f.initials[i].With(l)
		}
	} else if stem[0] < utf8.RuneSelf {
		f.initials[stem[0]] = f.initials[stem[0]].With(l)
	}
}

// with adds forms to keep.
func (f *wordFilter) with(forms []string) *wordFilter {
	for _, form := range forms {
		f.forms[form] = true
	}
	return f
}

// keeps reports whether the request can look up a form that has this spelling in a text; ""
// for characters and pairs.
func (f *wordFilter) keeps(form, word string) bool {
	if !f.needs(form, word) {
		return false
	}
	if !isASCII(word) && !f.needs(form, form) {
		form = strings.Clone(form)
		f.forms[form] = true
		f.spelled, f.late = append(f.spelled, form), true
	}
	return true
}

// needs reports whether the request can look up a form that has this spelling in a text.
func (f *wordFilter) needs(form, word string) bool {
	if f.forms[form] || slices.ContainsFunc(f.begins, func(begin string) bool { return strings.HasPrefix(form, begin) }) {
		return true
	}
	if word == "" {
		return false
	}
	among := LanguageSet(1<<languages - 1)
	if word[0] < utf8.RuneSelf {
		if among = f.initials[form[0]]; irregular[form] != "" {
			among = among.With(English)
		}
	}
	for l := range languages {
		if !among.Has(l) {
			continue
		}
		for _, stem := range stems(l, word, form) {
			if f.stems[stemOf{l, stem}] {
				return true
			}
		}
	}
	return false
}

// onlyStats is a part of memories that have no word of the request.
type onlyStats struct {
	*Recent // empty
	stats   Stats
}

func (s onlyStats) Stats(context.Context) (Stats, error) { return s.stats, nil }
