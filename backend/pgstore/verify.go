package pgstore

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// checks are queries for inconsistent rows: each returns store numbers with the number of
// findings. Only checks that a user of the Backend cannot make are here.
var checks = []struct{ finding, query string }{
	{"memories whose newest version is missing or different", `SELECT m.store, count(*) FROM memento.memories m
		LEFT JOIN memento.versions v ON v.store = m.store AND v.seq = m.seq
		WHERE v.seq IS NULL OR v.id <> m.version OR v.memory <> m.id OR v.path <> m.path OR v.content <> m.content OR v.sha256 <> m.sha256 OR v.size <> m.size
		GROUP BY m.store`},
	{"versions whose contents are missing", `SELECT v.store, count(*) FROM memento.versions v
		LEFT JOIN memento.contents t ON t.store = v.store AND t.seq = v.content WHERE v.content <> 0 AND t.seq IS NULL GROUP BY v.store`},
	{"versions whose contents have another hash", `SELECT v.store, count(*) FROM memento.versions v
		JOIN memento.contents t ON t.store = v.store AND t.seq = v.content WHERE sha256(t.data) <> v.sha256 GROUP BY v.store`},
	{"contents that belong to no version", `SELECT t.store, count(*) FROM memento.contents t
		WHERE NOT EXISTS (SELECT 1 FROM memento.removals r WHERE r.store = t.store)
		AND NOT EXISTS (SELECT 1 FROM memento.versions v WHERE v.store = t.store AND v.content = t.seq) GROUP BY t.store`},
	{"counters that differ from its memories", `SELECT c.store, count(*) FROM memento.counters c
		LEFT JOIN (SELECT store, count(*) AS memories, sum(size) AS bytes FROM memento.memories GROUP BY store) m ON m.store = c.store
		WHERE c.memories <> coalesce(m.memories, 0) OR c.bytes <> coalesce(m.bytes, 0) GROUP BY c.store`},
	{"versions newer than its newest", `SELECT v.store, count(*) FROM memento.versions v
		JOIN memento.counters c ON c.store = v.store WHERE v.seq > c.last_seq GROUP BY v.store`},
	{"segments of the search index without a head", `SELECT s.store, count(*) FROM memento.search_segments s WHERE s.state = 1
		AND NOT EXISTS (SELECT 1 FROM memento.search_blocks b WHERE b.store = s.store AND b.segment = s.id AND b.n = -1) GROUP BY s.store`},
	{"vectors of memories that do not exist", `SELECT v.store, count(*) FROM memento.vectors v
		WHERE NOT EXISTS (SELECT 1 FROM memento.memories m WHERE m.store = v.store AND m.id = v.memory AND m.embedded) GROUP BY v.store`},
	{"rows that belong to no store and are not scheduled for removal", `SELECT x.store, count(*) FROM (
			SELECT store FROM memento.memories UNION ALL SELECT store FROM memento.versions UNION ALL SELECT store FROM memento.counters) x
		WHERE NOT EXISTS (SELECT 1 FROM memento.stores s WHERE s.num = x.store)
		AND NOT EXISTS (SELECT 1 FROM memento.removals r WHERE r.store = x.store) GROUP BY x.store`},
}

// Verify checks the tables for rows that contradict each other. It returns a sentence for
// each finding, all of one moment. It reads everything, and blocks no other process.
func (b *Backend) Verify(ctx context.Context) (findings []string, err error) {
	const op = "verify"
	err = b.retry(ctx, func(ctx context.Context) error {
		findings = nil
		conn, err := b.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return b.verify(ctx, conn, &findings)
	})
	if err != nil {
		return nil, fail(op, err)
	}
	return findings, nil
}

func (b *Backend) verify(ctx context.Context, conn *pgxpool.Conn, findings *[]string) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, conn, options, func(t pgx.Tx) error {
		for _, c := range checks {
			rows, err := t.Query(ctx, b.sql(`SELECT coalesce(s.id, ''), f.n FROM (`+c.query+`) f (store, n) LEFT JOIN memento.stores s ON s.num = f.store ORDER BY f.store`))
			if err != nil {
				return err
			}
			var store string
			var n int64
			_, err = pgx.ForEachRow(rows, []any{&store, &n}, func() error {
				*findings = append(*findings, fmt.Sprintf("%s has %d %s", cmp.Or(store, "a deleted store"), n, c.finding))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
