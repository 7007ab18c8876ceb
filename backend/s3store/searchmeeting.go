package s3store

import (
	"context"
	"slices"

	"memento/backend/textindex"
)

// Meeting implements textindex.Snapshot. Times are in main memory; who made a version is in
// the history, of which whole segments are read.
func (n *searchSnapshot) Meeting(ctx context.Context, c textindex.Condition, seqs []int64) (meeting []int64, err error) {
	if !c.Since.IsZero() {
		if seqs, err = n.madeSince(c, seqs); err != nil {
			return nil, err
		}
	}
	if c.By == "" {
		return seqs, nil
	}
	versions, err := n.s.bySeqs(ctx, n.history, seqs)
	for seq, v := range versions {
		if c.Accepts(v.At.time(), v.By) {
			meeting = append(meeting, seq)
		}
	}
	return meeting, err
}

// madeSince returns those of some seqs, in order, that memories of the snapshot have and that
// are as new as a condition wants them.
func (n *searchSnapshot) madeSince(c textindex.Condition, seqs []int64) (since []int64, err error) {
	n.s.mu.RLock()
	defer n.s.mu.RUnlock()
	before, known := n.log.since(n.end)
	if !known || n.st.log != n.log {
		return nil, errOutdated
	}
	add := func(h *indexEntry) {
		if h.memory.UpdatedAt.Before(c.Since) {
			return
		}
		seq := h.seq
		if _, wanted := slices.BinarySearch(seqs, seq); wanted {
			since = append(since, seq)
		}
	}
	for id, h := range n.st.byID {
		if _, changed := before[id]; !changed {
			add(h)
		}
	}
	for _, h := range before {
		if h != nil {
			add(h)
		}
	}
	slices.Sort(since) // so that each segment is read once
	return since, nil
}
