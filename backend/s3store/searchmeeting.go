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
	made, err := n.made(ctx, seqs)
	for seq, v := range made {
		if c.Accepts(v.At.time(), v.By) {
			meeting = append(meeting, seq)
		}
	}
	return meeting, err
}

// made returns the versions with these seqs, in order, all of which memories of the snapshot
// have. If one is not in the history, that was compacted since, and its memory has changed.
func (n *searchSnapshot) made(ctx context.Context, seqs []int64) (map[int64]*version, error) {
	versions, err := n.s.bySeqs(ctx, n.history, seqs)
	if err != nil {
		return nil, err
	}
	for _, seq := range seqs {
		if versions[seq] == nil {
			return nil, errOutdated
		}
	}
	return versions, nil
}

// madeSince returns those of some seqs, in order, that memories of the snapshot have and that
// are as new as a condition wants them.
func (n *searchSnapshot) madeSince(c textindex.Condition, seqs []int64) (since []int64, err error) {
	if n.since == nil {
		if n.since, err = n.allSince(c); err != nil {
			return nil, err
		}
	}
	for _, seq := range seqs {
		if _, found := slices.BinarySearch(n.since, seq); found {
			since = append(since, seq)
		}
	}
	return since, nil
}

// allSince returns the seqs that memories of the snapshot have and that are as new as a
// condition wants them, in order.
func (n *searchSnapshot) allSince(c textindex.Condition) (since []int64, err error) {
	n.s.mu.RLock()
	defer n.s.mu.RUnlock()
	before, known := n.log.since(n.end)
	if !known || n.st.log != n.log {
		return nil, errOutdated
	}
	since = []int64{}
	add := func(h *indexEntry) {
		if !h.memory.UpdatedAt.Before(c.Since) {
			since = append(since, h.seq)
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
	slices.Sort(since)
	return since, nil
}
