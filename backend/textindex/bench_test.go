package textindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/test/cputime"
)

// benchTexts returns texts of some 60 words, as frequent as in a language, two thirds of them
// inflected in some way.
func benchTexts(n int) []Text {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 20000)
	function := strings.Fields(functionWords[English])
	word := func() string {
		k := zipf.Uint64()
		if k < 40 {
			return function[k]
		}
		const letters = "etaoinshrdlu"
		var b strings.Builder
		for x := k*2654435761%1000003 + 144; x > 0; x /= 12 {
			b.WriteByte(letters[x%12])
		}
		return b.String() + []string{"", "s", "ing"}[k%3]
	}
	texts := make([]Text, n)
	for i := range texts {
		var b strings.Builder
		for w := range 60 {
			b.WriteString(word())
			b.WriteString([]string{" ", " ", ", ", "\n"}[w*7%4])
		}
		texts[i] = Text{int64(i + 1), memento.Path(fmt.Sprintf("/notes/%d/note%d.md", i/100, i)), b.String()}
	}
	return texts
}

// reportProcessor reports the time of processors, which other work on the machine hardly changes.
func reportProcessor(b *testing.B, since time.Duration) {
	b.ReportMetric(float64((cputime.Used()-since).Nanoseconds())/float64(b.N), "processor-ns/op")
}

// BenchmarkScan measures what a search pays for a memory that is not indexed.
func BenchmarkScan(b *testing.B) {
	texts := benchTexts(10000)
	s := NewScanner(memento.SearchOptions{Query: "what is the insertion of rates"})
	n := 0
	defer reportProcessor(b, cputime.Used())
	for b.Loop() {
		text := texts[n%len(texts)]
		if _, err := s.Add(context.Background(), "mem_1", text); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkIndex measures what it costs to index a memory.
func BenchmarkIndex(b *testing.B) {
	texts := benchTexts(10000)
	n := 0
	var r *Recent
	defer reportProcessor(b, cputime.Used())
	for b.Loop() {
		if n%usual.maxFlush == 0 {
			r = NewRecent()
		}
		text := texts[n%len(texts)]
		r.Put(fmt.Sprint("mem_", n), text)
		if n++; n%usual.maxFlush == 0 {
			if _, err := Write(context.Background(), func(int, []byte) error { return nil }, r.Source()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
