package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"memento"
	"memento/backend/textindex"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PostgreSQL's text search finds candidates and ranks them. Package textindex decides which
// of them match. See index.go for how the index is updated.

const (
	defaultMatches = 20
	maxMatches     = 1 << 29 // more than any store has
)

// indexAttempts is how often a search updates the index before it locks the store.
const indexAttempts = 3

// Search implements [memento.Searcher].
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	q := textindex.Parse(opts.Query)
	opts.Limit = min(cmp.Or(opts.Limit, defaultMatches), maxMatches)
	if q.Empty() {
		return nil, b.exists(ctx, op, store)
	}
	var matches []memento.Match
	err := b.withStore(ctx, op, store, func(k knownStore) (err error) {
		matches, err = b.searchStore(ctx, k, q, opts)
		return err
	})
	return matches, fail(op, err)
}

func (b *Backend) searchStore(ctx context.Context, k knownStore, q textindex.Query, opts memento.SearchOptions) (matches []memento.Match, err error) {
	for range indexAttempts {
		var stale bool
		err := b.retry(ctx, func(ctx context.Context) error {
			conn, err := b.pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			g := b.watch(conn.Conn())
			begin := new(pgx.Batch)
			begin.Queue(beginSnapshot)
			matches, stale, err = b.search(ctx, conn, begin, k.num, q, opts)
			return g.stop(err)
		})
		if err != nil || !stale {
			return matches, err
		}
		if err := b.updateIndex(ctx, k.info.ID); err != nil {
			return nil, err
		}
	}
	return b.searchLocked(ctx, k.num, q, opts)
}

const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// searchLocked updates the index and searches while no other process can write to the
// store.
func (b *Backend) searchLocked(ctx context.Context, store int64, q textindex.Query, opts memento.SearchOptions) (matches []memento.Match, err error) {
	err = b.transact(ctx, func(ctx context.Context, t *tx) error {
		first := t.begin()
		t.queueLock(first, store)
		if err := t.send(ctx, first); err != nil {
			return err
		}
		for more := true; more; {
			writes, err := b.indexStep(ctx, t, store)
			if err != nil {
				return err
			}
			if more = writes != nil; more {
				if err := t.send(ctx, writes); err != nil {
					return err
				}
			}
		}
		t.do(`SELECT 1`) // so that the index updates are committed
		matches, _, err = b.search(ctx, t.conn, new(pgx.Batch), store, q, opts)
		return err
	})
	return matches, err
}

// spareCandidates is how many candidates are checked at first, in addition to the requested
// number of matches. If too few match, all are checked.
const spareCandidates = 30

// candidates finds the candidates in order of rank. The subquery with OFFSET 0 keeps
// PostgreSQL's planner, which may not know yet that a store has grown large, from scanning
// all its memories for each hit.
const candidates = `WITH hits AS MATERIALIZED (
		SELECT w.memory, ts_rank(w.doc, $2::tsquery, 1) AS rank FROM memento.words w WHERE w.doc @@ $2::tsquery
		UNION ALL SELECT w.memory, 0 FROM memento.words w WHERE w.store = $1 AND NOT w.whole
	), best AS MATERIALIZED (
		SELECT h.rank, m.* FROM hits h CROSS JOIN LATERAL (
			SELECT * FROM memento.memories WHERE store = $1 AND id = h.memory OFFSET 0) m
		WHERE m.path > $3 AND m.path < $4 ORDER BY h.rank DESC, m.path LIMIT $5
	)
	SELECT ` + contentColumns + ` FROM best m ORDER BY m.rank DESC, m.path`

// search searches in one or two round trips, and reports whether the index was stale at
// that moment. batch begins the transaction; if it is empty, the caller has begun one.
func (b *Backend) search(ctx context.Context, c *pgxpool.Conn, batch *pgx.Batch, store int64, q textindex.Query, opts memento.SearchOptions) (matches []memento.Match, stale bool, err error) {
	begun := batch.Len() > 0
	low, high := rangeBelow(opts.Dir)
	limit := opts.Limit + spareCandidates
	if !storable(low) {
		low, high = "0", "0" // no path is in this range
	}
	seen, all := 0, false
	for !all {
		matches, seen = nil, 0
		known := false
		batch.Queue(b.sql(`SELECT i.seq < c.last_seq FROM memento.counters c JOIN memento.indexed i ON i.store = c.store WHERE c.store = $1`), store).
			QueryRow(func(row pgx.Row) error {
				err := row.Scan(&stale)
				known = err == nil
				if noRows(err) {
					err = nil
				}
				return err
			})
		batch.Queue(b.sql(candidates), store, tsquery(store, q), low, high, limit).Query(func(rows pgx.Rows) error {
			var row memoryRow
			var text []byte
			var same bool
			targets := row.targets(&text, &same)
			for !stale && rows.Next() {
				row.read, text = nil, nil
				if err := rows.Scan(targets...); err != nil {
					return err
				}
				seen++
				m, err := row.withContents("search", string(text), same)
				if err != nil {
					return err
				}
				contents := m.Content
				m.Content = ""
				if m.Digest != "" {
					contents = ""
				}
				if line, snippet, ok := q.Match(string(m.Path), contents); ok && len(matches) < opts.Limit {
					matches = append(matches, memento.Match{Memory: m, Line: line, Snippet: snippet})
				}
			}
			return rows.Err()
		})
		if begun {
			batch.Queue(`COMMIT`)
		}
		if err := c.SendBatch(ctx, batch).Close(); err != nil {
			return nil, false, err
		}
		if !known {
			return nil, false, errGone
		}
		all = stale || len(matches) == opts.Limit || seen < limit
		limit = 1 << 30
		batch = new(pgx.Batch)
		if begun {
			batch.Queue(beginSnapshot)
		}
	}
	return matches, stale, nil
}

// tsquery returns the query for candidates: memories with all words of the query, adjacent
// or not.
func tsquery(store int64, q textindex.Query) string {
	var terms []string
	for words := range q.Phrases() {
		for i, w := range words {
			term := `'` + lexeme(store, w) + `'`
			if i == len(words)-1 {
				term += `:*`
			}
			terms = append(terms, term)
		}
	}
	return strings.Join(terms, " & ")
}

// maxWord is how much of a word is indexed, in bytes. Longer words are compared by
// textindex.
const maxWord = 200

// lexeme returns a word of a store as it is in the index. Words have only letters and
// digits, so nothing needs escaping.
func lexeme(store int64, word string) string {
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "")
	}
	return fmt.Sprintf("%d:%s", store, word)
}
