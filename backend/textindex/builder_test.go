package textindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"memento"
)

// A segment that a builder makes is the one that is made of the same memories in a Recent, byte
// by byte: forms with many postings, in headings and paths, in several languages, and when the
// lexer has forgotten what it knew meanwhile.
func TestBuilder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b, r := newBuilder(), NewRecent()
	b.lexer = newLexer(nil)
	b.lexer.room = 500
	for i := range 700 {
		text := Text{Seq: int64(i + 7), Path: memento.Path(fmt.Sprintf("/notes/%d/apple.md", i/10)), Contents: "everywhere " + randomText(rng, 30)}
		switch i % 7 {
		case 0:
			text.Contents = "# Apple pears\n" + strings.Repeat("apple ", i) + text.Contents
		case 1:
			text.Contents = "Die Äpfel und die Birnen sind nicht für mich, und der Cafébesuch auch nicht. " + text.Contents
		case 2:
			text.Contents = "東京の天気 " + text.Contents
		}
		b.add(fmt.Sprint("key", i), text)
		r.Put(fmt.Sprint("key", i), text)
	}
	made := func(s Source) []string {
		var blocks []string
		head, err := Write(context.Background(), func(_ int, block []byte) error {
			blocks = append(blocks, string(block))
			return nil
		}, s)
		if err != nil {
			t.Fatal(err)
		}
		return append(blocks, string(head))
	}
	built, want := made(b.source()), made(r.Source())
	if len(built) != len(want) {
		t.Fatalf("%d blocks; want %d", len(built), len(want))
	}
	for i := range built {
		if built[i] != want[i] {
			t.Fatalf("block %d of %d differs", i, len(built))
		}
	}
	lexer := b.lexer
	b.close()
	for _, f := range lexer.tallies {
		if f.builder != nil {
			t.Fatal("the lexer keeps the builder")
		}
	}
}

// A flush that meets texts whose words do not repeat ends with the ones that fit, and the next
// one goes on there.
func TestFlushBounded(t *testing.T) {
	s := newShelf()
	for i := range 400 {
		s.put(fmt.Sprint("/", i%350), fmt.Sprintf("word%da word%db", i, i))
	}
	m := small
	m.far, m.farFlush, m.maxBuilt = 100, 10000, 40000
	l := newLive(s, m)
	l.Close() // nothing in the background
	for n := 0; ; n++ {
		flushed, err := (&edition{live: l, store: "store"}).flush(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !flushed {
			if n < 3 {
				t.Fatalf("%d segments", n)
			}
			break
		}
	}
	for i := range 400 {
		found, err := l.Search(t.Context(), "store", memento.SearchOptions{Query: fmt.Sprintf("word%db", i)})
		if want := 1; err != nil || (len(found) == want) != (i >= 50) {
			t.Fatalf("word%db: %d found, %v", i, len(found), err)
		}
	}
}

// An index that lacks very much gets large segments.
func TestFlushFarBehind(t *testing.T) {
	s := newShelf()
	for i := range 400 {
		s.put(fmt.Sprint("/", i), "apple")
	}
	m := small
	m.far, m.farFlush, m.farTexts = 100, 10000, 1<<20
	l := newLive(s, m)
	l.Close()
	if _, err := (&edition{live: l, store: "store"}).flush(t.Context()); err != nil || s.index.Seq != 400 || len(s.index.Segments) != 1 {
		t.Errorf("%d segments up to %d, %v", len(s.index.Segments), s.index.Seq, err)
	}
}
