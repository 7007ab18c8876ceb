package textindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"memento"
)

// A shelf is a store in main memory, with a storage for its index.
type shelf struct {
	mu       sync.RWMutex
	texts    texts
	newest   map[string]int64 // seqs of the memories that exist
	ever     map[string]bool  // memories that ever existed
	versions []Change         // in order
	gone     []Change         // pruned deletions
	seq      int64
	revision int64
	index    StoredIndex

	incarnation int // of the store

	written        map[int64]Text // by seq
	noVersionTexts bool           // that its snapshots are no VersionReader

	blocks  map[SegmentID]map[int][]byte // of announced segments, too
	retired map[SegmentID]bool
}

func newShelf() *shelf {
	return &shelf{texts: texts{}, newest: map[string]int64{}, ever: map[string]bool{}, revision: 1, written: map[int64]Text{}, blocks: map[SegmentID]map[int][]byte{}, retired: map[SegmentID]bool{}}
}

// put changes a memory; "" deletes it.
func (s *shelf) put(path, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.versions = append(s.versions, Change{Memory: memento.MemoryID(path), Seq: s.seq, First: !s.ever[path], Size: int64(len(text))})
	s.ever[path] = true
	if text == "" {
		delete(s.texts, path)
		delete(s.newest, path)
		return
	}
	s.texts[path], s.newest[path] = text, s.seq
	s.written[s.seq] = Text{Seq: s.seq, Path: memento.Path(path), Contents: text}
}

// prune removes all versions but the newest ones of memories that exist.
func (s *shelf) prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = slices.DeleteFunc(s.versions, func(c Change) bool {
		newest, exists := s.newest[string(c.Memory)]
		if !exists && c.Seq > s.index.Seq {
			c.First = false
			s.gone = append(s.gone, c)
		}
		return newest != c.Seq
	})
}

func (s *shelf) View(ctx context.Context, _ memento.StoreID, do func(context.Context, Snapshot) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.noVersionTexts {
		return do(ctx, shelfSnapshot{s})
	}
	return do(ctx, versionsSnapshot{shelfSnapshot{s}})
}

func (s *shelf) block(id SegmentID, n int) ([]byte, error) {
	if b, ok := s.blocks[id][n]; ok {
		return b, nil
	}
	return nil, ErrIndex
}

func (s *shelf) Block(_ context.Context, _ memento.StoreID, id SegmentID, n int) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.block(id, n)
}

func (s *shelf) PutBlocks(_ context.Context, _ memento.StoreID, revision int64, id SegmentID, blocks []Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired[id] || s.blocks[id] == nil && revision != s.revision {
		return ErrRevised
	}
	if s.blocks[id] == nil {
		s.blocks[id] = map[int][]byte{}
	}
	for _, b := range blocks {
		s.blocks[id][b.N] = b.Data
	}
	return nil
}

func (s *shelf) Publish(_ context.Context, _ memento.StoreID, revision int64, now StoredIndex, abandon bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision != s.revision {
		return ErrRevised
	}
	for _, ref := range now.Segments {
		if s.blocks[ref.ID] == nil || s.retired[ref.ID] {
			return ErrRevised
		}
	}
	for id := range s.blocks {
		if now.find(id) < 0 && (abandon || s.index.find(id) >= 0) {
			s.retired[id] = true
		}
	}
	s.gone = slices.DeleteFunc(s.gone, func(c Change) bool { return c.Seq <= now.Seq })
	s.index = StoredIndex{now.Seq, slices.Clone(now.Segments)}
	s.revision++
	return nil
}

func (s *shelf) Discard(_ context.Context, _ memento.StoreID, id SegmentID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocks[id] != nil && s.index.find(id) < 0 {
		s.retired[id] = true
	}
	return nil
}

func (s *shelf) Sweep(context.Context, memento.StoreID) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.retired {
		delete(s.blocks, id)
		delete(s.retired, id)
		return true, nil
	}
	return false, nil
}

// has reports whether a stored block has a text.
func (s *shelf) has(text string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, blocks := range s.blocks {
		for _, b := range blocks {
			if bytes.Contains(b, []byte(text)) {
				return true
			}
		}
	}
	return false
}

type shelfSnapshot struct{ *shelf }

// A versionsSnapshot is a VersionReader.
type versionsSnapshot struct{ shelfSnapshot }

func (s versionsSnapshot) VersionTexts(_ context.Context, seqs []int64) (map[int64]Text, error) {
	texts := map[int64]Text{}
	for _, c := range s.versions {
		if text, ok := s.written[c.Seq]; ok && slices.Contains(seqs, c.Seq) {
			texts[c.Seq] = text
		}
	}
	return texts, nil
}

func (s shelfSnapshot) Seq() int64      { return s.seq }
func (s shelfSnapshot) Memories() int64 { return int64(len(s.texts)) }
func (s shelfSnapshot) Revision() int64 { return s.revision }
func (s shelfSnapshot) Long()           {}
func (s shelfSnapshot) Kept(_ context.Context, seqs []int64) (map[int64]bool, error) {
	kept := map[int64]bool{}
	for _, c := range s.versions {
		if slices.Contains(seqs, c.Seq) {
			kept[c.Seq] = true
		}
	}
	return kept, nil
}

func (s shelfSnapshot) Version(_ context.Context, seq int64) (memento.VersionID, error) {
	for _, c := range s.versions {
		if c.Seq == seq {
			return memento.VersionID(fmt.Sprint(s.incarnation, ".", seq)), nil
		}
	}
	return "", nil
}
func (s shelfSnapshot) Stored(context.Context) (StoredIndex, error) {
	return StoredIndex{s.index.Seq, slices.Clone(s.index.Segments)}, nil
}

func (s shelfSnapshot) Block(_ context.Context, id SegmentID, n int) ([]byte, error) {
	return s.block(id, n)
}

func (s shelfSnapshot) Changed(_ context.Context, seq int64, limit int) ([]Change, error) {
	all := append(slices.Clone(s.versions), s.gone...)
	slices.SortFunc(all, func(x, y Change) int { return int(x.Seq - y.Seq) })
	all = slices.DeleteFunc(all, func(c Change) bool { return c.Seq <= seq })
	return all[:min(limit, len(all))], nil
}

func (s shelfSnapshot) Texts(_ context.Context, ids []memento.MemoryID) (map[memento.MemoryID]Text, error) {
	found := map[memento.MemoryID]Text{}
	for _, id := range ids {
		if text, ok := s.texts[string(id)]; ok {
			found[id] = Text{Seq: s.newest[string(id)], Path: memento.Path(id), Contents: text}
		}
	}
	return found, nil
}

func (s shelfSnapshot) Lookup(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]Found, error) {
	return s.texts.lookup(ctx, ids, actors)
}

func (s shelfSnapshot) Meeting(_ context.Context, c Condition, seqs []int64) ([]int64, error) {
	return seqs, nil
}

// small limits, so that few memories need several segments.
var small = limits{
	flushVersions: 20, flushTexts: 2000, maxFlush: 50, smallest: 16,
	far: 1000, farFlush: 500, farTexts: 20000, maxBuilt: 1 << 20,
	scan: 30, found: 10,
	recent: 40, recentTexts: 4000,
}

// still returns the indexes in a storage, without what is done in the background.
func still(t *testing.T, m Storage) *Live {
	l := newLive(m, small)
	l.Close()
	return l
}

// keep does what is due.
func keep(t *testing.T, l *Live) {
	t.Helper()
	for {
		more, err := l.Keep(t.Context(), "store")
		if err != nil && !errors.Is(err, ErrRevised) {
			t.Fatal(err)
		}
		if !more && err == nil {
			return
		}
	}
}

// reference returns an index of the memories that was made anew.
func (s *shelf) reference() *Recent {
	r := NewRecent()
	for path, text := range s.texts {
		r.Put(path, Text{Seq: s.newest[path], Path: memento.Path(path), Contents: text})
	}
	r.Sort()
	return r
}

// finds compares what an index finds with what the memories have.
func (s *shelf) finds(t *testing.T, when string, l *Live, queries ...string) {
	t.Helper()
	for _, query := range queries {
		want := s.texts.search(t, query, s.reference())
		got, err := l.Search(t.Context(), "store", memento.SearchOptions{Query: query, Limit: 1000})
		if err != nil {
			t.Fatalf("%s: %q: %v", when, query, err)
		}
		if !slices.EqualFunc(want, got, func(x, y memento.Match) bool { return x.Memory.Path == y.Memory.Path && x.Score == y.Score }) {
			t.Fatalf("%s: %q: %d found, want %d: %s", when, query, len(got), len(want), difference(want, got))
		}
	}
}

// difference says where two results differ first.
func difference(want, got []memento.Match) string {
	for i, w := range want {
		if i >= len(got) {
			return string(w.Memory.Path) + " is missing"
		}
		if g := got[i]; g.Memory.Path != w.Memory.Path || g.Score != w.Score {
			return fmt.Sprintf("match %d is %s with %v, want %s with %v", i, g.Memory.Path, g.Score, w.Memory.Path, w.Score)
		}
	}
	return "there are more"
}

func randomText(rng *rand.Rand, n int) string {
	words := strings.Fields("apple apples pear pears plum quince boat boats 東京 the of when Häuser haus und nicht préféré")
	var b strings.Builder
	for range n {
		if i := min(rng.IntN(60), rng.IntN(60)); i < len(words) {
			b.WriteString(words[i])
		} else {
			fmt.Fprintf(&b, "word%d", rng.IntN(300))
		}
		b.WriteString([]string{" ", " ", "\n", "\n# "}[rng.IntN(4)])
	}
	return b.String()
}

var liveQueries = []string{"apple boat", "word1", "pears", "haus nicht", "東京", "match:all app", "+plum -pear", "word12 word13 quince"}

// Whatever was written, kept, pruned and purged, by one process or two, a search finds what
// there is.
func TestLive(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 9))
		s := newShelf()
		s.noVersionTexts = seed == 1
		l, other := still(t, s), still(t, s)
		most := 0
		for step := range 80 {
			for range rng.IntN(12) {
				path := fmt.Sprintf("/%d", rng.IntN(300))
				if _, exists := s.texts[path]; exists && rng.IntN(3) == 0 {
					s.put(path, "")
				} else {
					s.put(path, randomText(rng, 1+rng.IntN(30)))
				}
			}
			what := "after writes"
			switch rng.IntN(12) {
			case 0:
				keep(t, l)
				what = "kept"
			case 1:
				keep(t, other)
				what = "kept by another"
			case 2:
				s.prune()
				what = "pruned"
			case 3:
				if err := l.Purge(t.Context(), "store", false, func(context.Context) error { return nil }); err != nil {
					t.Fatal(err)
				}
				what = "purged"
			case 4:
				l = still(t, s)
				what = "opened"
			}
			most = max(most, len(s.index.Segments))
			when := fmt.Sprintf("seed %d, step %d, %s", seed, step, what)
			s.finds(t, when, l, liveQueries[step%len(liveQueries)])
			if step%3 == 0 {
				s.finds(t, when+" (another)", other, liveQueries[rng.IntN(len(liveQueries))])
			}
		}
		if most < 3 {
			t.Errorf("there were never more than %d segments: little is tested", most)
		}
		keep(t, l)
		s.finds(t, "at the end", l, liveQueries...)
		if err := s.View(t.Context(), "", checkIndex); err != nil {
			t.Errorf("the index does not match: %v", err)
		}
	}
}

// checkIndex is Check as a callback.
func checkIndex(ctx context.Context, now Snapshot) error { return Check(ctx, now) }

// Segments of a size are merged, so that there are few.
func TestSegmentsAreMerged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := newShelf()
	l := still(t, s)
	for i := range 1000 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 5))
		if i%25 == 0 {
			keep(t, l)
		}
	}
	keep(t, l)
	if n := len(s.index.Segments); n < 2 || n > mergeLevels*mergeTogether {
		t.Errorf("%d segments", n)
	}
	if n := len(s.blocks); n != len(s.index.Segments) {
		t.Errorf("%d segments have blocks, %d are in the index", n, len(s.index.Segments))
	}
	s.finds(t, "merged", l, liveQueries...)
}

// A purge removes the words of older versions, whether the index has followed or not, and
// a segment that was made before is not published any more.
func TestPurge(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	s := newShelf()
	l := still(t, s)
	s.put("/doomed", "zzconfidential remarks")
	for i := range 60 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
	}
	keep(t, l)
	if !s.has("zzconfidential") {
		t.Fatal("the index does not have the word: nothing is tested")
	}
	late := edition{live: l, store: "store", revision: s.revision}
	begun, err := late.announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.put("/doomed", "harmless")
	s.prune()
	if err := l.Purge(t.Context(), "store", false, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.has("zzconfidential") {
		t.Error("the word is still there")
	}
	if _, err := late.write(t.Context(), begun, s.texts.index().Source()); !errors.Is(err, ErrRevised) {
		t.Errorf("what was begun before the purge was written: %v", err)
	}
	if _, err := late.announce(t.Context()); !errors.Is(err, ErrRevised) {
		t.Errorf("a segment was announced for an index of before the purge: %v", err)
	}
	s.finds(t, "purged", l, append(liveQueries, "zzconfidential", "harmless")...)
}

// An index that is damaged, or does not match, is not believed, and made anew.
func TestDistrust(t *testing.T) {
	for name, harm := range map[string]func(*shelf){
		"no head":      func(s *shelf) { delete(s.blocks[s.index.Segments[0].ID], HeadBlock) },
		"no block":     func(s *shelf) { delete(s.blocks[s.index.Segments[0].ID], 0) },
		"no segment":   func(s *shelf) { s.index.Segments = s.index.Segments[1:] },
		"one too many": func(s *shelf) { delete(s.texts, "/0") },
		"a flipped bit": func(s *shelf) {
			b := slices.Clone(s.blocks[s.index.Segments[0].ID][0])
			b[len(b)/2] ^= 4
			s.blocks[s.index.Segments[0].ID][0] = b
		},
		"another format": func(s *shelf) {
			id := s.index.Segments[0].ID
			head, err := unseal(id, HeadBlock, s.blocks[id][HeadBlock])
			if err != nil {
				panic(err)
			}
			head = slices.Clone(head)
			head[0] = SegmentFormat + 1
			s.blocks[id][HeadBlock] = seal(id, HeadBlock, head)
		},
		"dead memories": func(s *shelf) { s.index.Segments[0].Dead = []byte{0, 0} },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 3))
			s := newShelf()
			l := still(t, s)
			for i := range 200 {
				s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
				if i == 150 {
					keep(t, l)
				}
			}
			harm(s)
			l = still(t, s)
			s.finds(t, name, l, liveQueries...)
			keep(t, l)
			s.finds(t, name+", kept", l, liveQueries...)
			if err := s.View(t.Context(), "", checkIndex); err != nil {
				t.Errorf("after it was made anew: %v", err)
			}
			s.finds(t, name+", made anew", still(t, s), liveQueries...)
		})
	}
}

// A purge leaves segments alone of which nothing was erased, though memories in them have
// changed.
func TestPurgeLeavesOthersAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	s := newShelf()
	l := still(t, s)
	for i := range 90 {
		if i == 40 {
			s.put("/doomed", "zzconfidential remarks")
		}
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 5))
		if i%30 == 29 {
			keep(t, l)
		}
	}
	for i := range 90 {
		if i%10 == 0 {
			s.put(fmt.Sprintf("/%d", i), "changed")
		}
	}
	before := slices.Clone(s.index.Segments)
	if len(before) != 3 {
		t.Fatalf("%d segments", len(before))
	}
	s.put("/doomed", "harmless")
	s.versions = slices.DeleteFunc(s.versions, func(c Change) bool { return c.Memory == "/doomed" && c.Seq < s.seq })
	if err := l.Purge(t.Context(), "store", false, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.has("zzconfidential") {
		t.Error("the word is still there")
	}
	for i, ref := range before {
		if stays := s.index.find(ref.ID) >= 0; stays != (i != 1) {
			t.Errorf("segment %d is still there: %v", i, stays)
		}
	}
	s.finds(t, "purged", l, liveQueries...)
}

// A busyShelf calls hooks after what others may do at the same time.
type busyShelf struct {
	*shelf
	put, viewed func()
}

func (s busyShelf) PutBlocks(ctx context.Context, store memento.StoreID, revision int64, id SegmentID, blocks []Block) error {
	err := s.shelf.PutBlocks(ctx, store, revision, id, blocks)
	s.put()
	return err
}

func (s busyShelf) View(ctx context.Context, store memento.StoreID, do func(context.Context, Snapshot) error) error {
	err := s.shelf.View(ctx, store, do)
	s.viewed()
	return err
}

// A purge ends although another process writes, flushes and merges all the time, and does
// not drop the index. What changes in a segment while it is rewritten is not lost.
func TestPurgeWhileOthersFlush(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	s := newShelf()
	other := still(t, s)
	s.put("/doomed", "zzconfidential remarks")
	for i := range 300 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
		if i%50 == 0 {
			keep(t, other)
		}
	}
	keep(t, other)
	s.put("/doomed", "harmless")
	s.prune()
	flushes, dropped := 0, false
	work := func() {
		for range 25 {
			s.put(fmt.Sprintf("/%d", rng.IntN(400)), randomText(rng, 10))
		}
		for range 3 {
			before := s.index.Seq
			if _, err := other.Keep(t.Context(), "store"); err != nil && !errors.Is(err, ErrRevised) {
				t.Fatal(err)
			}
			if s.index.Seq > before {
				flushes++
			}
			dropped = dropped || s.index.Seq == 0
		}
	}
	l := still(t, busyShelf{s, work, func() {}})
	if err := l.Purge(t.Context(), "store", false, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.has("zzconfidential") {
		t.Error("the word is still there")
	}
	if flushes < 2 || dropped {
		t.Errorf("%d flushes meanwhile; the index was dropped: %v", flushes, dropped)
	}
	s.finds(t, "purged", other, liveQueries...)
	s.finds(t, "purged", still(t, s), liveQueries...)
	if err := s.View(t.Context(), "", checkIndex); err != nil {
		t.Error(err)
	}
}

// A purge ends even if others purge all the time: it drops the index then.
func TestPurgeWhileOthersPurge(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	s := newShelf()
	other := still(t, s)
	s.put("/doomed", "zzconfidential remarks")
	for i := range 60 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
	}
	keep(t, other)
	s.put("/doomed", "harmless")
	s.prune()
	l := still(t, busyShelf{s, func() {
		e := &edition{live: other, store: "store"}
		if err := e.publish(t.Context(), true, func(context.Context, Snapshot, *StoredIndex) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}, func() {}})
	if err := l.Purge(t.Context(), "store", false, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.has("zzconfidential") {
		t.Error("the word is still there")
	}
	s.finds(t, "purged", l, liveQueries...)
}

// What another process does between reading an index and replacing segments of it is kept,
// and segments are not in the index twice.
func TestMergeWhileOthersMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	s := newShelf()
	other := still(t, s)
	for i := range 400 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 5))
		if i%25 == 24 {
			if _, err := (&edition{live: other, store: "store"}).flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	l := still(t, busyShelf{s, func() {}, func() {
		if n++; n == 1 { // after the view of the merge
			keep(t, other)
		}
	}})
	e := &edition{live: l, store: "store"}
	if _, err := e.merge(t.Context()); !errors.Is(err, ErrRevised) {
		t.Errorf("merged segments that were not there any more: %v", err)
	}
	s.finds(t, "merged by both", still(t, s), liveQueries...)
	if err := s.View(t.Context(), "", checkIndex); err != nil {
		t.Error(err)
	}
}

// Damage that only the background meets does not end its work.
func TestDamageMetByKeep(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	s := newShelf()
	for i := range 60 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
	}
	keep(t, still(t, s))
	id := s.index.Segments[0].ID
	last := len(s.blocks[id]) - 2 // it has the numbers of memories, which a search does not need
	s.blocks[id][last] = append([]byte{}, s.blocks[id][last]...)
	s.blocks[id][last][7] ^= 1
	for i := range 30 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
	}
	keep(t, still(t, s))
	if s.index.find(id) >= 0 {
		t.Error("the damaged segment is still in the index")
	}
	if s.index.Seq <= 60 {
		t.Errorf("the index goes up to %d", s.index.Seq)
	}
	s.finds(t, "made anew", still(t, s), liveQueries...)
}

// A search that meets damage does not have an index dropped that is a newer one.
func TestDamageOfAnOlderIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	s := newShelf()
	other := still(t, s)
	for i := range 60 {
		s.put(fmt.Sprintf("/%d", i), randomText(rng, 10))
	}
	keep(t, other)
	id := s.index.Segments[0].ID
	good := s.blocks[id][0]
	s.blocks[id][0] = []byte("damaged")
	views := 0
	l := still(t, busyShelf{s, func() {}, func() {
		if views++; views == 3 { // it was updated, and has met the damage
			s.blocks[id][0] = good
			for i := range 30 {
				s.put(fmt.Sprintf("/more/%d", i), randomText(rng, 10))
			}
			keep(t, other)
		}
	}})
	if _, err := l.Search(t.Context(), "store", memento.SearchOptions{Query: "apple"}); err != nil {
		t.Fatal(err)
	}
	if views < 4 {
		t.Fatalf("%d views: the damage was not met", views)
	}
	keep(t, l)
	if s.index.find(id) < 0 {
		t.Error("the newer index was dropped")
	}
}

// A store that is deleted, and created again with the same ID and as many versions, is not
// taken for the same.
func TestOtherHistory(t *testing.T) {
	s := newShelf()
	l := still(t, s)
	for i := range 10 {
		s.put(fmt.Sprintf("/%d", i), "apple")
	}
	s.finds(t, "at first", l, "apple", "pear")
	other := newShelf()
	for i := range 10 {
		other.put(fmt.Sprintf("/%d", i), "pear")
	}
	s.texts = other.texts
	s.incarnation++
	s.finds(t, "created again", l, "apple", "pear")
	s.revision++
	s.incarnation++
	s.texts = texts{}
	for i := range 10 {
		s.texts[fmt.Sprintf("/%d", i)] = "plum"
	}
	s.put("/more", "plum")
	s.finds(t, "with another revision", l, "apple", "pear", "plum")
}

// Searches, writes and what is done in the background run at the same time.
func TestLiveConcurrently(t *testing.T) {
	s := newShelf()
	l := newLive(s, small)
	defer l.Close()
	var writers, searchers sync.WaitGroup
	done := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 4))
			for i := range 100 {
				path := fmt.Sprintf("/%d/%d", w, rng.IntN(100))
				s.put(path, fmt.Sprintf("mark%d", i)+" "+randomText(rng, 10))
				l.Wrote("store", 1)
				found, err := l.Search(t.Context(), "store", memento.SearchOptions{Query: fmt.Sprintf("+mark%d", i), Limit: 100})
				if err != nil || !slices.Contains(order(found), path) {
					t.Errorf("%s is not found after %d writes: %q, %v", path, i, order(found), err)
					return
				}
			}
		})
		searchers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := l.Search(t.Context(), "store", memento.SearchOptions{Query: "apple"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	searchers.Wait()
	s.finds(t, "at the end", l, liveQueries...)
}
