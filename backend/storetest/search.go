package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
)

func search(t *testing.T, h Harness) {
	if !h.Searcher {
		return // "powers" checks that it is none
	}
	h.run(t, "what matches", searchMatches)
	h.run(t, "what is shown", searchShows)
	h.run(t, "questions", searchQuestions)
	h.run(t, "operators", searchOperators)
	h.run(t, "passages", searchPassages)
	h.run(t, "languages", searchLanguages)
	h.run(t, "order", searchOrder)
	h.run(t, "many memories", searchMany)
	h.run(t, "directories", searchDirectories)
	h.run(t, "filters", searchFilters)
	h.run(t, "limit", searchLimit)
	h.run(t, "acknowledged writes", searchSeesWrites)
	h.run(t, "what is gone", searchForgets)
	h.run(t, "hostile queries", searchHostile)
	h.run(t, "while others write", searchDuringWrites)
	h.run(t, "other stores", searchOtherStores)
	h.run(t, "one moment", searchOneMoment)
}

func (e *env) search(opts memento.SearchOptions) []memento.Match {
	e.Helper()
	matches, err := e.b.(memento.Searcher).Search(e.Context(), e.store, opts)
	if err != nil {
		e.Fatalf("Search %+v: %v", opts, err)
	}
	return matches
}

// finds checks which paths have all words of a query, in any order.
func (e *env) finds(query string, want ...memento.Path) {
	e.Helper()
	var got []memento.Path
	for _, m := range e.search(memento.SearchOptions{Query: query, Limit: 1000, All: true}) {
		got = append(got, m.Memory.Path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("search for %q (-want +got):\n%s", query, diff)
	}
}

func searchMatches(e *env) {
	e.put("/prefs/food.md", "Likes crème brûlée and Bœuf.\nNever peanuts.")
	e.put("/prefs/work.md", "Prefers tabs over spaces; commits small.\nDeploys on Fridays? never!")
	e.put("/log/2026-01-02.md", "Deployment failed: error_code=42, retried twice.\n")
	e.put("/世界/メモ.md", "東京タワーに行く。한국어 문서도 읽는다.")
	e.put("/empty", "")
	e.put("/ru.md", "Привет, МИР. Größe STRASSE")
	e.reopen()

	const food, work, log, cjk, ru memento.Path = "/prefs/food.md", "/prefs/work.md", "/log/2026-01-02.md", "/世界/メモ.md", "/ru.md"
	for query, want := range map[string][]memento.Path{
		"peanuts":               {food},
		"PEANUTS":               {food},
		"peanut":                {food}, // the beginning of a word
		"eanuts":                nil,    // not its middle
		"never":                 {food, work},
		"never small":           {work},
		"small never":           {work}, // in any order
		"never absent":          nil,    // each of them
		"creme brulee":          {food}, // whatever the diacritics
		"CRÈME":                 {food},
		"cre\u0300me":           {food}, // however written
		"deploy":                {work, log},
		"deploym":               {log},
		`"tabs over spaces"`:    {work},
		`"tabs over spac"`:      {work}, // a phrase ends in a beginning
		`"tabs spaces"`:         nil,    // stands together
		`"over tabs"`:           nil,
		`"small deploys"`:       {work}, // over a line end
		`"tabs over" fridays`:   {work},
		`"prefers tabs" peanut`: nil,
		"food":                  {food}, // of the path
		"prefs":                 {food, work},
		"prefs never small":     {work}, // path and contents together
		"2026":                  {log},
		"42":                    {log},
		"error_code":            {log},
		"error":                 {log},
		"md":                    {food, work, log, cjk, ru},
		"東京":                    {cjk}, // every character a word
		"京":                     {cjk},
		"タワ":                    {cjk},
		"京東":                    nil,
		"世界":                    {cjk},
		"メモ":                    {cjk},
		"한국어":                   {cjk},
		"한국":                    {cjk},
		"국어":                    nil,
		"привет":                {ru},
		"мир":                   {ru},
		"grosse":                nil, // ß is a letter, not an accent
		"grö":                   {ru},
		"strasse":               {ru},
		"missing":               nil,
		"":                      nil,
		" \t\n":                 nil,
		".,;!?":                 nil,
		`""`:                    nil,
		"  peanuts  ":           {food},
		"peanuts.":              {food},
		"(peanuts)":             {food},
	} {
		e.finds(query, want...)
	}
}

func searchShows(e *env) {
	const text = "first line\nsecond apple\nthird apple pear\r\nfourth pear\n"
	v := e.put("/notes/a.md", text)
	e.put("/notes/long.md", strings.Repeat("ä ", 500)+"needle "+strings.Repeat("ö ", 500)+"\nshort")
	for _, test := range []struct {
		query, snippet string
		line           int
	}{
		{"second", "second apple", 2},
		{"apple", "second apple", 2},
		{"apple pear", "third apple pear", 3},
		{"first", "first line", 1},
		{"a apple", "second apple", 2},
	} {
		got := e.search(memento.SearchOptions{Query: test.query, All: true})
		if len(got) == 0 || got[0].Line != test.line || got[0].Snippet != test.snippet {
			e.Errorf("%q: %+v, want line %d, %q", test.query, got, test.line, test.snippet)
		}
	}
	got := e.search(memento.SearchOptions{Query: "second"})
	m := e.get("/notes/a.md")
	m.Content = ""
	want := []memento.Match{{Memory: m, Line: 2, Snippet: "second apple", Words: []string{"second"},
		Passage: memento.Passage{First: 1, Last: 4, Text: strings.TrimSuffix(text, "\n")}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memento.Match{}, "Score")); diff != "" || got[0].Memory.ID != v.Memory || got[0].Score <= 0 {
		e.Errorf("match (-want +got):\n%s", diff)
	}
	got = e.search(memento.SearchOptions{Query: "notes"}) // in the path only
	if len(got) != 2 || got[0].Line != 0 || got[0].Snippet != "" {
		e.Errorf("path only: %+v", got)
	}
	got = e.search(memento.SearchOptions{Query: "needle"})
	if len(got) != 1 || got[0].Line != 1 || !strings.Contains(got[0].Snippet, "needle") || utf8.RuneCountInString(got[0].Snippet) > 200 {
		e.Errorf("a long line: %+v", got)
	}
}

func searchDirectories(e *env) {
	for _, p := range []memento.Path{"/a/x", "/a/b/x", "/ab/x", "/A/x", "/a", "/a.md"} {
		if p != "/a" {
			e.put(p, "needle")
		}
	}
	for dir, want := range map[memento.Path][]memento.Path{
		"":        {"/A/x", "/a.md", "/a/b/x", "/a/x", "/ab/x"},
		"/":       {"/A/x", "/a.md", "/a/b/x", "/a/x", "/ab/x"},
		"/a":      {"/a/b/x", "/a/x"},
		"/a/b":    {"/a/b/x"},
		"/a.md":   nil,
		"/a_":     nil,
		"/absent": nil,
	} {
		var got []memento.Path
		for _, m := range e.search(memento.SearchOptions{Query: "needle", Dir: dir}) {
			got = append(got, m.Memory.Path)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			e.Errorf("below %q (-want +got):\n%s", dir, diff)
		}
	}
}

func searchLimit(e *env) {
	var changes []memento.Change
	for i := range 30 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d", i)), Content: "needle"})
	}
	e.apply(changes...)
	for limit, want := range map[int]int{0: 20, 1: 1, 7: 7, 30: 30, 500: 30} {
		got := e.search(memento.SearchOptions{Query: "needle", Limit: limit})
		if len(got) != want {
			e.Errorf("limit %d: %d matches, want %d", limit, len(got), want)
		}
	}
}

func searchSeesWrites(e *env) {
	for i := range 40 {
		word := fmt.Sprintf("word%dend", i)
		e.put("/a", word)
		e.finds(word, "/a")
		if i > 0 {
			e.finds(fmt.Sprintf("word%dend", i-1))
		}
		name := memento.Path(fmt.Sprintf("/name%dend", i))
		e.put(name, "x")
		e.finds(string(name), name)
	}
	e.reopen()
	e.finds("word39end", "/a")
}

func searchForgets(e *env) {
	e.put("/dir/apple", "old pear")
	e.put("/dir/other", "plum")
	e.finds("pear", "/dir/apple")
	e.put("/dir/apple", "new contents")
	e.finds("pear") // old contents, though the history still has them
	e.apply(memento.Move{From: "/dir", To: "/place"})
	e.finds("dir")
	e.finds("place", "/place/apple", "/place/other")
	e.finds("apple new", "/place/apple")
	e.apply(memento.Remove{Path: "/place/apple"})
	e.finds("apple")
	e.finds("contents")
	e.reopen()
	e.finds("pear")
	e.finds("place", "/place/other")
	if err := e.try(memento.Put{Path: "/x", Content: "unwritten"}, memento.Remove{Path: "/missing"}); err == nil {
		e.Error("removed a missing memory")
	}
	e.finds("unwritten")

	e.put("/copied", "melon")
	e.store = e.replay(e.b, e.b, e.store)
	e.finds("melon", "/copied")
	e.finds("pear")
	e.finds("plum", "/place/other")
}

func searchHostile(e *env) {
	e.put("/a", "and or not near needle")
	for _, query := range []string{
		`"`, `""`, `"""`, `"needle`, `needle"`, "*", "needle*", "*needle", "^needle", "-needle", "+needle", "NOT needle", "needle AND",
		"needle OR absent", "NEAR(needle)", "needle NEAR/2 x", "content:needle", "a:b", "(", ")", "((", "{needle}", "[", "'", "';--",
		"\\", "%", "_", "\x00", "needle\x00", "\xff", "needle\xff", "\u0301", "\u200b", "😀", "$&", "`", "<b>", "a.b.c", "ﷺ",
		strings.Repeat("needle ", 2000), strings.Repeat("x", 100_000), strings.Repeat(`"`, 1001), strings.Repeat("a b ", 500),
	} {
		for _, m := range e.search(memento.SearchOptions{Query: query}) {
			if m.Memory.Path != "/a" {
				e.Errorf("%.40q found %+v", query, m)
			}
		}
	}
	e.finds("AND needle", "/a") // ordinary words
	e.finds("NOT needle", "/a")
	e.finds("needle OR", "/a")
}

func searchDuringWrites(e *env) {
	handles := []memento.Backend{e.b, e.another()}
	ctx, cancel := context.WithTimeout(e.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 8 {
				word := fmt.Sprintf("unique%dx%dend", i, j)
				p := memento.Path(fmt.Sprintf("/%d/%d", i, j%3))
				if _, err := handles[i%2].Apply(ctx, e.store, e.by, []memento.Change{memento.Put{Path: p, Content: word}}); err != nil {
					e.Error(err)
					return
				}
				// The other handle must find it, too.
				got, err := handles[(i+1)%2].(memento.Searcher).Search(ctx, e.store, memento.SearchOptions{Query: word})
				if err != nil || len(got) != 1 || got[0].Memory.Path != p || got[0].Snippet != word {
					e.Errorf("%s: %+v, %v", word, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func searchOtherStores(e *env) {
	first := e.store
	e.put("/a", "needle here")
	e.store = e.newStore(memento.StoreSpec{Name: "other"})
	e.finds("needle")
	e.put("/b", "needle there")
	e.finds("needle", "/b")
	if err := e.b.DeleteStore(e.Context(), workspace, e.store); err != nil {
		e.Fatal(err)
	}
	e.store = first
	e.finds("needle", "/a")
}

// searchOneMoment searches while a word moves between memories: at every moment exactly
// one memory has it.
func searchOneMoment(e *env) {
	e.apply(memento.Put{Path: "/a", Content: "word"}, memento.Put{Path: "/b", Content: "none"})
	stop := e.churn(func(round int) error {
		has, lacks := memento.Path("/a"), memento.Path("/b")
		if round%2 == 0 {
			has, lacks = lacks, has
		}
		_, err := e.b.Apply(e.Context(), e.store, e.by, []memento.Change{
			memento.Put{Path: has, Content: "word"}, memento.Put{Path: lacks, Content: "none"},
		})
		return err
	})
	defer stop()
	for range 200 {
		found, err := e.b.(memento.Searcher).Search(e.Context(), e.store, memento.SearchOptions{Query: "word"})
		if err != nil {
			e.Fatal(err)
		}
		if len(found) != 1 {
			e.Fatalf("%d memories have the word", len(found))
		}
	}
}
