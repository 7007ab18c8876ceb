package textindex

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"

	"memento"
)

// What a request asks of memories besides words is decided before contents are read, as far
// as the index and the metadata of versions tell. It never changes scores: these count all
// memories of the store.

// A Condition is what since: and by: ask of the newest version of a memory. The zero
// Condition asks nothing.
type Condition struct {
	Since time.Time // made at that time or later; zero if the query has no since:
	By    string    // made by this actor; "" if the query has no by:
}

// IsZero reports whether the condition asks nothing.
func (c Condition) IsZero() bool { return c.Since.IsZero() && c.By == "" }

// Accepts reports whether a version that was made at a time by an actor meets the condition.
func (c Condition) Accepts(at time.Time, by memento.Actor) bool {
	if at.Before(c.Since) {
		return false
	}
	return c.By == "" || c.By == by.ID || c.By == by.String() || c.By == string(by.Kind) || c.By == string(by.Key)
}

// Meeting returns which of some versions, by their seqs in order, meet a condition. It may
// return other seqs, too, and sees the same instant as the parts that are searched.
type Meeting func(ctx context.Context, c Condition, seqs []int64) ([]int64, error)

const (
	// metTogether is how many versions are asked about at a time.
	metTogether = 1 << 14
	// fewFound is how many memories are not worth another list of postings: the path of each
	// is compared with the directory anyway.
	fewFound = 64
)

// IsDense reports whether seqs, in order, are so many of those between the first and the last
// that reading all of these is faster.
func IsDense(seqs []int64) bool {
	n := len(seqs)
	return n > 16 && seqs[n-1]-seqs[0] < 4*int64(n)
}

// A partial part lacks forms that no word of the request needs. It is in main memory.
type partial struct{ Part }

// keepBelow drops memories that were found and are not below a directory, as far as words
// tell: a path below it has the directory's words.
func (k *ranking) keepBelow(ctx context.Context, dir memento.Path) error {
	var forms []string
	for w := range Words(string(dir)) {
		if form := term(w.Text); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	slices.Reverse(forms) // fewer paths have those of the last directory
	for i, p := range k.parts {
		if _, ok := p.(partial); ok {
			continue
		}
		found := k.found[i].found
		for _, form := range forms {
			if count(found) <= fewFound {
				break
			}
			has := make([]uint64, len(found))
			err := p.Postings(ctx, form, func(list []Posting) {
				for j := range list {
					if list[j].Path > 0 {
						has[list[j].Doc/64] |= 1 << (list[j].Doc % 64)
					}
				}
			})
			if err != nil {
				return err
			}
			for j := range found {
				found[j] &= has[j]
			}
		}
	}
	return nil
}

func count(set []uint64) (n int) {
	for _, word := range set {
		n += bits.OnesCount64(word)
	}
	return n
}

// drop drops memories that were found.
func (k *ranking) drop(candidates []candidate) {
	for _, c := range candidates {
		k.found[c.part].found[c.doc/64] &^= 1 << (c.doc % 64)
	}
}

// keepMeeting drops the memories that were found and do not meet a condition.
func (k *ranking) keepMeeting(ctx context.Context, c Condition, meeting Meeting) error {
	n := 0
	for _, s := range k.found {
		n += count(s.found)
	}
	all := make([]candidate, 0, n)
	for part, s := range k.found {
		for i, word := range s.found {
			for ; word != 0; word &= word - 1 {
				doc := uint32(64*i + bits.TrailingZeros64(word))
				all = append(all, candidate{part: part, doc: doc, seq: k.parts[part].Seq(doc)})
			}
		}
		clear(s.found)
	}
	kept, err := meetingOf(ctx, c, meeting, all)
	for _, c := range kept {
		k.found[c.part].found[c.doc/64] |= 1 << (c.doc % 64)
	}
	return err
}

// meetingOf returns the candidates that meet a condition, in order of their versions, in the
// memory of the others. Those whose version is not known may meet it.
func meetingOf(ctx context.Context, c Condition, meeting Meeting, candidates []candidate) (kept []candidate, err error) {
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.seq, b.seq) })
	kept = candidates[:0]
	seqs := make([]int64, 0, min(len(candidates), metTogether))
	for some := range slices.Chunk(candidates, metTogether) {
		seqs = seqs[:0]
		for _, c := range some {
			if c.seq > 0 {
				seqs = append(seqs, c.seq)
			}
		}
		var meet []int64
		if len(seqs) > 0 {
			if meet, err = meeting(ctx, c, seqs); err != nil {
				return nil, err
			}
		}
		slices.Sort(meet)
		for _, c := range some {
			if _, meets := slices.BinarySearch(meet, c.seq); meets || c.seq == 0 {
				kept = append(kept, c)
			}
		}
	}
	return kept, nil
}
