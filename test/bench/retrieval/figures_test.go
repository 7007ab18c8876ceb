package retrieval

import (
	"math"
	"testing"
	"time"
)

func TestEvaluate(t *testing.T) {
	d := &Dataset{
		Queries: []Text{{ID: "q1"}, {ID: "q2"}},
		Answers: map[string]map[string]int{"q1": {"a": 1, "b": 1}, "q2": {"c": 2}},
	}
	f := d.Evaluate([]Result{
		{Query: d.Queries[0], Found: []string{"x", "a", "y", "b"}, Shown: []int{10, 20, 30, 40}, Took: time.Millisecond},
		{Query: d.Queries[1], Found: []string{"x"}, Shown: []int{5}, Took: 3 * time.Millisecond},
	})
	log2 := math.Log2
	for name, got := range map[string][2]float64{
		"any@1":     {f.Any1, 0},
		"any@5":     {f.Any5, 0.5},
		"recall@10": {f.Recall10, 0.5},
		"MRR":       {f.MRR, 0.25},
		"MAP":       {f.MAP, (1./2 + 2./4) / 2 / 2},
		"nDCG@10":   {f.NDCG10, (1/log2(3) + 1/log2(5)) / (1 + 1/log2(3)) / 2},
		"bytes":     {f.BytesToAnswer, 30},
	} {
		if math.Abs(got[0]-got[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, got[0], got[1])
		}
	}
	if f.Unanswered != 1 || f.P99 != 3*time.Millisecond {
		t.Errorf("%d unanswered, p99 %v", f.Unanswered, f.P99)
	}
}
