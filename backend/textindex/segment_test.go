package textindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"memento"
)

// A stored segment is what a storage has of a segment.
type stored struct {
	head   []byte
	blocks [][]byte
}

func store(t testing.TB, sources ...Source) stored {
	t.Helper()
	var s stored
	var err error
	s.head, err = Write(t.Context(), func(n int, block []byte) error {
		if n != len(s.blocks) {
			t.Errorf("block %d is written after %d others", n, len(s.blocks))
		}
		s.blocks = append(s.blocks, block)
		return nil
	}, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s stored) read(_ context.Context, n int) ([]byte, error) { return s.blocks[n], nil }

func (s stored) parse(t testing.TB, dead []byte) *Segment {
	t.Helper()
	parsed, err := ParseSegment(s.head, dead)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Blocks() != len(s.blocks) {
		t.Errorf("the head has %d blocks of %d", parsed.Blocks(), len(s.blocks))
	}
	return parsed
}

// A segment, and segments with dead memories, and a merged one, find what a part in main
// memory finds.
func TestSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	words := strings.Fields("apple apples pear pears plum quince boat boats 東京 the of when Häuser haus und nicht préféré")
	for n := range 3000 {
		words = append(words, fmt.Sprintf("word%d", n))
	}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[min(rng.IntN(len(words)), rng.IntN(len(words)), rng.IntN(len(words)))])
			b.WriteString([]string{" ", " ", "\n", "\n# "}[rng.IntN(4)])
		}
		return b.String()
	}
	now := texts{}
	first, second := NewRecent(), NewRecent()
	put := func(r *Recent, path string) {
		now[path] = text(1 + rng.IntN(100))
		r.Put(path, indexed(path, now[path]))
	}
	for i := range 700 {
		put(first, fmt.Sprintf("/%d", i))
	}
	first.Delete("/5")
	delete(now, "/5")
	one := store(t, first.Source())
	older := one.parse(t, nil)
	same := func(what string, parts ...Part) {
		t.Helper()
		for _, query := range []string{text(1), text(2), text(3), text(20), "wor", "word", "hauser", "東", "match:all app", "apple -pear"} {
			query = strings.TrimSpace(query)
			want, got := now.search(t, query), now.search(t, query, parts...)
			if !slices.EqualFunc(want, got, func(x, y memento.Match) bool { return x.Memory.Path == y.Memory.Path && x.Score == y.Score }) {
				t.Fatalf("%s: %q: %.200q, want %.200q", what, query, order(got), order(want))
			}
		}
	}
	same("one segment", older.Part(one.read))

	for i := range 100 {
		path := fmt.Sprintf("/%d", i*9)
		doc, known, err := older.Number(t.Context(), one.read, path)
		if _, exists := now[path]; err != nil || known != exists {
			t.Fatalf("%s: %d, %v, %v", path, doc, known, err)
		}
		if known {
			older.Kill(doc)
		}
		if i%3 == 0 {
			delete(now, path)
			continue
		}
		put(second, path)
	}
	second.Sort()
	same("a segment and a recent part", older.Part(one.read), second)

	two := store(t, second.Source())
	older = one.parse(t, older.Dead())
	newer := two.parse(t, nil)
	same("two segments", older.Part(one.read), newer.Part(two.read))

	merged := store(t, older.Source(one.read), newer.Source(two.read))
	whole := merged.parse(t, nil)
	same("merged", whole.Part(merged.read))
	if whole.Size() != len(now) || whole.Living() != len(now) {
		t.Errorf("%d memories, %d of them living, want %d", whole.Size(), whole.Living(), len(now))
	}
	for _, block := range merged.blocks {
		if len(block) > 3*blockSize {
			t.Errorf("a block of %d bytes", len(block))
		}
	}
	if _, known, err := whole.Number(t.Context(), merged.read, "/unknown"); known || err != nil {
		t.Errorf("an unknown memory: %v, %v", known, err)
	}
}

// The words of dead memories are not in a merged segment.
func TestMergeForgets(t *testing.T) {
	r := NewRecent()
	r.Put("a", indexed("/a", "confidential remarks"))
	r.Put("b", indexed("/b", "other things"))
	one := store(t, r.Source())
	s := one.parse(t, nil)
	s.Kill(0)
	two := store(t, s.Source(one.read))
	for _, word := range []string{"confidenti", "remark", "/a"} {
		if bytes.Contains(bytes.Join(append(two.blocks, two.head), nil), []byte(word)) {
			t.Errorf("%q is in the merged segment", word)
		}
	}
	empty := two.parse(t, nil)
	empty.Kill(0)
	if none := store(t, empty.Source(two.read)); len(none.blocks) > 0 {
		t.Errorf("%d blocks without memories", len(none.blocks))
	}
}

// Damaged segments are errors.
func FuzzSegment(f *testing.F) {
	r := NewRecent()
	for i := range 30 {
		r.Put(fmt.Sprint(i), indexed(fmt.Sprintf("/%d", i), fmt.Sprintf("# Text %d\nabout words, about numbers %d", i, i*i)))
	}
	good := store(f, r.Source())
	f.Add(uint16(0), byte(0), []byte{}, "about text")
	f.Add(uint16(7), byte(255), []byte{3, 4}, "numbers")
	f.Fuzz(func(t *testing.T, at uint16, flip byte, dead []byte, query string) {
		bad := stored{slices.Clone(good.head), nil}
		all := [][]byte{bad.head}
		for _, b := range good.blocks {
			bad.blocks = append(bad.blocks, slices.Clone(b))
			all = append(all, bad.blocks[len(bad.blocks)-1])
		}
		n := int(at)
		for _, b := range all {
			if n < len(b) {
				b[n] ^= flip
				break
			}
			n -= len(b)
		}
		s, err := ParseSegment(bad.head, dead)
		if err != nil {
			if !errors.Is(err, memento.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		read := func(ctx context.Context, n int) ([]byte, error) {
			if n >= len(bad.blocks) {
				return nil, ErrIndex
			}
			return bad.blocks[n], nil
		}
		_, err = Search(t.Context(), []Part{s.Part(read)}, memento.SearchOptions{Query: query}, texts{}.lookup)
		if err != nil && !errors.Is(err, memento.ErrFormat) {
			t.Fatal(err)
		}
		_, err = Write(t.Context(), func(int, []byte) error { return nil }, s.Source(read))
		if err != nil && !errors.Is(err, memento.ErrFormat) {
			t.Fatal(err)
		}
	})
}
