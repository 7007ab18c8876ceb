package pgstore

import (
	"context"
	"strconv"
	"strings"

	"memento"
	"memento/backend/textindex"

	"github.com/jackc/pgx/v5"
)

// The search index is not updated by writes. A search first indexes the versions written
// since the last search.

// indexRows is how many versions are indexed in one transaction.
const indexRows = 256

// updateIndex brings the index of a store up to date, in steps, so that other writers need
// not wait long.
func (b *Backend) updateIndex(ctx context.Context, store memento.StoreID) error {
	return b.withStore(ctx, "index", store, func(k knownStore) error {
		for more := true; more; {
			err := b.transact(ctx, func(ctx context.Context, t *tx) (err error) {
				first := t.begin()
				t.queueStamp(first)
				if err := t.send(ctx, first); err != nil {
					return err
				}
				t.last, err = b.indexStep(ctx, t, k.num)
				more = t.last != nil
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// indexStep returns the statements that index the next versions of a store; nil if the
// index is up to date.
func (b *Backend) indexStep(ctx context.Context, t *tx, store int64) (writes *pgx.Batch, err error) {
	var from, last int64
	var memories []string
	seen := map[string]bool{}
	rows := 0
	look := new(pgx.Batch)
	look.Queue(b.sql(`SELECT seq FROM memento.indexed WHERE store = $1 FOR UPDATE`), store).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&from); !noRows(err) {
			return err
		}
		return errGone
	})
	// This must come before the versions: the next statement sees all versions up to
	// last_seq.
	look.Queue(b.sql(`SELECT last_seq FROM memento.counters WHERE store = $1`), store).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&last); !noRows(err) {
			return err
		}
		return errGone
	})
	var newest int64
	look.Queue(b.sql(`SELECT memory, seq FROM memento.versions
			WHERE store = $1 AND seq > (SELECT seq FROM memento.indexed WHERE store = $1) ORDER BY seq LIMIT $2`), store, indexRows).Query(func(found pgx.Rows) error {
		var memory string
		_, err := pgx.ForEachRow(found, []any{&memory, &newest}, func() error {
			rows++
			if !seen[memory] {
				seen[memory] = true
				memories = append(memories, memory)
			}
			return nil
		})
		return err
	})
	if err := t.send(ctx, look); err != nil {
		return nil, err
	}
	if rows < indexRows {
		newest = max(newest, last) // the others were pruned
	}
	if newest <= from {
		return nil, nil
	}
	writes = new(pgx.Batch)
	if rows > 0 {
		if err := b.indexMemories(ctx, t, store, memories, seen, writes); err != nil {
			return nil, err
		}
	}
	writes.Queue(b.sql(`UPDATE memento.indexed SET seq = $2 WHERE store = $1`), store, newest)
	return writes, nil
}

// indexMemories queues statements that make the index match the present contents of
// memories. missing initially has all of them.
func (b *Backend) indexMemories(ctx context.Context, t *tx, store int64, memories []string, missing map[string]bool, writes *pgx.Batch) error {
	var ids, docs []string
	var whole []bool
	look := new(pgx.Batch)
	// The lock keeps these memories from being deleted before their words are written, so
	// that a deletion also deletes the words. Edits need not wait.
	look.Queue(b.sql(`SELECT m.id, m.path, CASE WHEN m.digest = '' THEN t.data END FROM memento.memories m
			LEFT JOIN memento.contents t ON t.store = m.store AND t.seq = m.content
			WHERE m.store = $1 AND m.id = ANY ($2::text[]) FOR KEY SHARE OF m`), store, memories).Query(func(rows pgx.Rows) error {
		var id, path string
		var text []byte
		_, err := pgx.ForEachRow(rows, []any{&id, &path, &text}, func() error {
			delete(missing, id)
			doc, all := document(store, path, string(text))
			ids, docs, whole = append(ids, id), append(docs, doc), append(whole, all)
			text = nil
			return nil
		})
		return err
	})
	if err := t.send(ctx, look); err != nil {
		return err
	}
	if len(ids) > 0 {
		writes.Queue(b.sql(`INSERT INTO memento.words (store, memory, doc, whole)
			SELECT $1, u.memory, u.doc::tsvector, u.whole FROM unnest($2::text[], $3::text[], $4::boolean[]) u (memory, doc, whole)
			ON CONFLICT (store, memory) DO UPDATE SET doc = excluded.doc, whole = excluded.whole`), store, ids, docs, whole)
	}
	if len(missing) > 0 {
		var deleted []string
		for id := range missing {
			deleted = append(deleted, id)
		}
		writes.Queue(b.sql(removeWords), store, deleted)
	}
	return nil
}

// Limits of a tsvector: a megabyte in all, positions up to 16383, and at most 255 positions
// of a word. Source: PostgreSQL documentation, 12.11.
const (
	maxDocument  = 700 << 10 // bytes of words, below the limit for safety
	maxPosition  = 16383
	maxPositions = 32 // positions of a word; more do not change the ranking
)

// document returns the words of a memory as the text of a tsvector, and whether it has all
// words. Words of the path have a higher weight.
func document(store int64, path, contents string) (doc string, whole bool) {
	positions := map[string][]byte{}
	counts := map[string]int{}
	var order []string
	size, at := 0, 0
	take := func(text, weight string) bool {
		for w := range textindex.Words(text) {
			word := lexeme(store, w.Text)
			p, known := positions[word]
			if !known {
				if size += len(word) + 4; size > maxDocument {
					return false
				}
				order = append(order, word)
			}
			at++
			if counts[word] < maxPositions {
				size += 2
				if counts[word]++; len(p) > 0 {
					p = append(p, ',')
				}
				p = strconv.AppendInt(p, int64(min(at, maxPosition)), 10)
				positions[word] = append(p, weight...)
			}
		}
		return true
	}
	if !take(path, "A") || !take(contents, "") {
		return "", false
	}
	var b strings.Builder
	for _, word := range order {
		b.WriteString(`'` + word + `':`)
		b.Write(positions[word])
		b.WriteByte(' ')
	}
	return b.String(), true
}
