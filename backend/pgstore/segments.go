package pgstore

import (
	"context"
	"math/rand/v2"
	"time"

	"memento"
	"memento/backend/textindex"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// An indexStorage keeps the segments of search indexes in the tables search_segments and
// search_blocks. The row of a store in the table indexed is the lock of those who change
// its index.
type indexStorage struct{ b *Backend }

var (
	_ textindex.Storage       = indexStorage{}
	_ textindex.PurgeRequests = indexStorage{}
)

const (
	// sweepBlocks is how many blocks are removed in one transaction.
	sweepBlocks = 256
	// purgeDelay is how long after a request the index is purged, so that one purge serves
	// several requests.
	purgeDelay = 5 * time.Second
)

const blockQuery = `SELECT data FROM memento.search_blocks WHERE store = $1 AND segment = $2 AND n = $3`

// Block implements textindex.Storage.
func (s indexStorage) Block(ctx context.Context, store memento.StoreID, id textindex.SegmentID, number int) (block []byte, err error) {
	b := s.b
	err = b.withStore(ctx, "index", store, func(k knownStore) error {
		block, err = read(ctx, b, "index", func(ctx context.Context, c *pgxpool.Conn) (block []byte, err error) {
			err = c.QueryRow(ctx, b.sql(blockQuery), k.num, int64(id), number).Scan(&block)
			if noRows(err) {
				err = textindex.ErrIndex
			}
			return block, err
		})
		return err
	})
	return block, err
}

// The states of a segment, as the table has them.
const (
	segmentWritten = 0 // is being written
	segmentUsed    = 1
	segmentRetired = 2
)

// PutBlocks implements textindex.Storage.
func (s indexStorage) PutBlocks(ctx context.Context, store memento.StoreID, revision int64, id textindex.SegmentID, blocks []textindex.Block) error {
	numbers, data := make([]int32, len(blocks)), make([][]byte, len(blocks))
	for i, block := range blocks {
		numbers[i], data[i] = int32(block.N), block.Data
	}
	state := -1
	find := func(first *pgx.Batch, num int64) {
		first.Queue(s.b.sql(`SELECT coalesce((SELECT state FROM memento.search_segments WHERE store = $1 AND id = $2), -1)`), num, int64(id)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&state) })
	}
	return s.change(ctx, store, find, func(t *tx, num, now int64) error {
		if state != segmentWritten && (state != -1 || now != revision) {
			return textindex.ErrRevised
		}
		t.do(`INSERT INTO memento.search_segments (store, id, state) VALUES ($1, $2, 0) ON CONFLICT (store, id) DO UPDATE SET begun_at = now()`, num, int64(id))
		// A repetition after an answer that was lost changes nothing.
		t.do(`INSERT INTO memento.search_blocks (store, segment, n, data) SELECT $1, $2, * FROM unnest($3::integer[], $4::bytea[])
			ON CONFLICT (store, segment, n) DO NOTHING`, num, int64(id), numbers, data)
		return nil
	})
}

// Publish implements textindex.Storage.
func (s indexStorage) Publish(ctx context.Context, store memento.StoreID, revision int64, next textindex.StoredIndex, abandon bool) error {
	ids, dead := make([]int64, len(next.Segments)), make([][]byte, len(next.Segments))
	for i, s := range next.Segments {
		ids[i], dead[i] = int64(s.ID), append([]byte{}, s.Dead...)
	}
	known := 0
	find := func(first *pgx.Batch, num int64) {
		first.Queue(s.b.sql(`SELECT count(*) FROM memento.search_segments WHERE store = $1 AND id = ANY ($2::bigint[]) AND state <> 2`), num, ids).
			QueryRow(func(row pgx.Row) error { return row.Scan(&known) })
	}
	return s.change(ctx, store, find, func(t *tx, num, now int64) error {
		if now != revision || known != len(ids) {
			return textindex.ErrRevised
		}
		t.do(`UPDATE memento.search_segments SET state = 2 WHERE store = $1 AND (state = 1 OR $2) AND id <> ALL ($3::bigint[])`, num, abandon, ids)
		t.do(`UPDATE memento.search_segments s SET state = 1, dead = u.dead FROM unnest($2::bigint[], $3::bytea[]) u (id, dead)
			WHERE s.store = $1 AND s.id = u.id AND (s.state <> 1 OR s.dead <> u.dead)`, num, ids, dead)
		t.do(`DELETE FROM memento.search_deletions WHERE store = $1 AND seq <= $2`, num, next.Seq)
		t.do(`UPDATE memento.indexed SET seq = $2, revision = $3 WHERE store = $1`, num, next.Seq, 1+rand.Int64N(1<<62))
		return nil
	})
}

// Discard implements textindex.Storage.
func (s indexStorage) Discard(ctx context.Context, store memento.StoreID, id textindex.SegmentID) error {
	return s.change(ctx, store, func(*pgx.Batch, int64) {}, func(t *tx, num, _ int64) error {
		t.do(`UPDATE memento.search_segments SET state = 2 WHERE store = $1 AND id = $2 AND state = 0`, num, int64(id))
		return nil
	})
}

// change does something to the index of a store, whose revision is now. It locks the index
// before find reads more of it.
func (s indexStorage) change(ctx context.Context, store memento.StoreID, find func(first *pgx.Batch, num int64), do func(t *tx, num, now int64) error) error {
	const op = "index"
	b := s.b
	err := b.withStore(ctx, op, store, func(k knownStore) error {
		return b.transact(ctx, func(ctx context.Context, t *tx) error {
			first := t.begin()
			t.queueStamp(first)
			var now int64
			first.Queue(b.sql(`SELECT i.revision FROM memento.indexed i JOIN memento.counters c ON c.store = i.store WHERE i.store = $1 FOR UPDATE OF i`), k.num).
				QueryRow(func(row pgx.Row) error {
					if err := row.Scan(&now); !noRows(err) {
						return err
					}
					return errGone
				})
			find(first, k.num)
			if err := t.send(ctx, first); err != nil {
				return err
			}
			if err := do(t, k.num, now); err != nil {
				return &memento.Error{Op: op, Err: err}
			}
			return nil
		})
	})
	return fail(op, err)
}

// Sweep implements textindex.Storage.
func (s indexStorage) Sweep(ctx context.Context, store memento.StoreID) (more bool, err error) {
	const op = "index"
	b := s.b
	err = b.withStore(ctx, op, store, func(k knownStore) error {
		due, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (due int64, err error) {
			err = c.QueryRow(ctx, b.sql(`SELECT id FROM memento.search_segments
					WHERE store = $1 AND (state = 2 OR state = 0 AND begun_at < now() - interval '1 hour') LIMIT 1`), k.num).Scan(&due)
			if noRows(err) {
				err = nil
			}
			return due, err
		})
		if more = due != 0; err != nil || !more {
			return err
		}
		return b.transact(ctx, func(ctx context.Context, t *tx) error {
			first := t.begin()
			t.queueStamp(first)
			if err := t.send(ctx, first); err != nil {
				return err
			}
			// Both statements are of one snapshot of each: the segment goes once no block is left.
			t.do(`DELETE FROM memento.search_blocks WHERE store = $1 AND segment = $2
				AND n IN (SELECT n FROM memento.search_blocks WHERE store = $1 AND segment = $2 LIMIT $3)`, k.num, due, sweepBlocks)
			t.do(`DELETE FROM memento.search_segments WHERE store = $1 AND id = $2
				AND NOT EXISTS (SELECT 1 FROM memento.search_blocks WHERE store = $1 AND segment = $2)`, k.num, due)
			return nil
		})
	})
	return more, fail(op, err)
}

// wakeIndex continues what earlier processes have left.
func (b *Backend) wakeIndex(ctx context.Context) error {
	return b.retry(ctx, func(ctx context.Context) error {
		rows, err := b.pool.Query(ctx, b.sql(`SELECT s.id FROM memento.counters c JOIN memento.indexed i ON i.store = c.store JOIN memento.stores s ON s.num = c.store
			WHERE c.last_seq - i.seq >= $1 OR i.requested > i.purged
			OR EXISTS (SELECT 1 FROM memento.search_segments x WHERE x.store = c.store AND x.state <> 1)`), textindex.FlushVersions)
		if err != nil {
			return err
		}
		var id string
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
			b.index.Behind(memento.StoreID(id))
			return nil
		})
		return err
	})
}

// requestPurge requests, in the transaction, that words of versions which it removes for good
// leave the search index. If the process dies, another one does it.
func (t *tx) requestPurge(store int64) {
	t.do(`UPDATE memento.indexed SET requested = requested + 1 WHERE store = $1`, store)
}

// purgeIndex removes words of removed versions from the index of a store, if that was
// requested.
func (b *Backend) purgeIndex(ctx context.Context, store memento.StoreID) error {
	return b.index.PurgeRequested(ctx, store)
}

// Requested implements textindex.PurgeRequests.
func (s indexStorage) Requested(ctx context.Context, store memento.StoreID) (request int64, err error) {
	const op = "index"
	b := s.b
	err = b.withStore(ctx, op, store, func(k knownStore) error {
		request, err = read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (request int64, err error) {
			err = c.QueryRow(ctx, b.sql(`SELECT requested FROM memento.indexed WHERE store = $1 AND requested > purged`), k.num).Scan(&request)
			if noRows(err) {
				err = nil
			}
			return request, err
		})
		return err
	})
	return request, fail(op, err)
}

// Purged implements textindex.PurgeRequests.
func (s indexStorage) Purged(ctx context.Context, store memento.StoreID, request int64) error {
	const op = "index"
	b := s.b
	return fail(op, b.withStore(ctx, op, store, func(k knownStore) error {
		return b.transact(ctx, func(ctx context.Context, t *tx) error {
			first := t.begin()
			t.queueStamp(first)
			if err := t.send(ctx, first); err != nil {
				return err
			}
			t.do(`UPDATE memento.indexed SET purged = greatest(purged, $2) WHERE store = $1`, k.num, request)
			return nil
		})
	}))
}
