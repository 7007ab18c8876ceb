package main

import (
	"context"
	"errors"
	"strings"

	"memento/backend/textindex"
	"memento/test/bench/retrieval"

	"github.com/jackc/pgx/v5"
)

// textSearch is PostgreSQL's own full-text search with its own ranking, asked for any word.
type textSearch struct{ conn *pgx.Conn }

func openTextSearch(ctx context.Context, d *retrieval.Dataset, _ string) (_ searcher, err error) {
	url, err := postgresURL()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close(ctx))
		}
	}()
	// A temporary table goes with the connection.
	if _, err := conn.Exec(ctx, `CREATE TEMPORARY TABLE texts (id text, grp text, body text, words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)`); err != nil {
		return nil, err
	}
	rows := make([][]any, len(d.Corpus))
	for i, t := range d.Corpus {
		rows[i] = []any{t.ID, t.Group, t.Title + "\n" + t.Text}
	}
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"texts"}, []string{"id", "grp", "body"}, pgx.CopyFromRows(rows)); err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `CREATE INDEX texts_words ON texts USING gin (words)`); err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `ANALYZE texts`)
	return &textSearch{conn}, err
}

// search ranks by frequency, divided by 1 plus the logarithm of the length of the text.
func (s *textSearch) search(ctx context.Context, q retrieval.Text) (found []string, shown []int, err error) {
	var words []string
	for w := range textindex.Words(q.Text) {
		words = append(words, "'"+w.Text+"'")
	}
	rows, err := s.conn.Query(ctx, `SELECT id, octet_length(body) FROM texts, to_tsquery('english', $1) query
		WHERE words @@ query AND grp = $2 ORDER BY ts_rank(words, query, 1) DESC, id LIMIT $3`, strings.Join(words, " | "), q.Group, searchDepth)
	if err != nil {
		return nil, nil, err
	}
	var id string
	var size int
	_, err = pgx.ForEachRow(rows, []any{&id, &size}, func() error {
		found, shown = append(found, id), append(shown, size)
		return nil
	})
	return found, shown, err
}

func (s *textSearch) indexBytes() (n int64, err error) {
	err = s.conn.QueryRow(context.Background(), `SELECT pg_relation_size('texts_words')`).Scan(&n)
	return n, err
}

func (s *textSearch) close() error { return s.conn.Close(context.Background()) }
