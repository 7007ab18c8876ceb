package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend/textindex"

	"zombiezen.com/go/sqlite"
)

// The search index is not updated by writes. A search first indexes the versions written
// since the last search. So that the first search after many writes need not index them
// all, the writer also indexes some when it has been idle for a moment.

const defaultMatches = 20

// Search implements [memento.Searcher].
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	q := textindex.Parse(opts.Query)
	opts.Limit = cmp.Or(opts.Limit, defaultMatches)
	for range indexAttempts {
		matches, stale, err := b.searchIndexed(ctx, op, store, q, opts)
		if err != nil || !stale {
			return matches, err
		}
		// In steps, so that other writers need not wait long.
		for stale {
			stale, err = writeIndex(ctx, b.writer, func(t *tx) (more bool, err error) {
				num, err := b.storeNum(t.conn, op, store)
				if err != nil {
					return false, err
				}
				return index(t.conn, num, indexStep)
			})
			if errors.Is(err, memento.ErrNoSpace) {
				return b.searchStaleIndex(ctx, op, store, q, opts)
			}
			if err != nil {
				return nil, fail(op, err)
			}
		}
	}
	// Other processes write faster than that: index and search in one transaction.
	matches, err := writeIndex(ctx, b.writer, func(t *tx) ([]memento.Match, error) {
		num, err := b.storeNum(t.conn, op, store)
		if err != nil {
			return nil, err
		}
		if err := indexAll(t.conn, num); err != nil {
			return nil, err
		}
		return search(ctx, t.conn, num, q, opts)
	})
	return matches, fail(op, err)
}

// indexAttempts is how often a search updates the index before it locks out other writers.
const indexAttempts = 3

// searchIndexed searches if the index is up to date at that moment; otherwise it reports
// that the index is stale.
func (b *Backend) searchIndexed(ctx context.Context, op string, store memento.StoreID, q textindex.Query, opts memento.SearchOptions) (matches []memento.Match, stale bool, err error) {
	matches, err = read(ctx, b, op, func(c *conn) (found []memento.Match, err error) {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return nil, err
		}
		defer c.SetInterrupt(c.SetInterrupt(ctx.Done()))
		err = c.inTx(func() error {
			known, err := c.one(`SELECT indexed_seq < last_seq FROM counters WHERE store = ?`,
				func(s *sqlite.Stmt) { stale = s.ColumnBool(0) }, num)
			switch {
			case err != nil:
				return err
			case !known:
				return errNoStore(op)
			case stale || q.Empty():
				return nil
			}
			found, err = search(ctx, c, num, q, opts)
			return err
		})
		if ctx.Err() != nil {
			err = ctx.Err() // rather than that SQLite was interrupted
		}
		return found, err
	})
	return matches, stale && !q.Empty(), err
}

// searchStaleIndex searches without updating the index, for which there is no space:
// memories that are newer than the index are read.
func (b *Backend) searchStaleIndex(ctx context.Context, op string, store memento.StoreID, q textindex.Query, opts memento.SearchOptions) ([]memento.Match, error) {
	return read(ctx, b, op, func(c *conn) (found []memento.Match, err error) {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return nil, err
		}
		defer c.SetInterrupt(c.SetInterrupt(ctx.Done()))
		err = c.inTx(func() error {
			newer := map[memento.MemoryID]bool{}
			low, high := rangeBelow(opts.Dir)
			var damaged error
			err := c.all(`SELECT `+contentColumns+` FROM memories m JOIN counters c ON c.store = m.store `+joinContents+`
					WHERE `+inRange+` AND m.seq > c.indexed_seq ORDER BY m.seq DESC`,
				func(s *sqlite.Stmt) bool {
					var match memento.Match
					var ok bool
					if match, ok, damaged = matches(q, s); damaged != nil {
						return false
					}
					newer[memento.MemoryID(s.ColumnText(0))] = true
					if ok && len(found) < opts.Limit {
						found = append(found, match)
					}
					return true
				}, num, low, high)
			if err = cmp.Or(err, damaged); err != nil {
				return err
			}
			// Additional matches, in place of newer memories, which the index may find by
			// their former contents.
			all := opts
			all.Limit += len(newer)
			known, err := search(ctx, c, num, q, all)
			for _, match := range known {
				if !newer[match.Memory.ID] && len(found) < opts.Limit {
					found = append(found, match)
				}
			}
			return err
		})
		if ctx.Err() != nil {
			err = ctx.Err() // rather than that SQLite was interrupted
		}
		return found, err
	})
}

// matches reports whether and how the memory in a row of contentColumns matches. Errors:
// those of scanWithContents.
func matches(q textindex.Query, s *sqlite.Stmt) (memento.Match, bool, error) {
	m, err := scanWithContents(s, "search")
	if err != nil {
		return memento.Match{}, false, err
	}
	if m.Digest != "" {
		m.Content = "" // only its path is indexed
	}
	line, snippet, ok := q.Match(string(m.Path), m.Content)
	m.Content = ""
	return memento.Match{Memory: m, Line: line, Snippet: snippet}, ok, nil
}

func search(ctx context.Context, c *conn, store int64, q textindex.Query, opts memento.SearchOptions) (found []memento.Match, err error) {
	low, high := rangeBelow(opts.Dir)
	query := fmt.Sprintf(`store : "%s" AND {path body} : (%s)`, storeWord(store), q.FTS5())
	// FTS5 sorts by rank itself; the other columns are looked up only for as many rows as
	// are needed. A word of the path counts as much as five of the text.
	var damaged error
	err = c.all(`SELECT `+contentColumns+` FROM words
			CROSS JOIN indexed i ON i.doc = words.rowid
			CROSS JOIN memories m ON m.store = i.store AND m.id = i.memory
			`+joinContents+`
			WHERE words MATCH ? AND words.rank MATCH 'bm25(0.0, 5.0, 1.0)' AND m.path > +? AND m.path < +?
			ORDER BY words.rank`,
		func(s *sqlite.Stmt) bool {
			var match memento.Match
			var ok bool
			if match, ok, damaged = matches(q, s); damaged != nil {
				return false
			}
			if ok {
				found = append(found, match)
			}
			return len(found) != opts.Limit && ctx.Err() == nil
		}, query, low, high)
	return found, cmp.Or(err, damaged, ctx.Err())
}

// storeWord is the word that marks the rows of a store in the index.
func storeWord(store int64) string { return fmt.Sprintf("s%d", store) }

// indexStep is how many versions are indexed at a time.
const indexStep = 256

// index indexes at most limit versions of a store, and reports whether there are more.
func index(c *conn, store int64, limit int) (more bool, err error) {
	var memories []memento.MemoryID
	var last int64
	seen := map[memento.MemoryID]bool{}
	n := 0
	err = c.all(`SELECT v.memory, v.seq FROM versions v JOIN counters c ON c.store = v.store
			WHERE v.store = ? AND v.seq > c.indexed_seq ORDER BY v.seq LIMIT ?`,
		func(s *sqlite.Stmt) bool {
			n++
			last = s.ColumnInt64(1)
			if id := memento.MemoryID(s.ColumnText(0)); !seen[id] {
				seen[id] = true
				memories = append(memories, id)
			}
			return true
		}, store, limit)
	if err != nil {
		return false, err
	}
	if n == 0 { // newer versions were pruned
		return false, c.exec(`UPDATE counters SET indexed_seq = last_seq WHERE store = ? AND indexed_seq < last_seq`, store)
	}
	for _, id := range memories {
		if err := indexOne(c, store, id); err != nil {
			return false, err
		}
	}
	return n == limit, c.exec(`UPDATE counters SET indexed_seq = ? WHERE store = ?`, last, store)
}

func indexAll(c *conn, store int64) error {
	for {
		if more, err := index(c, store, indexStep); err != nil || !more {
			return err
		}
	}
}

// indexWhenIdle indexes some versions of one store. It starts with the store of the last
// call: looking through all of them would make each step slower the more stores there are.
func (b *Backend) indexWhenIdle(t *tx) (more bool, err error) {
	store, found, err := firstStaleStore(t.conn, b.lastIndexedStore)
	if err == nil && !found && b.lastIndexedStore > 0 {
		store, found, err = firstStaleStore(t.conn, 0)
	}
	if err != nil || !found {
		return false, err
	}
	b.lastIndexedStore = store
	_, err = index(t.conn, store, indexStep)
	return true, err
}

func firstStaleStore(c *conn, from int64) (store int64, found bool, err error) {
	found, err = c.one(`SELECT store FROM counters WHERE store >= ? AND indexed_seq < last_seq`,
		func(s *sqlite.Stmt) { store = s.ColumnInt64(0) }, from)
	return store, found, err
}

// indexOne makes the index match the present contents of a memory.
func indexOne(c *conn, store int64, id memento.MemoryID) error {
	var doc int64
	known, err := c.one(`SELECT doc FROM indexed WHERE store = ? AND memory = ?`, func(s *sqlite.Stmt) { doc = s.ColumnInt64(0) }, store, id)
	if err != nil {
		return err
	}
	if known {
		if err := c.exec(`DELETE FROM words WHERE rowid = ?`, doc); err != nil {
			return err
		}
	}
	var m memento.Memory
	lives, err := getUnchecked(c, store, id, &m)
	switch {
	case err != nil:
		return err
	case !lives && known:
		return c.exec(`DELETE FROM indexed WHERE doc = ?`, doc)
	case !lives:
		return nil
	case !known:
		if err := c.exec(`INSERT INTO indexed (store, memory) VALUES (?, ?)`, store, id); err != nil {
			return err
		}
		doc = c.LastInsertRowID()
	}
	if m.Digest != "" {
		m.Content = "" // encrypted contents are not indexed
	}
	return c.exec(`INSERT INTO words (rowid, store, path, body) VALUES (?, ?, ?, ?)`,
		doc, storeWord(store), textindex.Normal(string(m.Path)), textindex.Normal(m.Content))
}
