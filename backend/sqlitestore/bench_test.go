package sqlitestore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/test/cputime"
)

// BenchmarkSearchUnindexed measures a search after a large load, of which nothing is in the
// index yet.
func BenchmarkSearchUnindexed(b *testing.B) {
	const memories = 50_000
	backend, err := Open(b.Context(), filepath.Join(b.TempDir(), "store"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	backend.index.Close() // it stays behind
	info, err := backend.CreateStore(b.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "s", Limits: memento.Limits{Memories: memories, Bytes: 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	frequent := rand.NewZipf(random, 1.1, 20, 20_000)
	function := strings.Fields("the of and to in is was that for on with as by at from it this are were be")
	for i := 0; i < memories; {
		var changes []memento.Change
		for ; len(changes) < 500; i++ {
			words := make([]string, 60)
			for w := range words {
				if n := frequent.Uint64(); n < uint64(len(function)) {
					words[w] = function[n]
				} else {
					words[w] = fmt.Sprintf("%c%sing", 'a'+rune(n%26), strings.Map(func(r rune) rune { return r - '0' + 'h' }, fmt.Sprint(n)))
				}
			}
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/notes/%d/note%d.md", i/100, i)), Content: strings.Join(words, " ") + "\n"})
		}
		if _, err := backend.Apply(b.Context(), info.ID, memento.Actor{}, changes); err != nil {
			b.Fatal(err)
		}
	}
	since := cputime.Used()
	for b.Loop() {
		found, err := backend.Search(b.Context(), info.ID, memento.SearchOptions{Query: "what is the xjking of cmling"})
		if err != nil || len(found) == 0 {
			b.Fatal(found, err)
		}
	}
	b.ReportMetric(float64((cputime.Used()-since).Microseconds())/float64(b.N)/memories, "processor-µs/memory")
}
