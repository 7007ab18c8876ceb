package sqlitestore

import (
	"context"
	"errors"
	"slices"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

// pruneStep is how many versions are removed in one transaction, so that other writers need
// not wait long.
const pruneStep = 500

// A removal is a version to remove, and the row of its contents; 0 if a remaining version
// has the same contents.
type removal struct {
	seq     int64
	content int64
	sha256  string // of the contents
}

// Prune implements [memento.Backend]. Removed contents leave the database and its log
// before the call returns, as redacted contents do, and the file becomes smaller. Their
// words leave the pages of the search index a little later: segments of it are rewritten,
// beginning 5 seconds after the call, or after a pause if it was just done. It is complete
// when Close returns. If the process dies before that, the next process to open the file
// does it, after a minute. If
// opts.Memory is set, which means that the call is one of many, everything else is also
// removed a little later.
func (b *Backend) Prune(ctx context.Context, store memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	const op = "prune"
	var sum memento.Pruned
	goes, err := read(ctx, b, op, func(c *conn) (goes []removal, err error) {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return nil, err
		}
		err = c.inTx(func() error {
			goes, err = prunable(c, num, opts, &sum)
			if err == nil && len(goes) == 0 {
				err = exists(c, op, num)
			}
			return err
		})
		return goes, err
	})
	if err != nil || opts.DryRun {
		return sum, err
	}
	if len(goes) == 0 {
		return sum, nil
	}
	defer b.schedulePurge() // also for what was removed before an error
	// Oldest first: the versions of a memory are a linked list, which must be cut at its
	// end.
	slices.Reverse(goes)
	for left, most := goes, pruneStep; len(left) > 0; {
		step := left[:min(most, len(left))]
		err := b.writer.runFreeing(ctx, func(t *tx) error {
			num, err := b.storeNum(t.conn, op, store)
			if err != nil {
				return err
			}
			return prune(t.conn, num, step)
		})
		switch {
		case errors.Is(err, memento.ErrNoSpace) && len(step) > 1:
			most = len(step)/8 + 1 // the removal is written to the log, for which there is little space
			continue
		case err != nil:
			return memento.Pruned{}, fail(op, err)
		}
		left = left[len(step):]
	}
	for _, r := range goes {
		b.texts.Remove(r.sha256)
	}
	if opts.Memory == "" {
		b.writer.shrink()
	}
	return sum, nil
}

// prunable returns the versions to remove, newest first, and adds them to sum.
func prunable(c *conn, store int64, opts memento.PruneOptions, sum *memento.Pruned) (goes []removal, err error) {
	with, from := ``, ` FROM versions v`
	args := []any{store, nil}
	if opts.Memory != "" {
		args[1] = opts.Memory
		if with, from, err = history(c, store, opts.Memory); err != nil {
			return nil, err
		}
	}
	p := backend.Pruner{PruneOptions: opts}
	stays := map[memento.MemoryID]int64{} // memory → contents row of its oldest version so far
	query := with + `SELECT ` + versionColumns + `, v.content` + from + ` WHERE v.store = ?1 AND (?2 IS NULL OR v.memory = ?2) ORDER BY v.seq DESC`
	err = c.all(query, func(s *sqlite.Stmt) bool {
		v, content := scanVersion(s), s.ColumnInt64(versionColumnCount)
		gone := p.Goes(&v)
		if gone {
			sum.Versions++
			sum.Bytes += v.Size
			r := removal{seq: v.Seq, sha256: v.SHA256}
			if content != stays[v.Memory] {
				r.content = content
			}
			goes = append(goes, r)
		}
		if content != 0 { // versions that share contents are adjacent
			stays[v.Memory] = content
		}
		return true
	}, args...)
	return goes, err
}

func prune(c *conn, store int64, goes []removal) error {
	indexed := int64(0)
	if _, err := c.one(`SELECT indexed_seq FROM counters WHERE store = ?`, func(s *sqlite.Stmt) { indexed = s.ColumnInt64(0) }, store); err != nil {
		return err
	}
	for _, r := range goes {
		if r.seq > indexed {
			if err := noteDeleted(c, store, r.seq); err != nil {
				return err
			}
		}
		if r.content != 0 {
			// The condition is for the case that another process has removed the contents:
			// then the row may have a new text.
			if err := c.exec(`DELETE FROM contents WHERE id = ?1 AND EXISTS (
					SELECT 1 FROM versions WHERE store = ?2 AND seq = ?3 AND content = ?1)`, r.content, store, r.seq); err != nil {
				return err
			}
		}
		if err := c.exec(`DELETE FROM versions WHERE store = ? AND seq = ?`, store, r.seq); err != nil {
			return err
		}
	}
	return requestPurge(c, store)
}

// noteDeleted notes a deletion whose version is pruned before the index has followed it:
// nothing else would tell the index. If the memory exists, its newest version remains.
func noteDeleted(c *conn, store, seq int64) error {
	return c.exec(`INSERT OR IGNORE INTO search_deletions (store, seq, memory)
			SELECT v.store, v.seq, v.memory FROM versions v WHERE v.store = ?1 AND v.seq = ?2
			AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.store = ?1 AND m.id = v.memory)`, store, seq)
}
