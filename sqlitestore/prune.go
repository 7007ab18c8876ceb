package sqlitestore

import (
	"context"
	"errors"
	"slices"

	"memento"

	"zombiezen.com/go/sqlite"
)

// pruneStep is how many versions are removed in one transaction, so that others
// can write in between.
const pruneStep = 500

// A removal is a version to be removed, and the row of its contents if no
// version that stays has them.
type removal struct {
	seq     int64
	content int64
	sha256  string // of the contents
}

// Prune implements [memento.Backend]. What it removes leaves the database and its
// log, as what is redacted does, and the file becomes smaller. Words that cannot be
// found any more leave the pages of the search index soon, as those of a deleted store
// do, see [Backend.DeleteStore]; so does all else if only one memory's versions are
// removed, which is one of many such calls.
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
	defer b.schedulePurge() // whatever is done, should it be cut short
	// Oldest first: the versions of a memory are a chain whose end is cut off.
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
			most = len(step)/8 + 1 // what is removed goes through the log, which has little room
			continue
		case err != nil:
			return memento.Pruned{}, fail(op, err)
		}
		left = left[len(step):]
	}
	for _, r := range goes {
		b.texts.remove(r.sha256)
	}
	if opts.Memory == "" {
		b.writer.shrink()
	}
	return sum, nil
}

// prunable returns what goes, newest first, and counts it.
func prunable(c *conn, store int64, opts memento.PruneOptions, sum *memento.Pruned) (goes []removal, err error) {
	with, from := ``, ` FROM versions v`
	args := []any{store, nil}
	if opts.Memory != "" {
		args[1] = opts.Memory
		if with, from, err = history(c, store, opts.Memory); err != nil {
			return nil, err
		}
	}
	p := memento.Pruner{PruneOptions: opts}
	stays := map[memento.MemoryID]int64{} // row of the contents of each memory's oldest version so far
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
		if content != 0 { // versions that share contents follow one another
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
			if err := unindexDeleted(c, store, r.seq); err != nil {
				return err
			}
		}
		if r.content != 0 {
			// Unless another has removed them since: then the row may be a new
			// text's by now.
			if err := c.exec(`DELETE FROM contents WHERE id = ?1 AND EXISTS (
					SELECT 1 FROM versions WHERE store = ?2 AND seq = ?3 AND content = ?1)`, r.content, store, r.seq); err != nil {
				return err
			}
		}
		if err := c.exec(`DELETE FROM versions WHERE store = ? AND seq = ?`, store, r.seq); err != nil {
			return err
		}
	}
	return requestPurge(c)
}

// forgetDeleted takes a memory out of the index, of which a version is removed that the
// index does not know yet: if the memory was deleted, nothing else tells the index. If it
// lives, its newest version does, which stays.
func unindexDeleted(c *conn, store, seq int64) error {
	id := memento.MemoryID("")
	_, err := c.one(`SELECT v.memory FROM versions v WHERE v.store = ?1 AND v.seq = ?2
			AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.store = ?1 AND m.id = v.memory)`,
		func(s *sqlite.Stmt) { id = memento.MemoryID(s.ColumnText(0)) }, store, seq)
	if err != nil || id == "" {
		return err
	}
	return indexOne(c, store, id)
}
