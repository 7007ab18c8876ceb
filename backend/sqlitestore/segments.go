package sqlitestore

import (
	"context"
	"math/rand/v2"
	"time"

	"memento"
	"memento/backend/textindex"

	"zombiezen.com/go/sqlite"
)

// An indexStorage keeps the segments of search indexes in the tables search_segments and
// search_blocks.
type indexStorage struct{ b *Backend }

var _ textindex.Storage = indexStorage{}

// The states of a segment, as the tables have them.
const (
	segmentWritten = 0 // is being written
	segmentUsed    = 1
	segmentRetired = 2
	segmentKept    = 3 // within a transaction: stays in the index
)

const (
	// sweepBlocks is how many blocks are removed in one transaction.
	sweepBlocks = 16
	// abandonedAge is the age at which a segment that was not finished belongs to a process
	// that has died.
	abandonedAge = time.Hour
)

// blockID returns the key of a block.
func blockID(id textindex.SegmentID, number int) int64 {
	return int64(id)*(textindex.MaxBlocks+1) + int64(number-textindex.HeadBlock)
}

func readBlock(c *conn, id textindex.SegmentID, number int) (block []byte, err error) {
	known, err := c.one(`SELECT data FROM search_blocks WHERE id = ?`, func(s *sqlite.Stmt) { block = bytesAt(s, 0) }, blockID(id, number))
	if err == nil && !known {
		err = textindex.ErrIndex
	}
	return block, err
}

func bytesAt(s *sqlite.Stmt, column int) []byte {
	data := make([]byte, s.ColumnLen(column))
	s.ColumnBytes(column, data)
	return data
}

// Block implements textindex.Storage.
func (s indexStorage) Block(ctx context.Context, _ memento.StoreID, id textindex.SegmentID, number int) ([]byte, error) {
	return read(ctx, s.b, "search", func(c *conn) ([]byte, error) { return readBlock(c, id, number) })
}

// PutBlocks implements textindex.Storage.
func (s indexStorage) PutBlocks(ctx context.Context, store memento.StoreID, revision int64, id textindex.SegmentID, blocks []textindex.Block) error {
	return s.change(ctx, store, job{indexes: true}, func(c *conn, num, now int64) error {
		state, known, err := segmentState(c, num, id)
		switch {
		case err != nil:
			return err
		case known && state != segmentWritten, !known && now != revision:
			return errRevised
		case known:
			err = c.exec(`UPDATE search_segments SET begun_at = ? WHERE id = ?`, micros(time.Now()), int64(id))
		default:
			err = c.exec(`INSERT INTO search_segments (id, store, state, begun_at, dead) VALUES (?, ?, ?, ?, x'')`,
				int64(id), num, segmentWritten, micros(time.Now()))
		}
		for _, block := range blocks {
			if err != nil {
				return err
			}
			err = c.exec(`INSERT INTO search_blocks (id, data) VALUES (?, ?)`, blockID(id, block.N), block.Data)
		}
		return err
	})
}

// segmentState returns the state of a segment of a store.
func segmentState(c *conn, store int64, id textindex.SegmentID) (state int64, known bool, err error) {
	known, err = c.one(`SELECT state FROM search_segments WHERE id = ? AND store = ?`, func(s *sqlite.Stmt) { state = s.ColumnInt64(0) }, int64(id), store)
	return state, known, err
}

// Publish implements textindex.Storage.
func (s indexStorage) Publish(ctx context.Context, store memento.StoreID, revision int64, next textindex.StoredIndex, abandon bool) error {
	return s.change(ctx, store, job{freesSpace: true, indexes: true, flush: abandon}, func(c *conn, num, now int64) error {
		if now != revision {
			return errRevised
		}
		for _, segment := range next.Segments { // before anything is changed
			state, known, err := segmentState(c, num, segment.ID)
			if err != nil {
				return err
			}
			if !known || state == segmentRetired {
				return errRevised
			}
		}
		for _, segment := range next.Segments {
			if err := c.exec(`UPDATE search_segments SET state = ?, dead = ? WHERE id = ?`, segmentKept, notNull(segment.Dead), int64(segment.ID)); err != nil {
				return err
			}
		}
		lowest := segmentUsed
		if abandon {
			lowest = segmentWritten
		}
		if err := c.exec(`UPDATE search_segments SET state = ? WHERE store = ? AND state BETWEEN ? AND ?`, segmentRetired, num, lowest, segmentUsed); err != nil {
			return err
		}
		if err := c.exec(`UPDATE search_segments SET state = ? WHERE store = ? AND state = ?`, segmentUsed, num, segmentKept); err != nil {
			return err
		}
		if err := c.exec(`DELETE FROM search_deletions WHERE store = ? AND seq <= ?`, num, next.Seq); err != nil {
			return err
		}
		return c.exec(`UPDATE counters SET indexed_seq = ?, index_revision = ? WHERE store = ?`, next.Seq, 1+rand.Int64N(1<<62), num)
	})
}

// Discard implements textindex.Storage.
func (s indexStorage) Discard(ctx context.Context, store memento.StoreID, id textindex.SegmentID) error {
	return s.change(ctx, store, job{freesSpace: true, indexes: true}, func(c *conn, num, _ int64) error {
		return c.exec(`UPDATE search_segments SET state = ? WHERE id = ? AND store = ? AND state = ?`, segmentRetired, int64(id), num, segmentWritten)
	})
}

func notNull(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// errRevised is an error of a job that has changed nothing.
var errRevised = &memento.Error{Op: "index", Err: textindex.ErrRevised}

// change does something to the index of a store, whose revision is now. What replaces a
// segment frees more than it takes, and may use the reserve.
func (s indexStorage) change(ctx context.Context, store memento.StoreID, j job, do func(c *conn, num, now int64) error) error {
	const op = "index"
	_, err := submit(ctx, s.b.writer, j, func(t *tx) (struct{}, error) {
		num, err := s.b.storeNum(t.conn, op, store)
		if err != nil {
			return struct{}{}, err
		}
		var now int64
		known, err := t.one(`SELECT index_revision FROM counters WHERE store = ?`, func(s *sqlite.Stmt) { now = s.ColumnInt64(0) }, num)
		if err == nil && !known {
			err = errNoStore(op)
		}
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, do(t.conn, num, now)
	})
	return fail(op, err)
}

// Sweep implements textindex.Storage.
func (s indexStorage) Sweep(ctx context.Context, store memento.StoreID) (more bool, err error) {
	const op = "index"
	oldest := micros(time.Now().Add(-abandonedAge))
	find := func(c *conn) (id, num int64, err error) {
		if num, err = s.b.storeNum(c, op, store); err != nil {
			return 0, 0, err
		}
		_, err = c.one(`SELECT id FROM search_segments WHERE store = ? AND (state = ? OR state = ? AND begun_at < ?)`,
			func(s *sqlite.Stmt) { id = s.ColumnInt64(0) }, num, segmentRetired, segmentWritten, oldest)
		return id, num, err
	}
	due, err := read(ctx, s.b, op, func(c *conn) (int64, error) {
		id, _, err := find(c)
		return id, err
	})
	if err != nil || due == 0 {
		return false, err
	}
	_, err = submit(ctx, s.b.writer, job{freesSpace: true, indexes: true}, func(t *tx) (struct{}, error) {
		id, _, err := find(t.conn)
		if err != nil || id == 0 {
			return struct{}{}, err
		}
		from := blockID(textindex.SegmentID(id), textindex.HeadBlock)
		if err := t.exec(`DELETE FROM search_blocks WHERE id IN (SELECT id FROM search_blocks WHERE id >= ? AND id <= ? LIMIT ?)`,
			from, from+textindex.MaxBlocks, sweepBlocks); err != nil {
			return struct{}{}, err
		}
		if t.Changes() < sweepBlocks {
			return struct{}{}, t.exec(`DELETE FROM search_segments WHERE id = ?`, id)
		}
		return struct{}{}, nil
	})
	return true, fail(op, err)
}

// wakeIndex continues what an earlier process has left.
func (b *Backend) wakeIndex(c *conn) error {
	return c.all(`SELECT s.id FROM counters c JOIN stores s ON s.num = c.store WHERE c.last_seq - c.indexed_seq >= ?
			OR EXISTS (SELECT 1 FROM search_segments x WHERE x.store = c.store AND x.state <> 1)`, func(s *sqlite.Stmt) bool {
		b.index.Behind(memento.StoreID(s.ColumnText(0)))
		return true
	}, textindex.FlushVersions)
}
