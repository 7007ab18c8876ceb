package embedding

import (
	"cmp"
	"slices"

	"memento"
)

const (
	// fusionK damps the difference between the first ranks of a list, so that a memory
	// which both lists have in the middle can pass one that a single list has first.
	// Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009.
	fusionK = 60

	// depth is how many memories of each list are fused. What words find beyond follows in
	// its order. It does not depend on the limit of a search, so a larger limit only
	// appends matches.
	depth = 50
)

// fuse joins two lists of matches, best first, by their ranks: scores of words and cosines
// do not compare. Of a memory in both, the match by words is kept, with its passage. Of
// equal scores, what words find comes first.
func fuse(words, meaning []memento.Match) []memento.Match {
	place := map[memento.MemoryID]int{}
	var fused []memento.Match
	add := func(rank int, m memento.Match) {
		i, known := place[m.Memory.ID]
		if !known {
			i = len(fused)
			place[m.Memory.ID] = i
			m.Score = 0
			fused = append(fused, m)
		}
		fused[i].Score += 1 / float64(fusionK+rank+1)
	}
	for rank, m := range words[:min(depth, len(words))] {
		add(rank, m)
	}
	for rank, m := range meaning[:min(depth, len(meaning))] {
		add(rank, m)
	}
	slices.SortStableFunc(fused, func(x, y memento.Match) int { return cmp.Compare(y.Score, x.Score) })
	for rank := depth; rank < len(words); rank++ {
		if _, known := place[words[rank].Memory.ID]; !known {
			add(rank, words[rank])
		}
	}
	return fused
}
