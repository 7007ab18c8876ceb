package textindex

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"memento"
)

// texts are memories by their path, which is their ID too.
type texts map[string]string

func (all texts) lookup(_ context.Context, ids []memento.MemoryID, _ bool) (map[memento.MemoryID]Found, error) {
	found := map[memento.MemoryID]Found{}
	for _, id := range ids {
		if text, ok := all[string(id)]; ok {
			found[id] = Found{Memory: memento.Memory{ID: id, Path: memento.Path(id), Content: text}}
		}
	}
	return found, nil
}

func (all texts) index() *Recent {
	r := NewRecent()
	for path, text := range all {
		r.Put(path, indexed(path, text))
	}
	r.Sort()
	return r
}

// indexed returns what is indexed of a memory. The seqs of memories are in no order.
func indexed(path, text string) Text {
	h := fnv.New32()
	h.Write([]byte(path))
	return Text{Seq: int64(h.Sum32()), Path: memento.Path(path), Contents: text}
}

func (all texts) search(t testing.TB, query string, parts ...Part) []memento.Match {
	t.Helper()
	if len(parts) == 0 {
		parts = []Part{all.index()}
	}
	found, err := Search(t.Context(), parts, memento.SearchOptions{Query: query, Limit: 1000}, all.lookup)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func order(found []memento.Match) (paths []string) {
	for _, m := range found {
		paths = append(paths, string(m.Memory.Path))
	}
	return paths
}

// newest returns the path whose memory is the newest one of an index of texts.
func newest(paths ...string) string {
	return slices.MaxFunc(paths, func(x, y string) int { return cmp.Compare(indexed(x, "").Seq, indexed(y, "").Seq) })
}

// Equal scores are in order of age, however many there are and however the memories are
// divided into parts; and what a search returns is the beginning of what one with a larger
// limit does.
func TestEqualScores(t *testing.T) {
	const n = 5000
	all := texts{}
	parts := []*Recent{NewRecent(), NewRecent(), NewRecent()}
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range n {
		path := fmt.Sprintf("/%d", i)
		all[path] = "the same boat"
		parts[rng.IntN(3)].Put(path, indexed(path, all[path]))
	}
	stored := store(t, parts[2].Source())
	segment := stored.parse(t, nil)
	divided := []Part{parts[0], segment.Part(stored.read), parts[1]}
	byAge := slices.SortedFunc(maps.Keys(all), func(x, y string) int { return cmp.Compare(indexed(y, "").Seq, indexed(x, "").Seq) })
	for _, limit := range []int{1, 20, 64, 65, 100, 2000, 4999, n, 2 * n} {
		found, err := Search(t.Context(), divided, memento.SearchOptions{Query: "boat", Limit: limit}, all.lookup)
		if err != nil || !slices.Equal(order(found), byAge[:min(limit, n)]) {
			t.Fatalf("limit %d: %d matches, %v", limit, len(found), err)
		}
	}
}

// What is better comes first.
func TestOrder(t *testing.T) {
	filler := strings.Repeat("some other sentence about nothing. ", 30)
	for _, test := range []struct {
		name, query string
		all         texts
		best        string
	}{
		{"rare words count more", "quince report", texts{"/a": "quince", "/b": "report report", "/c": "report", "/d": "report"}, "/a"},
		{"more words count more", "blue boat", texts{"/a": "blue blue blue", "/b": "a boat is blue", "/c": "boat boat"}, "/b"},
		{"short texts count more", "boat", texts{"/a": filler + "boat", "/b": "boat"}, "/b"},
		{"the path counts more", "boat", texts{"/boat": "a thing", "/b": "a boat"}, "/boat"},
		{"headings count more", "boat", texts{"/a": "# Boat\nthing or two", "/b": "the boat\nthing or two"}, "/a"},
		{"exact forms count more", "boating", texts{"/a": "the boats float", "/b": "the boating float"}, "/b"},
		{"near words count more", "blue boat", texts{"/a": "blue " + filler + "boat", "/b": "blue boat " + filler}, "/b"},
		{"the order of words counts", "blue boat", texts{"/a": "see the boat blue that is", "/b": "see the blue boat that is"}, "/b"},
		{"what stands together counts in long texts", "tram ticket price", texts{"/a": "tram\n" + filler + "ticket\n" + filler + "price\n", "/b": filler + "the price of a ticket for the tram\n" + filler}, "/b"},
		{"newer versions first, of equals", "boat", texts{"/b": "boat", "/a": "boat"}, newest("/a", "/b")},
	} {
		for range 4 { // the order in which they are indexed differs
			if got := order(test.all.search(t, test.query)); len(got) == 0 || got[0] != test.best {
				t.Errorf("%s: %q", test.name, got)
			}
		}
	}
}

func TestParseRequest(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]Request{
		"dir:/a/b word":         {Dir: "/a/b"},
		"dir:/ word":            {Dir: "/"},
		"dir:a word":            {},
		"since:2026-03-01 word": {Condition: Condition{Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}},
		"since:2d word":         {Condition: Condition{Since: now.AddDate(0, 0, -2)}},
		"since:1w word":         {Condition: Condition{Since: now.AddDate(0, 0, -7)}},
		"since:99999d word":     {},
		"since:yesterday word":  {},
		"by:me word":            {Condition: Condition{By: "me"}},
		`by:"user me" word`:     {Condition: Condition{By: "user me"}},
		`dir:"/my notes" word`:  {Dir: "/my notes"},
		`word dir:"/my notes`:   {Dir: "/my notes"},
		"-by:me word":           {},
		"-dir:/a word":          {},
		"match:all word":        {All: true},
		"match:some word":       {},
		`"dir:/a" word`:         {},
	} {
		got := ParseRequest(query, now)
		if got.Dir != want.Dir || !got.Since.Equal(want.Since) || got.By != want.By || got.All != want.All {
			t.Errorf("%q: %+v", query, got)
		}
		if got.Empty() {
			t.Errorf("%q is empty", query)
		}
	}
	for query, want := range map[string]string{
		"when did Maria move":  "~when ~did maria move*",
		"when did Maria move?": "~when ~did maria move",
		"to be or not to be":   "to be or not",
		"+must -not":           "+must -not*",
		`"two words" end.`:     "+two +words end",
		`"is it you" end.`:     "+is +it +you end",
		`"a" "of the boat" x`:  "+a ~of ~the +boat x*",
		`-"two words" end.`:    "end",
		`-"word" end.`:         "-word end",
		"東京タ":                  "東 東京 京 京タ タ*",
		"word word WORD.":      "word",
		"l'été":                "l ete*",
	} {
		r := ParseRequest(query, now)
		r.weigh(LanguageSet(0).With(English))
		var got []string
		for _, w := range r.words {
			s := w.form
			switch {
			case w.must:
				s = "+" + s
			case w.not:
				s = "-" + s
			case w.function:
				s = "~" + s
			}
			if w.typing {
				s += "*"
			}
			got = append(got, s)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	long := ParseRequest(strings.Repeat("word ", 20)+strings.Repeat("a b c d e f g h ", 10_000), now)
	if len(long.words) > maxRequestWords {
		t.Errorf("%d words", len(long.words))
	}
}

// The index is the same, however it became what it is.
func TestRecentForgets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("apple apples pear pears plum quince boat boats 東京 the of when")
	text := func() string {
		var b strings.Builder
		for range rng.IntN(30) {
			b.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return b.String()
	}
	changed, now := NewRecent(), texts{}
	for range 2000 {
		path := fmt.Sprintf("/%d", rng.IntN(40))
		if rng.IntN(3) == 0 {
			changed.Delete(path)
			delete(now, path)
			continue
		}
		now[path] = text()
		changed.Put(path, indexed(path, now[path]))
	}
	changed.Sort()
	if len(changed.docs) > 200 {
		t.Errorf("%d memories take the space of %d", len(now), len(changed.docs))
	}
	for range 50 {
		query := text()
		want, got := now.search(t, query), now.search(t, query, changed)
		if !slices.EqualFunc(want, got, func(x, y memento.Match) bool { return x.Memory.Path == y.Memory.Path && x.Score == y.Score }) {
			t.Fatalf("%q: %q, anew %q", query, order(got), order(want))
		}
	}
}

// A memory that is in several parts is found as if there were one.
func TestParts(t *testing.T) {
	all := texts{"/a": "apple pear", "/b": "apple apple plum", "/c": "pear plum quince boat", "/d": "boat boats"}
	first, second := NewRecent(), NewRecent()
	for path, text := range all {
		if path < "/c" {
			first.Put(path, indexed(path, text))
		} else {
			second.Put(path, indexed(path, text))
		}
	}
	first.Sort()
	second.Sort()
	for _, query := range []string{"apple", "pear boat", "boats", "qui", "plum quince apple"} {
		want, got := all.search(t, query), all.search(t, query, first, second)
		if !slices.EqualFunc(want, got, func(x, y memento.Match) bool { return x.Memory.Path == y.Memory.Path && x.Score == y.Score }) {
			t.Errorf("%q: %q, in one part %q", query, order(got), order(want))
		}
	}
}

// A phrase of frequent words is looked for where all of them are, not where one is.
func TestPhraseLooksUpFew(t *testing.T) {
	all := texts{}
	for i := range 2000 {
		all[fmt.Sprintf("/%d", i)] = []string{"a refund was paid", "the policy is new"}[i%2]
	}
	all["/both"] = "this policy forbids a refund"
	all["/it"] = "our refund policy"
	looked := 0
	lookup := func(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]Found, error) {
		looked += len(ids)
		return all.lookup(ctx, ids, actors)
	}
	for _, query := range []string{`"refund policy"`, `"our refund policy"`, `new "refund policy"`} {
		looked = 0
		found, err := Search(t.Context(), []Part{all.index()}, memento.SearchOptions{Query: query}, lookup)
		if err != nil || !slices.Equal(order(found), []string{"/it"}) {
			t.Errorf("%s: %q, %v", query, order(found), err)
		}
		if looked > 2 {
			t.Errorf("%s: %d memories were read", query, looked)
		}
	}
	// Other spaces than those of the query do not matter, also between characters.
	all = texts{"/a": "東 京", "/b": "東京", "/c": "京東"}
	for _, query := range []string{`"東京"`, `"東 京"`} {
		if got := order(all.search(t, query)); len(got) != 2 || slices.Contains(got, "/c") {
			t.Errorf("%s: %q", query, got)
		}
	}
}

// A passage has the lines around what matches that belong to it.
func TestPassageContext(t *testing.T) {
	long := strings.Repeat("x", 290)
	for _, test := range []struct{ name, text, want string }{
		{"a paragraph", "other\n\none\nthe needle\nthree\n\nother", "one\nthe needle\nthree"},
		{"a section", "one\n# Two\nthe needle\nfour\n# Five\nsix", "# Two\nthe needle\nfour"},
		{"below a heading", "one\n\n# The needle\n\nwhat it is\nand more\n\nother", "# The needle\n\nwhat it is\nand more"},
		{"a heading at the end", "one\n\n# The needle\n\n", "# The needle"},
		{"long lines before", long + "\nthe needle\nthree", "the needle\nthree"},
		{"long lines after", "one\nthe needle\n" + long, "one\nthe needle"},
		{"a line", "the needle", "the needle"},
		{"with carriage returns", "other\r\n\r\none\r\nthe needle\r\n", "one\r\nthe needle\r"},
	} {
		found := texts{"/a": test.text}.search(t, "needle.")
		if len(found) != 1 || found[0].Passage.Text != test.want {
			t.Errorf("%s: %+v", test.name, found)
			continue
		}
		if p := found[0].Passage; strings.Join(strings.Split(test.text, "\n")[p.First-1:p.Last], "\n") != p.Text {
			t.Errorf("%s: lines %d to %d", test.name, p.First, p.Last)
		}
	}
}

// Whatever the text and the query, a passage is a part of the text.
func FuzzSearch(f *testing.F) {
	f.Add("# Heading\nsome words\r\n東京タワー\n", "some word")
	f.Add(strings.Repeat("long ", 500), "long")
	f.Add("\xff\xfe a\x00b", `-"x" +a "a b" dir:/ match:all`)
	f.Fuzz(func(t *testing.T, text, query string) {
		all := texts{"/it": text, "/other": "some other words"}
		for _, m := range all.search(t, query) {
			contents := all[string(m.Memory.Path)]
			lines := strings.Split(contents, "\n")
			p := m.Passage
			if len(p.Text) > maxPassage || p.First < 0 || p.Last < p.First || p.Last > len(lines) || (p.First == 0) != (p.Text == "" && m.Line == 0) {
				t.Fatalf("passage %+v", p)
			}
			if p.First > 0 {
				whole := strings.Join(lines[p.First-1:p.Last], "\n")
				if !strings.Contains(whole, strings.Trim(p.Text, "…")) {
					t.Fatalf("passage %+v is not in %q", p, whole)
				}
			}
			if len(m.Words) > maxMatchWords || !utf8.ValidString(text) {
				continue
			}
			if !(m.Score >= 0) {
				t.Fatalf("score %v", m.Score)
			}
		}
		// Each word of the text finds it.
		n := 0
		for w := range Words(text) {
			if n++; n > 5 {
				break
			}
			if word := text[w.Start:w.End]; len(all.search(t, `"`+word+`"`)) == 0 {
				t.Fatalf("%q does not find %q", word, text)
			}
		}
	})
}
