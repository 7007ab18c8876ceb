package textindex

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Tuning of the scores. test/bench measures them, except headingBoost, pathBoost and
// typingWeight, which make no difference in any data set that there was.
const (
	saturation   = 1.2  // k1 of BM25
	lengthNorm   = 0.55 // b of BM25
	headingBoost = 1.0  // what an occurrence in a heading counts more
	pathBoost    = 2.5  // what an occurrence in the path counts, in comparison with the body
	stemWeight   = 0.75 // what another form with the same stem counts
	typingWeight = 0.2  // what a word counts that begins with the word being typed
)

// functionIDF is the idf of function words: that of a word which half of all passages
// have. It is not measured, because that would take reading all of their postings.
const functionIDF = math.Ln2

// passageWords is the length of the passages in which the idf of words is measured.
const passageWords = 50

// maxTyping is how many words that begin with the word being typed are looked up.
const maxTyping = 128

// Candidates are how many memories are ranked by their contents.
const Candidates = 64

// A ranking ranks the memories of all parts for one request.
type ranking struct {
	r         *Request
	parts     []Part
	sizes     []int
	forms     [][]weightedForm // of each word of the request
	idf       []float32        // of each word of the request
	memories  int
	meanWords float32
	inverses  [1024]float32 // see inverse
	found     []scores      // by part; see rank
	room      *room         // has found
}

type weightedForm struct {
	form   string
	weight float32
}

// A candidate is a memory that was found in the index.
type candidate struct {
	part  int
	doc   uint32
	score float32
	seq   int64
}

// compare is negative if c comes before other. Of equal scores, the newer version comes
// first, so that the order is the same however the memories are divided into parts.
func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(other.score, c.score), cmp.Compare(other.seq, c.seq),
		cmp.Compare(c.part, other.part), cmp.Compare(c.doc, other.doc))
}

// A hit is a memory that has a word.
type hit struct {
	doc   uint32
	value float32 // between 0 and 1, by how often the memory has it
}

func newRanking(ctx context.Context, r *Request, parts []Part) (*ranking, error) {
	k := &ranking{r: r, parts: parts}
	var words int64
	var spoken LanguageSet
	for _, p := range parts {
		s, err := p.Stats(ctx)
		if err != nil {
			return nil, err
		}
		k.sizes = append(k.sizes, s.Size)
		k.memories += s.Memories
		words += s.Words
		spoken |= s.Languages
	}
	r.weigh(spoken)
	k.meanWords = max(1, float32(words)/float32(max(1, k.memories)))
	for n := range k.inverses {
		k.inverses[n] = 1 / (1 - lengthNorm + lengthNorm*float32(n)/k.meanWords)
	}
	for _, w := range r.words {
		forms, err := k.formsOf(ctx, w, spoken)
		if err != nil {
			return nil, err
		}
		k.forms = append(k.forms, forms)
	}
	k.idf = make([]float32, len(r.words))
	return k, nil
}

// formsOf returns the forms that count as a word, each once.
func (k *ranking) formsOf(ctx context.Context, w queryWord, spoken LanguageSet) ([]weightedForm, error) {
	forms := []weightedForm{{w.form, 1}}
	seen := map[string]bool{w.form: true}
	add := func(found []string, weight float32) {
		for _, form := range found {
			if !seen[form] {
				seen[form] = true
				forms = append(forms, weightedForm{form, weight})
			}
		}
	}
	if w.function {
		return forms, nil
	}
	if w.word != "" {
		for l := range languages {
			if !spoken.Has(l) {
				continue
			}
			for _, stem := range stems(l, w.word, w.form) {
				for _, p := range k.parts {
					found, err := p.Forms(ctx, l, stem)
					if err != nil {
						return nil, err
					}
					add(found, stemWeight)
				}
			}
		}
	}
	if w.typing && !w.not {
		limit := maxTyping
		if k.r.All {
			limit = 0
		}
		var begun []string
		for _, p := range k.parts {
			found, err := p.Beginning(ctx, w.form, limit)
			if err != nil {
				return nil, err
			}
			begun = append(begun, found...)
		}
		slices.Sort(begun)
		begun = slices.Compact(begun)
		if limit > 0 {
			begun = begun[:min(len(begun), limit)]
		}
		add(begun, typingWeight)
	}
	// In the same order in every backend, so that sums are rounded in the same way.
	slices.SortFunc(forms[1:], func(x, y weightedForm) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.form, y.form))
	})
	return forms, nil
}

// A tally adds up what several forms of a word count in one part.
type tally struct {
	sum     []float32 // by number of memory
	touched []uint32
}

// collect appends the hits of a word in a part, and returns how often the word is in it.
func (k *ranking) collect(ctx context.Context, part, word int, t *tally, hits []hit) (_ []hit, occurrences int, err error) {
	forms := k.forms[word]
	for _, f := range forms {
		counted := 1
		if f.weight == typingWeight {
			counted = 0
		}
		err := k.parts[part].Postings(ctx, f.form, func(list []Posting) {
			for i := range list {
				p := &list[i]
				n := (float32(p.Body) + headingBoost*float32(p.Heading)) * k.inverse(p.Length)
				occurrences += counted * int(p.Body)
				if p.Path > 0 {
					n += pathBoost * float32(p.Path)
					occurrences += counted
				}
				n *= f.weight
				if len(forms) == 1 {
					hits = append(hits, hit{p.Doc, n / (n + saturation)})
					continue
				}
				if t.sum[p.Doc] == 0 {
					t.touched = append(t.touched, p.Doc)
				}
				t.sum[p.Doc] += n
			}
		})
		if err != nil {
			return nil, 0, err
		}
	}
	for _, doc := range t.touched {
		hits = append(hits, hit{doc, t.sum[doc] / (t.sum[doc] + saturation)})
		t.sum[doc] = 0
	}
	t.touched = t.touched[:0]
	return hits, occurrences, nil
}

// inverse returns what an occurrence counts in a memory of a number of words.
func (k *ranking) inverse(length uint32) float32 {
	if int(length) < len(k.inverses) {
		return k.inverses[length]
	}
	return 1 / (1 - lengthNorm + lengthNorm*float32(length)/k.meanWords)
}

// idfOf returns the weight of a word that occurs n times: its IDF in passages.
func (k *ranking) idfOf(n float64) float32 {
	passages := max(float64(k.memories), float64(k.memories)*float64(k.meanWords)/passageWords)
	n = min(n, passages)
	return float32(math.Log(1 + (passages-n+0.5)/(n+0.5)))
}

// rank scores the memories of all parts.
func (k *ranking) rank(ctx context.Context) error {
	k.room = rooms.Get().(*room)
	k.found = k.room.scores(k.sizes)
	t, hits := &k.room.tally, k.room.hits[:len(k.parts)]
	for i, w := range k.r.words {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.function { // counts in the contents of candidates only: half of all memories may have it
			k.idf[i] = w.weight * functionIDF
			continue
		}
		occurrences := 0
		for part := range k.parts {
			found, n, err := k.collect(ctx, part, i, t, hits[part][:0])
			if err != nil {
				k.room = nil // its sums are those of an unfinished word
				return err
			}
			hits[part] = found
			occurrences += n
		}
		k.idf[i] = w.weight * k.idfOf(float64(occurrences))
		most := k.idf[i] * (1 + saturation)
		if w.not {
			most = 0
		}
		for part, hits := range hits {
			k.found[part].add(hits, i, most)
		}
	}
	return nil
}

// scores are the memories of a part that were found, by their numbers.
type scores struct {
	scores []float32
	masks  []mask   // the words that they have
	found  []uint64 // bits: those that have any word
}

// clear makes scores of n memories, none of which was found.
func (s *scores) clear(n int) {
	s.scores, s.masks, s.found = cleared(s.scores, n), cleared(s.masks, n), cleared(s.found, (n+63)/64)
}

// cleared returns n zeros, in the place of old if there is enough.
func cleared[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n)
	}
	old = old[:n]
	clear(old)
	return old
}

// A room is what a ranking needs for each memory of the store. Making it anew for each search
// would be much work for the garbage collector.
type room struct {
	found []scores
	tally tally
	hits  [][]hit
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// scores returns scores for parts with these sizes, and makes room for the rest.
func (r *room) scores(sizes []int) []scores {
	for len(r.found) < len(sizes) {
		r.found, r.hits = append(r.found, scores{}), append(r.hits, nil)
	}
	size := 0
	for i, n := range sizes {
		r.found[i].clear(n)
		size = max(size, n)
	}
	if len(r.tally.sum) < size {
		r.tally.sum = make([]float32, size) // it is zero between words
	}
	return r.found[:len(sizes)]
}

// release ends a ranking.
func (k *ranking) release() {
	if k.room != nil {
		rooms.Put(k.room)
	}
	k.room, k.found = nil, nil
}

// add adds the hits of a word, whose idf says what it counts at most.
func (s *scores) add(hits []hit, word int, most float32) {
	for _, h := range hits {
		s.found[h.doc/64] |= 1 << (h.doc % 64)
		s.masks[h.doc] |= 1 << word
		s.scores[h.doc] += most * h.value
	}
}

// keepEligible drops the memories that were found and lack a word that they must have, or have
// one that they must not have, or nothing else.
func (k *ranking) keepEligible() {
	var finders, must, not mask
	for i, w := range k.r.words {
		if !w.function && !w.not {
			finders |= 1 << i
		}
		if w.must {
			must |= 1 << i
		}
		if w.not {
			not |= 1 << i
		}
	}
	if must|not == 0 {
		return // all that were found have a word that finds
	}
	for _, s := range k.found {
		for i, word := range s.found {
			for ; word != 0; word &= word - 1 {
				doc := 64*i + bits.TrailingZeros64(word)
				if m := s.masks[doc]; m&finders == 0 || m&must != must || m&not != 0 {
					s.found[i] &^= word & -word
				}
			}
		}
	}
}

// best returns the best memories that were found, best first: limit of them, or all if there
// are not so many.
func (k *ranking) best(limit int) []candidate {
	best := worstFirst{}
	worst := float32(math.Inf(-1)) // score of the worst of limit
	for part, s := range k.found {
		for i, word := range s.found {
			for ; word != 0; word &= word - 1 {
				doc := 64*i + bits.TrailingZeros64(word)
				score := s.scores[doc]
				if score < worst {
					continue
				}
				c := candidate{part: part, doc: uint32(doc), score: score, seq: k.parts[part].Seq(uint32(doc))}
				if len(best) < limit {
					heap.Push(&best, c)
				} else if c.compare(best[0]) < 0 {
					best[0] = c
					heap.Fix(&best, 0)
				}
				if len(best) == limit {
					worst = best[0].score
				}
			}
		}
	}
	slices.SortFunc(best, candidate.compare)
	return best
}

// worstFirst is a heap of candidates.
type worstFirst []candidate

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(candidate)) }
func (h *worstFirst) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
