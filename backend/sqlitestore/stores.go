package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

// micros returns t as it is stored: microseconds since 1970.
func micros(t time.Time) int64 { return t.UnixMicro() }

// optionalMicros is micros, or null for the zero time.
func optionalMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// timeAt reads a time, which is zero if the column is null.
func timeAt(s *sqlite.Stmt, col int) time.Time {
	if s.ColumnIsNull(col) {
		return time.Time{}
	}
	return time.UnixMicro(s.ColumnInt64(col)).UTC()
}

func errNoStore(op string) error { return &memento.Error{Op: op, Err: memento.ErrNoStore} }

// storeNum returns the number of a store, by which the tables refer to it.
func (b *Backend) storeNum(c *conn, op string, id memento.StoreID) (int64, error) {
	if n, ok := b.stores.Load(id); ok {
		return n.(int64), nil
	}
	var n int64
	found, err := c.one(`SELECT num FROM stores WHERE id = ?`, func(s *sqlite.Stmt) { n = s.ColumnInt64(0) }, string(id))
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, errNoStore(op)
	}
	b.stores.Store(id, n)
	return n, nil
}

// clearStoreNums reports whether a call that failed with err should be repeated, and clears
// the cached numbers of stores: another process may have deleted the store and created it
// again, from a copy, with the same ID and another number.
func (b *Backend) clearStoreNums(err error) bool {
	if !errors.Is(err, memento.ErrNoStore) {
		return false
	}
	known := false
	b.stores.Range(func(any, any) bool {
		known = true
		return false
	})
	b.stores.Clear()
	return known
}

// exists returns ErrNoStore if the store was deleted, which storeNum does not notice.
func exists(c *conn, op string, store int64) error {
	switch found, err := c.one(`SELECT 1 FROM counters WHERE store = ?`, nil, store); {
	case err != nil:
		return err
	case !found:
		return errNoStore(op)
	}
	return nil
}

const selectStores = `
	SELECT s.num, s.id, s.workspace, s.name, s.description, s.metadata,
		s.max_memory_bytes, s.max_memories, s.max_bytes, s.max_path_bytes, s.max_path_depth,
		s.created_at, s.updated_at, s.archived_at, c.memories, c.bytes, c.last_at, s.settings, s.envelope
	FROM stores s JOIN counters c ON c.store = s.num `

// scanStore reads a row of selectStores. last is the time of the store's newest version.
func scanStore(s *sqlite.Stmt) (info memento.StoreInfo, num int64, last time.Time, err error) {
	info = memento.StoreInfo{
		ID:          memento.StoreID(s.ColumnText(1)),
		Workspace:   memento.Workspace(s.ColumnText(2)),
		Name:        s.ColumnText(3),
		Description: s.ColumnText(4),
		Metadata:    map[string]string{},
		Limits: memento.Limits{
			MemoryBytes: s.ColumnInt64(6),
			Memories:    s.ColumnInt64(7),
			Bytes:       s.ColumnInt64(8),
			PathBytes:   s.ColumnInt64(9),
			PathDepth:   s.ColumnInt64(10),
		},
		CreatedAt:  timeAt(s, 11),
		UpdatedAt:  timeAt(s, 12),
		ArchivedAt: timeAt(s, 13),
		Envelope:   s.ColumnText(18),
		Usage:      memento.Usage{Memories: s.ColumnInt64(14), Bytes: s.ColumnInt64(15)},
	}
	if metadata := s.ColumnText(5); metadata != "{}" {
		if err := json.Unmarshal([]byte(metadata), &info.Metadata); err != nil {
			return info, 0, last, fmt.Errorf("%w: metadata of store %s: %v", memento.ErrFormat, info.ID, err)
		}
	}
	info.Settings, err = backend.DecodeSettings(s.ColumnText(17))
	return info, s.ColumnInt64(0), timeAt(s, 16), err
}

// CreateStore implements [memento.Backend].
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	const op = "create store"
	info, err := write(ctx, b.writer, func(t *tx) (memento.StoreInfo, error) {
		info, err := spec.NewInfo(ws, b.clock(time.Time{}))
		if err != nil {
			return info, err
		}
		if spec.UniqueName {
			taken, err := t.one(`SELECT 1 FROM stores WHERE workspace = ? AND name = ? AND archived_at IS NULL`, nil, string(ws), spec.Name)
			if err != nil {
				return info, err
			}
			if taken {
				return info, &memento.Error{Op: op, Err: fmt.Errorf("%w: a store named %q", memento.ErrExist, spec.Name)}
			}
		}
		if spec.ID != "" {
			taken, err := t.one(`SELECT 1 FROM stores WHERE id = ?`, nil, string(spec.ID))
			if err != nil {
				return info, err
			}
			if taken {
				return info, &memento.Error{Op: op, Err: fmt.Errorf("%w: a store with the ID %s", memento.ErrExist, spec.ID)}
			}
		}
		if err := t.exec(`INSERT INTO stores (id, workspace, name, description, metadata,
				max_memory_bytes, max_memories, max_bytes, max_path_bytes, max_path_depth, settings, envelope, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			string(info.ID), string(ws), info.Name, info.Description, metadataJSON(info.Metadata),
			info.Limits.MemoryBytes, info.Limits.Memories, info.Limits.Bytes, info.Limits.PathBytes, info.Limits.PathDepth,
			backend.EncodeSettings(info.Settings), info.Envelope, micros(info.CreatedAt), micros(info.UpdatedAt)); err != nil {
			return info, err
		}
		return info, t.exec(`INSERT INTO counters VALUES (?1, 0, 0, 0, 0, 0, ?1, 0)`, t.LastInsertRowID())
	})
	return info, fail(op, err)
}

func metadataJSON(m map[string]string) string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a map of strings always has JSON
	}
	return string(text)
}

// clock returns the time of a change that follows one made at last.
func (b *Backend) clock(last time.Time) time.Time { return backend.NextTime(b.now(), last) }

// store reads a store's description, its number and the time of its newest version.
func (b *Backend) store(c *conn, op string, ws memento.Workspace, id memento.StoreID) (info memento.StoreInfo, num int64, last time.Time, err error) {
	find := func(where string, key any) (found bool, err error) {
		var scanErr error
		found, err = c.one(selectStores+where, func(s *sqlite.Stmt) { info, num, last, scanErr = scanStore(s) }, key, string(ws))
		return found, cmp.Or(err, scanErr)
	}
	// By its number, if that is cached: this needs no index.
	if n, ok := b.stores.Load(id); ok {
		if found, err := find(`WHERE s.num = ? AND s.workspace = ?`, n); err != nil || found && info.ID == id {
			return info, num, last, err
		}
	}
	switch found, err := find(`WHERE s.id = ? AND s.workspace = ?`, string(id)); {
	case err != nil:
		return info, 0, last, err
	case !found:
		return memento.StoreInfo{}, 0, last, errNoStore(op)
	}
	return info, num, last, nil
}

// GetStore implements [memento.Backend].
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	const op = "get store"
	return readQuick(ctx, b, op, func(c *conn) (memento.StoreInfo, error) {
		info, num, _, err := b.store(c, op, ws, id)
		if err == nil {
			b.stores.Store(id, num)
		}
		return info, err
	})
}

// UpdateStore implements [memento.Backend].
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	const op = "update store"
	info, err := write(ctx, b.writer, func(t *tx) (memento.StoreInfo, error) {
		if err := t.flush(); err != nil {
			return memento.StoreInfo{}, err
		}
		old, num, _, err := b.store(t.conn, op, ws, id)
		if err != nil {
			return old, err
		}
		info, err := old.Updated(u, b.clock(old.UpdatedAt))
		if err != nil {
			return info, err
		}
		return info, t.exec(`UPDATE stores SET name = ?, description = ?, metadata = ?,
				max_memory_bytes = ?, max_memories = ?, max_bytes = ?, max_path_bytes = ?, max_path_depth = ?,
				settings = ?, envelope = ?, updated_at = ?, archived_at = ? WHERE num = ?`,
			info.Name, info.Description, metadataJSON(info.Metadata),
			info.Limits.MemoryBytes, info.Limits.Memories, info.Limits.Bytes, info.Limits.PathBytes, info.Limits.PathDepth,
			backend.EncodeSettings(info.Settings), info.Envelope, micros(info.UpdatedAt), optionalMicros(info.ArchivedAt), num)
	})
	return info, fail(op, err)
}

// DeleteStore implements [memento.Backend]. The contents of the store are removed from the
// database, its search index and its log before the call returns.
func (b *Backend) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	const op = "delete store"
	var gone deleted
	err := b.writer.runFreeing(ctx, func(t *tx) (err error) {
		if err := t.flush(); err != nil {
			return err
		}
		_, num, _, err := b.store(t.conn, op, ws, id)
		if err != nil {
			return err
		}
		if gone, err = deleteStore(t.conn, num); err == nil && t.lowSpace {
			gone.purge, err = true, requestPurge(t.conn, num)
		}
		return err
	})
	if err != nil {
		return fail(op, err)
	}
	b.stores.Delete(id)
	b.index.Forget(id)
	for _, hash := range gone.hashes {
		b.texts.Remove(hash)
	}
	if gone.purge {
		b.schedulePurge()
	}
	b.writer.shrink()
	return nil
}

// A deleted says what to do after a store was deleted.
type deleted struct {
	purge  bool     // whether contents may be in free pages until the file shrinks
	hashes []string // of its texts, to remove from caches
}

func deleteStore(c *conn, num int64) (gone deleted, err error) {
	err = c.all(`SELECT sha256 FROM versions WHERE store = ? AND content IS NOT NULL`, func(s *sqlite.Stmt) bool {
		gone.hashes = append(gone.hashes, hashAt(s, 0))
		return true
	}, num)
	if err != nil {
		return gone, err
	}
	for _, statement := range []string{
		`DELETE FROM search_blocks WHERE id IN (SELECT b.id FROM search_segments s
			CROSS JOIN search_blocks b ON b.id BETWEEN 1048576 * s.id AND 1048576 * s.id + 1048575 WHERE s.store = ?)`,
		`DELETE FROM search_segments WHERE store = ?`,
		`DELETE FROM search_deletions WHERE store = ?`,
		`DELETE FROM vectors WHERE store = ?`,
		`DELETE FROM contents WHERE id IN (SELECT content FROM versions WHERE store = ?)`,
		`DELETE FROM versions WHERE store = ?`,
		`DELETE FROM memories WHERE store = ?`,
		`DELETE FROM directories WHERE store = ?`,
		`DELETE FROM counters WHERE store = ?`,
		`DELETE FROM stores WHERE num = ?`,
	} {
		if err := c.exec(statement, num); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// ListStores implements [memento.Backend].
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	const op = "list stores"
	list := func(c *conn, yield func(memento.StoreInfo) bool) error {
		if err := b.writer.file.check(); err != nil {
			return err
		}
		query, args, order := selectStores+`WHERE s.workspace = ?`, []any{string(ws)}, ` ORDER BY s.id DESC`
		if opts.Name != "" {
			query += ` AND s.name = ?`
			args = append(args, opts.Name)
			order = ` ORDER BY +s.id DESC` // the plus sign keeps SQLite from scanning the whole workspace in this order
		}
		if opts.After != "" {
			query += ` AND s.id < ?` // IDs sort by time; the store itself may have been deleted
			args = append(args, string(opts.After))
		}
		n := 0
		var scanErr error
		err := c.all(query+order, func(s *sqlite.Stmt) bool {
			var info memento.StoreInfo
			if info, _, _, scanErr = scanStore(s); scanErr != nil {
				return false
			}
			if !opts.Matches(&info) {
				return true
			}
			n++
			return yield(info) && n != opts.Limit
		}, args...)
		return errors.Join(err, scanErr)
	}
	if opts.Name != "" && opts.Limit > 0 && opts.Limit <= fewStores {
		return rowsBuffered(ctx, b, op, list)
	}
	return rows(ctx, b, op, list)
}

// fewStores is how many stores are read at once.
const fewStores = 10
