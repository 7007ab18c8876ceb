package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
)

// versionColumns are the columns of a version without its contents, in the order of
// scanVersion.
const versionColumns = `v.seq, v.id, v.memory, v.operation, v.path, v.size, v.sha256,
	v.actor_kind, v.actor_id, v.created_at, v.redacted_at, v.redactor_kind, v.redactor_id, v.digest,
	v.actor_key, v.redactor_key`

const versionColumnCount = 16

func scanVersion(s *sqlite.Stmt) memento.Version {
	return memento.Version{
		Seq:        s.ColumnInt64(0),
		ID:         memento.VersionID(s.ColumnText(1)),
		Memory:     memento.MemoryID(s.ColumnText(2)),
		Operation:  memento.Operation(s.ColumnText(3)),
		Path:       memento.Path(s.ColumnText(4)),
		Size:       s.ColumnInt64(5),
		SHA256:     hashAt(s, 6),
		CreatedBy:  memento.Actor{Kind: memento.ActorKind(s.ColumnText(7)), ID: s.ColumnText(8), Key: memento.KeyID(s.ColumnText(14))},
		CreatedAt:  timeAt(s, 9),
		RedactedAt: timeAt(s, 10),
		RedactedBy: memento.Actor{Kind: memento.ActorKind(s.ColumnText(11)), ID: s.ColumnText(12), Key: memento.KeyID(s.ColumnText(15))},
		Digest:     s.ColumnText(13),
	}
}

// findVersion returns the seq of the version with the given ID, or 0.
func findVersion(c *conn, store int64, id memento.VersionID) (seq int64, err error) {
	hint := id.SeqHint()
	found, err := c.one(`SELECT 1 FROM versions WHERE store = ? AND seq = ? AND id = ?`, nil, store, hint, id)
	if err != nil || found {
		return hint, err
	}
	_, err = c.one(`SELECT seq FROM versions WHERE store = ? AND id = ? AND imported = 1`,
		func(s *sqlite.Stmt) { seq = s.ColumnInt64(0) }, store, id)
	return seq, err
}

// GetVersion implements [memento.Backend].
func (b *Backend) GetVersion(ctx context.Context, store memento.StoreID, id memento.VersionID) (memento.Version, error) {
	const op = "get version"
	return read(ctx, b, op, func(c *conn) (v memento.Version, err error) {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return v, err
		}
		err = c.inTx(func() error {
			seq, err := findVersion(c, num, id)
			if err != nil {
				return err
			}
			found, err := c.one(`SELECT `+versionColumns+`, t.data FROM versions v LEFT JOIN contents t ON t.id = v.content
				WHERE v.store = ? AND v.seq = ?`, func(s *sqlite.Stmt) {
				v = scanVersion(s)
				v.Content = s.ColumnText(versionColumnCount)
			}, num, seq)
			switch {
			case err != nil:
				return err
			case found:
				return v.CheckContent(op)
			}
			if err := exists(c, op, num); err != nil {
				return err
			}
			return &memento.Error{Op: op, Err: memento.ErrNotExist}
		})
		if err != nil {
			return memento.Version{}, err
		}
		return v, nil
	})
}

// history returns the FROM clause, and the text before SELECT, to select the versions v of
// the memory in parameter ?2, of the store in ?1. If possible it follows the linked list of
// versions from the newest to the oldest. If that has no start, it selects all versions of
// the store, and the caller must filter them.
func history(c *conn, store int64, memory memento.MemoryID) (with, from string, err error) {
	const chain = `WITH RECURSIVE chain (seq) AS (
			SELECT coalesce(
				(SELECT m.seq FROM memories m WHERE m.store = ?1 AND m.id = ?2),
				(SELECT max(d.seq) FROM versions d WHERE d.store = ?1 AND d.memory = ?2 AND d.operation = 'deleted'))
			UNION ALL
			SELECT v.prev FROM chain c CROSS JOIN versions v WHERE v.store = ?1 AND v.seq = c.seq AND v.prev > 0
		) `
	linked, err := c.one(chain+`SELECT 1 FROM chain WHERE seq > 0`, nil, store, memory)
	if !linked {
		return ``, ` FROM versions v`, err
	}
	return chain, ` FROM chain c CROSS JOIN versions v ON v.seq = c.seq`, err
}

// ListVersions implements [memento.Backend].
func (b *Backend) ListVersions(ctx context.Context, store memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	const op = "list versions"
	return rows(ctx, b, op, func(c *conn, yield func(memento.Version) bool) error {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return err
		}
		with, from, contents := ``, ` FROM versions v`, ``
		args := []any{num, nil}
		if opts.Memory != "" {
			args[1] = opts.Memory
			if with, from, err = history(c, num, opts.Memory); err != nil {
				return err
			}
		}
		if opts.Contents {
			contents = `, t.data`
			from += ` LEFT JOIN contents t ON t.id = v.content`
		}
		query := with + `SELECT ` + versionColumns + contents + from + ` WHERE v.store = ?1 AND (?2 IS NULL OR v.memory = ?2)`
		// Options without an index are checked by Matches for every row: history is long,
		// but its rows are short.
		switch {
		case opts.After == 0:
		case opts.OldestFirst:
			query += ` AND v.seq > +?3`
			args = append(args, opts.After)
		default:
			query += ` AND v.seq < +?3`
			args = append(args, opts.After)
		}
		switch {
		case opts.OldestFirst:
			query += ` ORDER BY v.seq`
		case with == ``:
			query += ` ORDER BY v.seq DESC`
		default: // the linked list is ordered from the newest to the oldest
		}
		n, seen := 0, false
		var damaged error
		err = c.all(query, func(s *sqlite.Stmt) bool {
			seen = true
			v := scanVersion(s)
			if !opts.Matches(&v) {
				return true
			}
			if opts.Contents {
				v.Content = s.ColumnText(versionColumnCount)
				if damaged = v.CheckContent(op); damaged != nil {
					return false
				}
			}
			n++
			return yield(v) && n != opts.Limit
		}, args...)
		if err == nil && !seen {
			return exists(c, op, num)
		}
		return cmp.Or(err, damaged)
	})
}

// Redact implements [memento.Backend]. The contents are removed from the database, its
// search index and, as soon as no reader needs it any more, its log. This takes as long as
// rewriting those segments of the index that have words of older versions; other writes run
// meanwhile.
func (b *Backend) Redact(ctx context.Context, store memento.StoreID, id memento.VersionID, by memento.Actor) (memento.Version, error) {
	const op = "redact"
	redact := func(t *tx) (memento.Version, error) {
		num, err := b.storeNum(t.conn, op, store)
		if err != nil {
			return memento.Version{}, err
		}
		return b.redact(t.conn, num, id, by)
	}
	v, err := writeFreeing(ctx, b.writer, func(t *tx) (memento.Version, error) {
		v, err := redact(t)
		if b.clearStoreNums(err) {
			v, err = redact(t)
		}
		return v, err
	})
	if err != nil {
		return v, fail(op, err)
	}
	b.texts.Clear()
	// Also if it was redacted before: that process may have died before purging the index.
	if err := b.purgeIndex(context.WithoutCancel(ctx), 0); err != nil {
		b.schedulePurge()
		if errors.Is(err, memento.ErrNoSpace) {
			err = fmt.Errorf("%w; the contents are removed, but some of their words stay in pages of the search index until there is space", err)
		}
		return v, fail(op, err)
	}
	return v, nil
}

func (b *Backend) redact(c *conn, store int64, id memento.VersionID, by memento.Actor) (memento.Version, error) {
	const op = "redact"
	var v memento.Version
	var content int64
	seq, err := findVersion(c, store, id)
	if err != nil {
		return v, err
	}
	find := func() (found bool, err error) {
		return c.one(`SELECT `+versionColumns+`, v.content FROM versions v WHERE v.store = ? AND v.seq = ?`, func(s *sqlite.Stmt) {
			v = scanVersion(s)
			content = s.ColumnInt64(versionColumnCount)
		}, store, seq)
	}
	switch found, err := find(); {
	case err != nil:
		return v, err
	case !found:
		if err := exists(c, op, store); err != nil {
			return v, err
		}
		return v, &memento.Error{Op: op, Err: memento.ErrNotExist}
	case v.Redacted():
		return v, nil
	}
	isHead, err := c.one(`SELECT 1 FROM memories WHERE store = ? AND id = ? AND version = ?`, nil, store, v.Memory, id)
	switch {
	case err != nil:
		return v, err
	case isHead:
		return v, &memento.Error{Op: op, Path: v.Path, Err: memento.ErrHead}
	}
	if err := c.exec(`UPDATE versions SET path = NULL, content = NULL, size = NULL, sha256 = NULL, digest = '',
			redacted_at = ?, redactor_kind = ?, redactor_id = ?, redactor_key = ? WHERE store = ? AND seq = ?`,
		micros(b.clock(time.Time{})), string(by.Kind), by.ID, string(by.Key), store, v.Seq); err != nil {
		return v, err
	}
	// After a rename, two versions share contents.
	with, from, err := history(c, store, v.Memory)
	if err != nil {
		return v, err
	}
	shared, err := c.one(with+`SELECT 1`+from+` WHERE v.store = ?1 AND v.memory = ?2 AND v.content = ?3`, nil, store, v.Memory, content)
	if err != nil {
		return v, err
	}
	if !shared {
		if err := c.exec(`DELETE FROM contents WHERE id = ?`, content); err != nil {
			return v, err
		}
	}
	if err := requestPurge(c, store); err != nil {
		return v, err
	}
	_, err = find()
	return v, err
}
