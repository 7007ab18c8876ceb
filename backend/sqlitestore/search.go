package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"

	"memento"
	"memento/backend/textindex"

	"zombiezen.com/go/sqlite"
)

// Search implements [memento.Searcher].
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	return b.index.Search(ctx, store, opts)
}

// View implements textindex.Storage.
func (s indexStorage) View(ctx context.Context, store memento.StoreID, do func(context.Context, textindex.Snapshot) error) error {
	const op = "search"
	_, err := readAtFirst(ctx, s.b, op, func(c *conn, long func()) (struct{}, error) {
		num, err := s.b.storeNum(c, op, store)
		if err != nil {
			return struct{}{}, err
		}
		defer c.SetInterrupt(c.SetInterrupt(ctx.Done()))
		err = c.inTx(func() error {
			now := snapshot{conn: c, store: num, long: long}
			known, err := c.one(`SELECT last_seq, memories, index_revision FROM counters WHERE store = ?`, func(s *sqlite.Stmt) {
				now.seq, now.memories, now.revision = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)
			}, num)
			switch {
			case err != nil:
				return err
			case !known:
				return errNoStore(op)
			}
			return do(ctx, now)
		})
		if ctx.Err() != nil {
			err = ctx.Err() // rather than that SQLite was interrupted
		}
		return struct{}{}, err
	})
	return err
}

// A snapshot is a store within a transaction, for the search index.
type snapshot struct {
	conn                    *conn
	long                    func()
	store                   int64
	seq, memories, revision int64
}

var (
	_ textindex.Snapshot      = snapshot{}
	_ textindex.VersionReader = snapshot{}
)

func (n snapshot) Seq() int64      { return n.seq }
func (n snapshot) Memories() int64 { return n.memories }
func (n snapshot) Revision() int64 { return n.revision }
func (n snapshot) Long()           { n.long() }

func (n snapshot) Version(_ context.Context, seq int64) (id memento.VersionID, err error) {
	_, err = n.conn.one(`SELECT id FROM versions WHERE store = ? AND seq = ?`, func(s *sqlite.Stmt) { id = memento.VersionID(s.ColumnText(0)) }, n.store, seq)
	return id, err
}

func (n snapshot) Kept(_ context.Context, seqs []int64) (map[int64]bool, error) {
	kept := map[int64]bool{}
	for _, seq := range seqs {
		exists, err := n.conn.one(`SELECT 1 FROM versions WHERE store = ? AND seq = ? AND path IS NOT NULL`, nil, n.store, seq)
		if err != nil {
			return nil, err
		}
		if exists {
			kept[seq] = true
		}
	}
	return kept, nil
}

func (n snapshot) Stored(context.Context) (stored textindex.StoredIndex, err error) {
	_, err = n.conn.one(`SELECT indexed_seq FROM counters WHERE store = ?`, func(s *sqlite.Stmt) { stored.Seq = s.ColumnInt64(0) }, n.store)
	if err != nil {
		return stored, err
	}
	err = n.conn.all(`SELECT id, dead FROM search_segments WHERE store = ? AND state = 1 ORDER BY id`, func(s *sqlite.Stmt) bool {
		stored.Segments = append(stored.Segments, textindex.StoredSegment{ID: textindex.SegmentID(s.ColumnInt64(0)), Dead: bytesAt(s, 1)})
		return true
	}, n.store)
	return stored, err
}

func (n snapshot) Block(_ context.Context, id textindex.SegmentID, number int) ([]byte, error) {
	return readBlock(n.conn, id, number)
}

func (n snapshot) Changed(_ context.Context, seq int64, limit int) (changes []textindex.Change, err error) {
	err = n.conn.all(`SELECT memory, seq, prev = 0 AND imported = 0, coalesce(size, 0) FROM versions WHERE store = ?1 AND seq > ?2
			UNION ALL SELECT memory, seq, 0, 0 FROM search_deletions WHERE store = ?1 AND seq > ?2
			ORDER BY seq LIMIT ?3`, func(s *sqlite.Stmt) bool {
		changes = append(changes, textindex.Change{
			Memory: memento.MemoryID(s.ColumnText(0)), Seq: s.ColumnInt64(1), First: s.ColumnBool(2), Size: s.ColumnInt64(3),
		})
		return true
	}, n.store, seq, limit)
	return changes, err
}

// memoriesByID are the memories of a store, the first argument, with the IDs in a JSON array,
// the second one. Left to itself, SQLite would read all memories of the store.
const memoriesByID = ` FROM json_each(?2) wanted
		CROSS JOIN memories m INDEXED BY memories_by_id ON m.store = ?1 AND m.id = wanted.value `

func arrayOf[T memento.MemoryID | int64](all []T) string {
	array, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return string(array)
}

func (n snapshot) Texts(ctx context.Context, ids []memento.MemoryID) (map[memento.MemoryID]textindex.Text, error) {
	texts := make(map[memento.MemoryID]textindex.Text, len(ids))
	err := n.conn.all(`SELECT m.id, m.path, m.seq, iif(m.digest = '', t.data, '')`+memoriesByID+`
			LEFT JOIN contents t ON t.id = m.content`, func(s *sqlite.Stmt) bool {
		texts[memento.MemoryID(s.ColumnText(0))] = textindex.Text{
			Path: memento.Path(s.ColumnText(1)), Seq: s.ColumnInt64(2), Contents: s.ColumnText(3),
		}
		return true
	}, n.store, arrayOf(ids))
	return texts, cmp.Or(err, ctx.Err())
}

// VersionTexts implements textindex.VersionReader.
func (n snapshot) VersionTexts(ctx context.Context, seqs []int64) (map[int64]textindex.Text, error) {
	wanted, err := json.Marshal(seqs)
	if err != nil {
		return nil, err
	}
	texts := make(map[int64]textindex.Text, len(seqs))
	err = n.conn.all(`SELECT v.seq, v.path, iif(v.digest = '', t.data, '') FROM json_each(?2) wanted
			CROSS JOIN versions v ON v.store = ?1 AND v.seq = wanted.value
			LEFT JOIN contents t ON t.id = v.content WHERE v.content IS NOT NULL AND v.path IS NOT NULL`, func(s *sqlite.Stmt) bool {
		seq := s.ColumnInt64(0)
		texts[seq] = textindex.Text{Path: memento.Path(s.ColumnText(1)), Seq: seq, Contents: s.ColumnText(2)}
		return true
	}, n.store, string(wanted))
	return texts, cmp.Or(err, ctx.Err())
}

func (n snapshot) Lookup(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]textindex.Found, error) {
	found := make(map[memento.MemoryID]textindex.Found, len(ids))
	var failed error
	err := n.conn.all(`SELECT `+contentColumns+`, v.actor_kind, v.actor_id, v.actor_key`+memoriesByID+joinContents, func(s *sqlite.Stmt) bool {
		var f textindex.Found
		f.Memory, failed = scanWithContents(s, "search")
		if f.Damaged = errors.Is(failed, memento.ErrDamaged); f.Damaged {
			failed = nil
		}
		if actors {
			f.Actor = memento.Actor{
				Kind: memento.ActorKind(s.ColumnText(memoryColumnCount + 2)),
				ID:   s.ColumnText(memoryColumnCount + 3),
				Key:  memento.KeyID(s.ColumnText(memoryColumnCount + 4)),
			}
		}
		if f.Damaged || f.Memory.Digest != "" {
			f.Memory.Content = "" // only its path is indexed
		}
		found[f.Memory.ID] = f
		return failed == nil
	}, n.store, arrayOf(ids))
	if err = cmp.Or(err, failed, ctx.Err()); err != nil {
		return nil, err
	}
	return found, nil
}

func (n snapshot) Meeting(ctx context.Context, c textindex.Condition, seqs []int64) (meeting []int64, err error) {
	since := int64(math.MinInt64)
	if !c.Since.IsZero() {
		since = c.Since.UnixMicro()
	}
	const meets = ` AND created_at >= ?2 AND (?3 = '' OR ?3 IN (actor_id, actor_kind, actor_key, actor_kind || ' ' || actor_id))`
	scan := func(s *sqlite.Stmt) bool {
		meeting = append(meeting, s.ColumnInt64(0))
		return true
	}
	if textindex.IsDense(seqs) {
		err = n.conn.all(`SELECT seq FROM versions WHERE store = ?1`+meets+` AND seq BETWEEN ?4 AND ?5`, scan,
			n.store, since, c.By, seqs[0], seqs[len(seqs)-1])
	} else {
		err = n.conn.all(`SELECT seq FROM json_each(?4) wanted CROSS JOIN versions ON store = ?1 AND seq = wanted.value`+meets, scan,
			n.store, since, c.By, arrayOf(seqs))
	}
	return meeting, cmp.Or(err, ctx.Err())
}
