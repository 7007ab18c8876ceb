package pgstore

import (
	"context"
	"errors"
	"math"

	"memento"
	"memento/backend/textindex"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Search implements [memento.Searcher].
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	found, err := b.index.Search(ctx, store, opts)
	return found, fail("search", err)
}

const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// View implements textindex.Storage.
func (s indexStorage) View(ctx context.Context, store memento.StoreID, do func(context.Context, textindex.Snapshot) error) error {
	b := s.b
	return b.withStore(ctx, "search", store, func(k knownStore) error {
		return b.retry(ctx, func(ctx context.Context) error {
			conn, err := b.pool.Acquire(ctx)
			if err != nil {
				return err
			}
			now := snapshot{b: b, conn: conn, store: k.num}
			begin := new(pgx.Batch)
			begin.Queue(beginSnapshot)
			begin.Queue(b.sql(`SELECT c.last_seq, c.memories, i.revision, coalesce(v.id, '') FROM memento.counters c JOIN memento.indexed i ON i.store = c.store
					LEFT JOIN memento.versions v ON v.store = c.store AND v.seq = c.last_seq WHERE c.store = $1`), k.num).
				QueryRow(func(row pgx.Row) error {
					if err := row.Scan(&now.seq, &now.memories, &now.revision, &now.newest); !noRows(err) {
						return err
					}
					return errGone
				})
			g := b.watch(conn.Conn())
			err = g.stop(conn.SendBatch(ctx, begin).Close())
			if err == nil {
				err = do(ctx, now)
			}
			now.end()
			return err
		})
	})
}

// A snapshot is a store within a transaction, for the search index.
type snapshot struct {
	b                              *Backend
	conn                           *pgxpool.Conn
	store, seq, memories, revision int64
	newest                         string // ID of the newest version
}

var _ textindex.Snapshot = snapshot{}

// end ends the transaction, and gives the connection back. Nobody waits for that: the
// transaction has written nothing.
func (n snapshot) end() {
	c := n.conn.Conn()
	if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		n.conn.Release()
		return
	}
	go func() {
		defer n.conn.Release()
		ctx, cancel := context.WithTimeout(context.Background(), rollBackTime)
		defer cancel()
		if _, err := c.Exec(ctx, `ROLLBACK`); err != nil {
			_ = c.PgConn().Conn().Close() // the pool drops it
		}
	}()
}

func (n snapshot) Seq() int64      { return n.seq }
func (n snapshot) Memories() int64 { return n.memories }
func (n snapshot) Revision() int64 { return n.revision }
func (n snapshot) Long()           {}

// rows passes each row of a query to scan.
func (n snapshot) rows(ctx context.Context, scan func(pgx.Rows) error, query string, args ...any) error {
	g := n.b.watch(n.conn.Conn())
	rows, err := n.conn.Query(ctx, n.b.sql(query), args...)
	if err != nil {
		return g.stop(err)
	}
	defer rows.Close()
	for err == nil && rows.Next() {
		err = scan(rows)
	}
	rows.Close()
	if err == nil {
		err = rows.Err()
	}
	return g.stop(err)
}

func (n snapshot) Version(ctx context.Context, seq int64) (memento.VersionID, error) {
	if seq == n.seq {
		return memento.VersionID(n.newest), nil
	}
	id := ""
	err := n.rows(ctx, func(r pgx.Rows) error { return r.Scan(&id) }, `SELECT id FROM memento.versions WHERE store = $1 AND seq = $2`, n.store, seq)
	return memento.VersionID(id), err
}

func (n snapshot) Kept(ctx context.Context, seqs []int64) (map[int64]bool, error) {
	kept := map[int64]bool{}
	err := n.rows(ctx, func(r pgx.Rows) error {
		var seq int64
		err := r.Scan(&seq)
		kept[seq] = true
		return err
	}, `SELECT seq FROM memento.versions WHERE store = $1 AND seq = ANY ($2::bigint[]) AND path <> ''`, n.store, seqs)
	return kept, err
}

func (n snapshot) Stored(ctx context.Context) (stored textindex.StoredIndex, err error) {
	err = n.rows(ctx, func(r pgx.Rows) error { return r.Scan(&stored.Seq) }, `SELECT seq FROM memento.indexed WHERE store = $1`, n.store)
	if err != nil {
		return stored, err
	}
	err = n.rows(ctx, func(r pgx.Rows) error {
		var s textindex.StoredSegment
		err := r.Scan(&s.ID, &s.Dead)
		stored.Segments = append(stored.Segments, s)
		return err
	}, `SELECT id, dead FROM memento.search_segments WHERE store = $1 AND state = 1 ORDER BY id`, n.store)
	return stored, err
}

func (n snapshot) Block(ctx context.Context, id textindex.SegmentID, number int) (block []byte, err error) {
	err = n.rows(ctx, func(r pgx.Rows) error { return r.Scan(&block) }, blockQuery, n.store, int64(id), number)
	if err == nil && block == nil {
		err = textindex.ErrIndex
	}
	return block, err
}

func (n snapshot) Changed(ctx context.Context, seq int64, limit int) (changes []textindex.Change, err error) {
	err = n.rows(ctx, func(r pgx.Rows) error {
		var c textindex.Change
		var memory string
		err := r.Scan(&memory, &c.Seq, &c.First, &c.Size)
		c.Memory = memento.MemoryID(memory)
		changes = append(changes, c)
		return err
	}, `SELECT memory, seq, operation = 'created' AND NOT imported AS first, size FROM memento.versions WHERE store = $1 AND seq > $2
		UNION ALL SELECT memory, seq, false, 0 FROM memento.search_deletions WHERE store = $1 AND seq > $2
		ORDER BY seq LIMIT $3`, n.store, seq, limit)
	return changes, err
}

// idsOf returns IDs as an argument of a query.
func idsOf(ids []memento.MemoryID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return texts
}

func (n snapshot) Texts(ctx context.Context, ids []memento.MemoryID) (map[memento.MemoryID]textindex.Text, error) {
	texts := map[memento.MemoryID]textindex.Text{}
	err := n.rows(ctx, func(r pgx.Rows) error {
		var id, path string
		var text textindex.Text
		var contents []byte
		err := r.Scan(&id, &path, &text.Seq, &contents)
		text.Path, text.Contents = memento.Path(path), string(contents)
		texts[memento.MemoryID(id)] = text
		return err
	}, `SELECT m.id, m.path, m.seq, CASE WHEN m.digest = '' THEN t.data END FROM unnest($2::text[]) u (id)
		CROSS JOIN LATERAL (SELECT * FROM memento.memories WHERE store = $1 AND id = u.id OFFSET 0) m
		LEFT JOIN memento.contents t ON t.store = m.store AND t.seq = m.content`, n.store, idsOf(ids))
	return texts, err
}

func (n snapshot) Lookup(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]textindex.Found, error) {
	found := map[memento.MemoryID]textindex.Found{}
	err := n.rows(ctx, func(r pgx.Rows) error {
		var row memoryRow
		var text, kind, id, key []byte
		var same bool
		if err := r.Scan(row.targets(&text, &same, &kind, &id, &key)...); err != nil {
			return err
		}
		m, err := row.withContents("search", string(text), same)
		damaged := errors.Is(err, memento.ErrDamaged)
		switch {
		case damaged:
			m = row.memory()
		case err != nil:
			return err
		}
		if m.Digest != "" {
			m.Content = "" // only its path is indexed
		}
		found[m.ID] = textindex.Found{
			Memory: m, Damaged: damaged,
			Actor: memento.Actor{Kind: memento.ActorKind(kind), ID: string(id), Key: memento.KeyID(key)},
		}
		return nil
	}, `SELECT `+textColumn+`, coalesce(v.id = m.version AND v.memory = m.id AND v.path = m.path, false), v.actor_kind, v.actor_id, v.actor_key
		FROM unnest($2::text[]) u (id)
		CROSS JOIN LATERAL (SELECT * FROM memento.memories WHERE store = $1 AND id = u.id OFFSET 0) m
		LEFT JOIN LATERAL (SELECT * FROM memento.versions WHERE store = m.store AND seq = m.seq OFFSET 0) v ON true`, n.store, idsOf(ids))
	return found, err
}

// Meeting implements textindex.Snapshot.
func (n snapshot) Meeting(ctx context.Context, c textindex.Condition, seqs []int64) (meeting []int64, err error) {
	since := int64(math.MinInt64)
	if !c.Since.IsZero() {
		since = c.Since.UnixMicro()
	}
	scan := func(r pgx.Rows) error {
		var seq int64
		err := r.Scan(&seq)
		meeting = append(meeting, seq)
		return err
	}
	const meets = `created_at >= $2 AND ($3 = ''::bytea OR $3 IN (actor_id, actor_kind, actor_key, actor_kind || ' '::bytea || actor_id))`
	if textindex.IsDense(seqs) {
		err = n.rows(ctx, scan, `SELECT seq FROM memento.versions WHERE store = $1 AND `+meets+` AND seq BETWEEN $4 AND $5`,
			n.store, since, []byte(c.By), seqs[0], seqs[len(seqs)-1])
	} else {
		err = n.rows(ctx, scan, `SELECT v.seq FROM unnest($4::bigint[]) u (seq)
			CROSS JOIN LATERAL (SELECT * FROM memento.versions WHERE store = $1 AND seq = u.seq OFFSET 0) v WHERE `+meets,
			n.store, since, []byte(c.By), seqs)
	}
	return meeting, err
}
