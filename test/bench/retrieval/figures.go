package retrieval

import (
	"math"
	"slices"
	"time"
)

// A Result is what a search found for one query.
type Result struct {
	Query Text
	Found []string // IDs of texts, best first
	Shown []int    // bytes that the agent reads of each
	Took  time.Duration
}

// Figures say how good the results of all queries are. All but the last four are means
// between 0 and 1.
type Figures struct {
	Any1, Any5, Any10 float64 // an answer is among the first 1, 5 or 10
	Recall10          float64 // share of the answers among the first 10
	MRR               float64 // 1 divided by the rank of the first answer
	NDCG10            float64 // gain of the first 10, discounted by rank, of the best possible one
	MAP               float64 // mean precision at the rank of each answer

	BytesToAnswer float64 // mean of the bytes shown up to the first answer, of queries that have one
	Unanswered    int     // queries without an answer among the results
	P50, P99      time.Duration
}

// Evaluate computes the figures of results: at least one, of queries of the data set.
func (d *Dataset) Evaluate(results []Result) Figures {
	var f Figures
	var took []time.Duration
	answered := 0
	for _, r := range results {
		answers := d.Answers[r.Query.ID]
		took = append(took, r.Took)
		first, in10 := 0, 0
		var precision, gain, bytes float64
		hits := 0
		for rank, id := range r.Found {
			if first == 0 {
				bytes += float64(r.Shown[rank])
			}
			relevance := answers[id]
			if relevance == 0 {
				continue
			}
			hits++
			if first == 0 {
				first = rank + 1
			}
			precision += float64(hits) / float64(rank+1)
			if rank < 10 {
				in10++
				gain += discounted(relevance, rank)
			}
		}
		if first > 0 {
			answered++
			f.MRR += 1 / float64(first)
			f.BytesToAnswer += bytes
		}
		for n, any := range map[int]*float64{1: &f.Any1, 5: &f.Any5, 10: &f.Any10} {
			if first > 0 && first <= n {
				*any++
			}
		}
		f.Recall10 += float64(in10) / float64(len(answers))
		f.MAP += precision / float64(len(answers))
		f.NDCG10 += gain / bestGain(answers)
	}
	n := float64(len(results))
	for _, mean := range []*float64{&f.Any1, &f.Any5, &f.Any10, &f.Recall10, &f.MRR, &f.NDCG10, &f.MAP} {
		*mean /= n
	}
	f.BytesToAnswer /= float64(max(1, answered))
	f.Unanswered = len(results) - answered
	slices.Sort(took)
	f.P50, f.P99 = took[len(took)/2], took[len(took)*99/100]
	return f
}

func discounted(relevance, rank int) float64 {
	return float64(relevance) / math.Log2(float64(rank)+2)
}

func bestGain(answers map[string]int) (gain float64) {
	var all []int
	for _, relevance := range answers {
		all = append(all, relevance)
	}
	slices.Sort(all)
	slices.Reverse(all)
	for rank, relevance := range all[:min(10, len(all))] {
		gain += discounted(relevance, rank)
	}
	return gain
}
