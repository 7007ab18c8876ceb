package textindex

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"memento"
)

// polyglot are memories in several languages, of which each has a few words of the others.
func polyglot(rng *rand.Rand, n int) texts {
	languages := []string{
		"the running of it was when they connected connections in runs city cities went goes child children ran",
		"der und nicht ein Häuser Haus running connection laufen gelaufen Größe größer",
		"le la une est préféré prefere préférer chevaux cheval connections running",
		"bir bu ve için kitaplar kitap evler ev running buna",
	}
	all := texts{}
	for i := range n {
		words := strings.Fields(languages[rng.IntN(len(languages))])
		var b strings.Builder
		for range 2 + rng.IntN(12) {
			b.WriteString(words[rng.IntN(len(words))] + " ")
		}
		all[fmt.Sprintf("/%d", i)] = b.String()
	}
	return all
}

var polyglotQueries = []string{"run", "connects now", "Haus", "prefere", "préféré now", "cheval gelaufen", "city", "go", "went children now", "child", "ev now", "größte", `"running connection"`, "match:all run"}

// A scan finds what an index finds, in the same order, whichever languages it meets when.
func TestScannerFindsWhatAnIndexFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	for round := range 60 {
		all := polyglot(rng, 1+rng.IntN(12))
		for _, query := range polyglotQueries {
			scanner := NewScanner(memento.SearchOptions{Query: query, Limit: 1000})
			for path, text := range all {
				if _, err := scanner.Add(t.Context(), memento.MemoryID(path), indexed(path, text)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := scanner.Search(t.Context(), all.lookup)
			if err != nil {
				t.Fatal(err)
			}
			if want := all.search(t, query); !slices.EqualFunc(want, got, samePlace) {
				t.Fatalf("round %d: %q: %s", round, query, difference(want, got))
			}
		}
	}
}

// So does a search of a kept index whose newest memories have to be scanned.
func TestLiveScansLanguages(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 3))
	for round := range 10 {
		s := newShelf()
		all := polyglot(rng, 40)
		for path, text := range all {
			s.put(path, text)
		}
		few := small
		few.recent = 1
		l := newLive(s, few)
		l.Close()
		s.finds(t, fmt.Sprintf("round %d", round), l, polyglotQueries...)
	}
}

// A scan that expected other languages, or met a form with diacritics late, begins again.
func TestScanBeginsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		indexed, newest []string
		query           string
	}{
		"function words of a language that the index has not": {
			[]string{"das Haus ist alt", "die Katze und der Hund"},
			[]string{"les chats sont dans la maison et le chien", "la maison est dans le village", "dans"}, "maison dans la die",
		},
		"a language that has gone": {
			[]string{"the boat is on the lake", "the house"},
			[]string{"-/0", "-/1", "le bateau est on the lake"}, "on the lake",
		},
		"diacritics": {
			[]string{"le chat est dans la maison"},
			[]string{"prefere", "il préféré dans la maison", "les préférés", "preferes"}, "préféraient",
		},
	} {
		s := newShelf()
		few := small
		few.recent = len(test.indexed)
		l := newLive(s, few)
		l.Close()
		for i, text := range test.indexed {
			s.put(fmt.Sprintf("/%d", i), text)
		}
		s.finds(t, name+": before", l, test.query)
		for i, text := range test.newest {
			if gone, ok := strings.CutPrefix(text, "-"); ok {
				s.put(gone, "")
			} else {
				s.put(fmt.Sprintf("/new/%d", i), text)
			}
		}
		s.finds(t, name, l, test.query)
	}
}

// An error on either side of a scan ends the other side, and is the one that is returned.
func TestScanStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	long := func(ctx context.Context, to chan<- int) error {
		for range 1_000_000 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			to <- 1
		}
		t.Error("reading goes on")
		return nil
	}
	failing := func(_ context.Context, from <-chan int) error {
		<-from
		return broken
	}
	if err := readAhead(t.Context(), long, failing); err != broken {
		t.Errorf("using fails: %v", err)
	}
	var after error
	err := readAhead(t.Context(), func(_ context.Context, to chan<- int) error {
		to <- 1
		return broken
	}, func(ctx context.Context, from <-chan int) error {
		for range from {
		}
		after = ctx.Err()
		return after
	})
	if err != broken || after != context.Canceled {
		t.Errorf("reading fails: %v, and the user's context has %v", err, after)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := readAhead(ctx, long, func(_ context.Context, from <-chan int) error {
		for range from {
		}
		return nil
	}); err != context.Canceled {
		t.Errorf("a canceled scan: %v", err)
	}
}

// A scan that was canceled does not split what was read for it.
func TestScanCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all := NewScanner(memento.SearchOptions{Query: "boat"}).all
	from := make(chan []scannedText, 2)
	for range cap(from) {
		from <- []scannedText{{"mem_1", Text{1, "/a.md", "the boat"}, true, true}}
	}
	close(from)
	if err := all.addAll(ctx, from); err != context.Canceled {
		t.Error(err)
	}
	if all.lexer.number != 0 {
		t.Errorf("%d memories are split", all.lexer.number)
	}
}

// Reconciling ends with its context, before the next block.
func TestReconcileCanceled(t *testing.T) {
	s := newShelf()
	for i := range 200 {
		s.put(fmt.Sprint("/", i), fmt.Sprintf("boat%d lake%d house%d", i, i*7, i*13))
	}
	if _, err := (&edition{live: still(t, s), store: "store"}).flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	reads := func(ctx context.Context, cancel func()) (n int, err error) {
		_, _, err = Reconcile(ctx, s.index, func(id SegmentID, block int) ([]byte, error) {
			if n++; n == 2 {
				cancel()
			}
			return s.block(id, block)
		}, func(memento.MemoryID) (int64, bool) { return 0, false })
		return n, err
	}
	if n, err := reads(t.Context(), func() {}); n < 4 || err != nil {
		t.Fatalf("%d blocks are read: %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n, err := reads(ctx, cancel); n != 2 || err != context.Canceled {
		t.Errorf("%d blocks are read after the end of the context, %v", n-2, err)
	}
}

func samePlace(x, y memento.Match) bool {
	return x.Memory.Path == y.Memory.Path && x.Score == y.Score
}

// Stemmers leave the first letter of words in ASCII alone, which scans rely on.
func FuzzFirstLetter(f *testing.F) {
	for _, word := range []string{"running", "gegeten", "buna", "yes", "qu", "ijs", "I\u0307", "dying"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for w := range Words(text) {
			word := text[w.Start:w.End]
			if word[0] >= utf8.RuneSelf {
				continue
			}
			for l := range languages {
				if l == English && irregular[w.Text] != "" {
					continue // looked at apart
				}
				for _, stem := range stems(l, word, term(w.Text)) {
					if stem[0] != w.Text[0] && (l != Turkish || utf8.RuneCountInString(stem) > 1) {
						t.Fatalf("language %d: %q has the stem %q", l, word, stem)
					}
				}
			}
		}
	})
}

// A scan leaves out what has changed, or was deleted, later among what it reads: in what it has
// found, in what it has made a segment of, and in the statistics of the rest.
func TestScanOfEdits(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 3))
	for round := range 12 {
		s := newShelf()
		few := small
		few.recent, few.scan, few.found = 1, 1+rng.IntN(20), 1+rng.IntN(10)
		l := newLive(s, few)
		l.Close()
		for range 120 {
			path := fmt.Sprintf("/%d", rng.IntN(60))
			switch _, exists := s.texts[path]; {
			case exists && rng.IntN(3) == 0:
				s.put(path, "")
			case rng.IntN(8) == 0:
				s.put(path, "das ist nicht die Katze und der Hund")
			default:
				s.put(path, randomText(rng, 1+rng.IntN(30)))
			}
		}
		s.finds(t, fmt.Sprintf("round %d", round), l, liveQueries...)
	}
}
