package textindex

import (
	"context"
	"slices"
	"sort"
	"sync"
)

// A recentView is a part in main memory at one instant. Views share a Recent, to which
// memories are only added: a view has the first ones of them, without those that it hides.
type recentView struct {
	*sharedRecent
	docs   uint32
	hidden []uint64 // bits, by number
	stats  Stats
	spoken [languages]int // living memories in each language
}

var _ Part = (*recentView)(nil)

// A sharedRecent is a [Recent] that several views have. Reading it takes the lock for a
// moment; nobody waits for anything else while holding it.
type sharedRecent struct {
	mu     sync.RWMutex
	r      *Recent
	before []int64 // for each memory, the number of the one with the same key before it, or -1
}

func newRecentView() *recentView { return viewOf(NewRecent()) }

// viewOf returns a view of all of r, which belongs to the view from now on, and has no dead
// memories.
func viewOf(r *Recent) *recentView {
	r.Sort()
	v := &recentView{sharedRecent: &sharedRecent{r: r}, docs: uint32(len(r.docs)), spoken: r.perLang}
	v.stats, _ = r.Stats(context.Background()) // which cannot fail
	for range r.docs {
		v.before = append(v.before, -1)
	}
	return v
}

// clone returns a view that can be changed, until finish is called.
func (v *recentView) clone() *recentView {
	c := *v
	c.hidden = slices.Clone(v.hidden)
	return &c
}

func (v *recentView) isHidden(doc uint32) bool {
	return int(doc/64) < len(v.hidden) && v.hidden[doc/64]&(1<<(doc%64)) != 0
}

// number returns the number of a memory.
func (v *recentView) number(key string) (doc uint32, known bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	newest, known := v.r.byKey[key]
	if !known {
		return 0, false
	}
	at := int64(newest)
	for at >= int64(v.docs) { // a later view has it
		at = v.before[at]
	}
	return uint32(max(at, 0)), at >= 0
}

// hide hides a memory, if the view has it.
func (v *recentView) hide(key string) {
	doc, known := v.number(key)
	if !known || v.isHidden(doc) {
		return
	}
	for int(doc/64) >= len(v.hidden) {
		v.hidden = append(v.hidden, 0)
	}
	v.hidden[doc/64] |= 1 << (doc % 64)
	v.count(doc, -1)
}

func (v *recentView) count(doc uint32, by int) {
	v.mu.RLock()
	d := v.r.docs[doc]
	v.mu.RUnlock()
	v.stats.Memories += by
	v.stats.Words += int64(by) * int64(d.length)
	if v.spoken[d.language] += by; v.spoken[d.language] > 0 {
		v.stats.Languages |= 1 << d.language
	} else {
		v.stats.Languages &^= 1 << d.language
	}
}

// add adds a memory that the view does not have, or hides.
func (v *recentView) add(key string, text Text) {
	d := read(string(text.Path), text.Contents)
	v.mu.Lock()
	before := int64(-1)
	if doc, known := v.r.byKey[key]; known {
		before = int64(doc)
	}
	v.before = append(v.before, before)
	v.r.add(key, text, d)
	v.docs = uint32(len(v.r.docs))
	v.mu.Unlock()
	v.stats.Size = int(v.docs)
	v.count(v.docs-1, 1)
}

// finish ends the changes of a clone.
func (v *recentView) finish() *recentView {
	if hidden := v.stats.Size - v.stats.Memories; hidden > 64 && hidden > v.stats.Memories {
		return v.compacted()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.r.Sort()
	return v
}

// compacted returns a view without what is left of hidden memories.
func (v *recentView) compacted() *recentView {
	r := NewRecent()
	number := make([]uint32, v.docs)
	for doc, d := range v.r.docs[:v.docs] {
		if v.isHidden(uint32(doc)) {
			continue
		}
		number[doc] = uint32(len(r.docs))
		r.byKey[d.Key] = number[doc]
		r.docs = append(r.docs, d)
		r.words += int64(d.length)
		r.perLang[d.language]++
	}
	for form, f := range v.r.forms {
		var living []Posting
		for _, p := range f.postings {
			if p.Doc < v.docs && !v.isHidden(p.Doc) {
				p.Doc = number[p.Doc]
				living = append(living, p)
			}
		}
		if len(living) > 0 {
			r.forms[form] = &recentForm{postings: living} // its stems are copied below
			r.unsorted = append(r.unsorted, form)
		}
	}
	for key, forms := range v.r.stems {
		for _, form := range forms {
			if r.forms[form] != nil {
				r.stems[key] = append(r.stems[key], form)
			}
		}
	}
	return viewOf(r)
}

// Stats implements [Part].
func (v *recentView) Stats(context.Context) (Stats, error) { return v.stats, nil }

// Forms implements [Part].
func (v *recentView) Forms(ctx context.Context, l Language, stem string) ([]string, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.r.Forms(ctx, l, stem)
}

// Beginning implements [Part].
func (v *recentView) Beginning(ctx context.Context, prefix string, limit int) ([]string, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.r.Beginning(ctx, prefix, limit)
}

// Postings implements [Part].
func (v *recentView) Postings(_ context.Context, form string, yield func([]Posting)) error {
	v.mu.RLock()
	list := v.r.list(form)
	v.mu.RUnlock()
	list = list[:sort.Search(len(list), func(i int) bool { return list[i].Doc >= v.docs })]
	from := 0
	for i, p := range list {
		if v.isHidden(p.Doc) {
			if from < i {
				yield(list[from:i])
			}
			from = i + 1
		}
	}
	if from < len(list) {
		yield(list[from:])
	}
	return nil
}

// Seq implements [Part].
func (v *recentView) Seq(doc uint32) int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.r.Seq(doc)
}

// Entries implements [Part].
func (v *recentView) Entries(ctx context.Context, docs []uint32) ([]Entry, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.r.Entries(ctx, docs)
}
