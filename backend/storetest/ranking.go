package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
)

// paths returns the paths that a query finds, best first.
func (e *env) paths(query string) (paths []memento.Path) {
	e.Helper()
	for _, m := range e.search(memento.SearchOptions{Query: query}) {
		paths = append(paths, m.Memory.Path)
	}
	return paths
}

// ranks checks which paths a query finds, best first.
func (e *env) ranks(query string, want ...memento.Path) {
	e.Helper()
	if diff := cmp.Diff(want, e.paths(query)); diff != "" {
		e.Errorf("search for %q (-want +got):\n%s", query, diff)
	}
}

// best checks what a query finds first.
func (e *env) best(query string, want memento.Path) {
	e.Helper()
	if got := e.paths(query); len(got) == 0 || got[0] != want {
		e.Errorf("search for %q found %q, want %q first", query, got, want)
	}
}

// searchQuestions asks questions, whose answers have few of their words.
func searchQuestions(e *env) {
	e.put("/talks/march.md", "Maria: I got the job at the museum!\nTom: Congratulations! When do you start?\nMaria: In June. So I am moving to Lisbon before that.\n")
	e.put("/talks/april.md", "Tom: The move is a lot of work, I said so before.\nMaria: She would not help, would she?\nTom: When she can.\n")
	e.put("/talks/may.md", "Maria: My sister visited me with her dogs.\nTom: How many has she got by now?\nMaria: Three, and she wants another puppy.\n")
	e.put("/notes/food.md", "# Allergies\nNo peanuts, no shellfish.\n")
	e.put("/notes/travel.md", "Lisbon in October: trams, custard tarts.\n")
	e.reopen()
	e.best("When did Maria say she would move to Lisbon?", "/talks/march.md")
	e.best("What pets does Maria's sister have?", "/talks/may.md")
	e.best("is there a dog in the family?", "/talks/may.md")
	e.best("is the user allergic to peanuts", "/notes/food.md")
	e.best("which food allergy do they have", "/notes/food.md")
	e.best("lis", "/notes/travel.md") // being typed: a whole word of a short text
	e.ranks("zebra crossing")
	e.ranks("zebra shellfish", "/notes/food.md")
	if got := e.paths("who is she"); len(got) == 0 { // nothing but function words
		e.Error("a query of function words finds nothing")
	}
	if got := e.paths("when would she visit"); !slices.Equal(got, []memento.Path{"/talks/may.md"}) {
		e.Errorf("function words find %q", got) // they only rank
	}
}

func searchOperators(e *env) {
	e.put("/a/one.md", "apple pear plum")
	e.put("/a/two.md", "apple cherry")
	e.put("/b/three.md", "pear cherry, plum apple")
	e.ranks("+pear +plum -cherry", "/a/one.md")
	e.ranks("apple -pear", "/a/two.md")
	e.ranks(`"pear plum"`, "/a/one.md")
	e.ranks(`apple -"pear plum" -"apple cherry"`, "/b/three.md")
	e.ranks("dir:/b apple", "/b/three.md")
	e.ranks("dir:/memories/b/ apple", "/b/three.md")
	e.ranks("apple dir:/absent")
	e.ranks("match:all cher plum", "/b/three.md")
	e.ranks("-apple")
	e.ranks("+")
	e.ranks("dir:/b")
	e.ranks("since:2200-01-01 apple")
	if got := e.paths("since:1h apple"); len(got) != 3 {
		e.Errorf("changed within an hour: %q", got)
	}
	e.ranks("by:nobody apple")
	if got := e.paths("apple by:" + e.by.ID); len(got) != 3 {
		e.Errorf("by %v: %q", e.by, got)
	}
	e.by = memento.Actor{Kind: memento.ActorSession, ID: "sesn_other"}
	e.put("/a/two.md", "apple cherry!")
	e.ranks("apple by:sesn_other", "/a/two.md")
}

func searchPassages(e *env) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "Line %d has nothing to say about fruit.\n", i+1)
		if i == 120 {
			b.WriteString("The orchard has quinces.\nThey ripen in October.\n")
		}
	}
	e.put("/long.md", b.String())
	e.put("/short.md", "October")
	got := e.search(memento.SearchOptions{Query: "When do quinces ripen?"})
	if len(got) != 1 {
		e.Fatalf("found %+v", got)
	}
	m, text := got[0], strings.Split(b.String(), "\n")
	if p := m.Passage; p.First < 1 || p.First > 122 || p.Last < 123 || len(p.Text) > 400 || p.Text != strings.Join(text[p.First-1:p.Last], "\n") {
		e.Errorf("passage: %+v", p)
	}
	if diff := cmp.Diff([]string{"quinces", "ripen"}, m.Words); diff != "" {
		e.Errorf("words (-want +got):\n%s", diff)
	}
	if m.Line != 122 && m.Line != 123 || m.Snippet != text[m.Line-1] {
		e.Errorf("line %d: %q", m.Line, m.Snippet)
	}
	if m.Memory.Content != "" || m.Score <= 0 {
		e.Errorf("score %v, with %d bytes of contents", m.Score, len(m.Memory.Content))
	}
}

func searchLanguages(e *env) {
	e.put("/de.md", "Die Häuser in der Altstadt sind alt, und sie werden nicht verkauft.")
	e.put("/fr.md", "Les chevaux sont dans le pré avec les poules, elle les préférait ainsi.")
	e.put("/ru.md", "Мы видели большие города и реки.")
	e.put("/es.md", "Los gatos corrieron por el jardín cuando los vecinos llegaron.")
	e.put("/en.md", "The houses were painted, and the cities grew.")
	e.put("/ja.md", "東京の天気は晴れです。")
	e.put("/zh.md", "京都和東方的天空")
	e.reopen()
	e.best("haus verkaufen", "/de.md")
	e.best("Hauser", "/de.md")
	e.best("préférer", "/fr.md")
	e.best("poule", "/fr.md")
	e.best("большой город", "/ru.md")
	e.best("gato corrió jardin", "/es.md")
	e.best("painting a house", "/en.md")
	e.best("city", "/en.md")
	e.best("東京", "/ja.md") // the pair, where the other text has both characters
	e.best("天気", "/ja.md")
	e.best("天空", "/zh.md")
}

// searchOrder compares the matches of random queries with those of the reference backend.
func searchOrder(e *env) {
	o := newSearchOracle(e, 3)
	for round := range 4 {
		for range 30 {
			o.apply(o.put(60))
		}
		if round > 0 {
			o.apply(memento.Remove{Path: e.paths("server")[0]})
		}
		if round == 2 {
			e.reopen()
		}
		o.compare(30)
	}
}

// searchMany searches more memories than are searched without a stored index, while that is
// made and changed.
func searchMany(e *env) {
	o := newSearchOracle(e, 4)
	var all []memento.Change
	for i := range 1300 {
		all = append(all, memento.Put{Path: memento.Path(fmt.Sprintf("/many/%d/%d.md", i%20, i)), Content: o.text(12)})
	}
	for changes := range slices.Chunk(all, 100) {
		o.apply(changes...)
	}
	o.compare(5)
	for i := range 300 {
		p := memento.Path(fmt.Sprintf("/many/%d/%d.md", i%20, i))
		switch i % 3 {
		case 0:
			o.apply(memento.Put{Path: p, Content: o.text(12)})
		case 1:
			o.apply(memento.Remove{Path: p})
		default:
			o.apply(memento.Move{From: p, To: "/moved" + p})
		}
		if i%100 == 0 {
			o.compare(2)
		}
	}
	o.compare(10)
	e.reopen()
	o.compare(10)
}

// A searchOracle has the same memories as a backend, in the reference backend.
type searchOracle struct {
	*env
	rng   *rand.Rand
	b     memento.Backend
	store memento.StoreID
	words []string
}

func newSearchOracle(e *env, seed uint64) *searchOracle {
	o := &searchOracle{env: e, rng: rand.New(rand.NewPCG(seed, 5)), b: memstore.New(nil)}
	o.words = strings.Fields("deploy deploys deployed server servers the a when on friday fridays rollback note notes café cafe 東京 京都 plan planning Straße error errors retry of to")
	info, err := o.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "oracle"})
	if err != nil {
		e.Fatal(err)
	}
	o.store = info.ID
	e.Cleanup(func() { o.b.Close() })
	return o
}

// text returns a text of random words.
func (o *searchOracle) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(o.words[min(o.rng.IntN(len(o.words)), o.rng.IntN(len(o.words)))])
		b.WriteString([]string{" ", " ", " ", "\n", ". "}[o.rng.IntN(5)])
	}
	return b.String()
}

// put returns a change of a random memory, to at most so many words.
func (o *searchOracle) put(most int) memento.Change {
	p := memento.Path(fmt.Sprintf("/%s%d/%d.md", o.words[o.rng.IntN(4)], o.rng.IntN(3), o.rng.IntN(20)))
	return memento.Put{Path: p, Content: o.text(1 + o.rng.IntN(most))}
}

func (o *searchOracle) apply(changes ...memento.Change) {
	o.Helper()
	o.env.apply(changes...)
	if _, err := o.b.Apply(o.Context(), o.store, o.by, changes); err != nil {
		o.Fatal(err)
	}
}

// compare compares the matches of random queries.
func (o *searchOracle) compare(queries int) {
	o.Helper()
	for range queries {
		opts := memento.SearchOptions{Query: strings.TrimSpace(o.text(1 + o.rng.IntN(6))), Limit: 1 + o.rng.IntN(100), All: o.rng.IntN(4) == 0}
		o.compareOne(opts)
	}
}

// compareOne compares the matches of a search, and returns them.
func (o *searchOracle) compareOne(opts memento.SearchOptions) []memento.Match {
	o.Helper()
	want, err := o.b.(memento.Searcher).Search(o.Context(), o.store, opts)
	if err != nil {
		o.Fatal(err)
	}
	got := o.search(opts)
	same := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		same = same && got[i].Memory.Path == want[i].Memory.Path && math.Abs(got[i].Score-want[i].Score) <= 1e-4*want[i].Score
	}
	if !same {
		o.Fatalf("%+v: %s\nreference: %s", opts, ranked(got), ranked(want))
	}
	return got
}

func ranked(matches []memento.Match) string {
	var b strings.Builder
	for _, m := range matches {
		fmt.Fprintf(&b, "%s %.4f, ", m.Memory.Path, m.Score)
	}
	return b.String()
}
