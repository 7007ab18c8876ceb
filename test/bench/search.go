package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend/textindex"
	"memento/test/bench/retrieval"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A searchRow is how well one engine answers the queries of one data set.
type searchRow struct {
	data, engine string
	kind         string // of the queries; "" for all of them
	figures      retrieval.Figures
	indexBytes   int64 // 0 if unknown
}

// searchDepth is how many results of each query count.
const searchDepth = 1000

// A searcher answers queries of a data set. Texts are found by their IDs.
type searcher interface {
	search(ctx context.Context, q retrieval.Text) (found []string, shown []int, err error)
	indexBytes() (int64, error)
	close() error
}

// measureSearch asks each engine the queries of each data set.
func (b *bench) measureSearch(ctx context.Context, r *report) error {
	if len(b.data) == 0 {
		return errors.New("-data: no folder with corpus.jsonl, queries.jsonl and qrels.tsv")
	}
	for _, folder := range b.data {
		d, err := retrieval.Load(folder)
		if err != nil {
			return err
		}
		for _, engine := range b.engines {
			open, known := searchEngines[engine]
			if !known {
				return fmt.Errorf("-engines: unknown engine %q", engine)
			}
			rows, err := measureEngine(ctx, d, engine, filepath.Join(b.work, engine+"-"+d.Name), open)
			if err != nil {
				return fmt.Errorf("%s: %w", engine, err)
			}
			r.search = append(r.search, rows...)
			fmt.Fprintf(b.progress, "%s on %s: MAP %.4f, nDCG@10 %.4f\n", engine, d.Name, rows[0].figures.MAP, rows[0].figures.NDCG10)
		}
	}
	return nil
}

// measureEngine returns the row of all queries, and one for each kind of them.
func measureEngine(ctx context.Context, d *retrieval.Dataset, engine, path string, open searchEngine) (rows []searchRow, err error) {
	s, err := open(ctx, d, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, _, err := s.search(ctx, d.Queries[0]); err != nil { // completes the index
		return nil, err
	}
	var results []retrieval.Result
	for _, q := range d.Queries {
		start := time.Now()
		found, shown, err := s.search(ctx, q)
		if err != nil {
			return nil, err
		}
		results = append(results, retrieval.Result{Query: q, Found: found, Shown: shown, Took: time.Since(start)})
	}
	size, err := s.indexBytes()
	rows = append(rows, searchRow{data: d.Name, engine: engine, figures: d.Evaluate(results), indexBytes: size})
	for _, kind := range d.Kinds() {
		of := slices.DeleteFunc(slices.Clone(results), func(r retrieval.Result) bool { return r.Query.Kind != kind })
		rows = append(rows, searchRow{data: d.Name, engine: engine, kind: kind, figures: d.Evaluate(of)})
	}
	return rows, err
}

// stores are a backend with a store for each group of a data set.
type stores struct {
	backend memento.Backend
	ids     map[string]memento.StoreID
	size    func() (int64, error) // of the index, in bytes; nil if nothing is stored
}

// fillStores returns a backend with a data set. It closes the backend if it returns an error.
func fillStores(ctx context.Context, d *retrieval.Dataset, b memento.Backend, size func() (int64, error)) (searcher, error) {
	s := &stores{b, map[string]memento.StoreID{}, size}
	var changes []memento.Change
	write := func(group string) error {
		if len(changes) == 0 {
			return nil
		}
		_, err := b.Apply(ctx, s.ids[group], memento.Actor{}, changes)
		changes = nil
		return err
	}
	group := ""
	for _, t := range d.Corpus {
		if t.Group != group || len(changes) == 500 {
			if err := write(group); err != nil {
				return nil, errors.Join(err, b.Close())
			}
		}
		group = t.Group
		if s.ids[group] == "" {
			info, err := b.CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{Name: "group " + group, Limits: memento.Limits{Memories: 1_000_000, Bytes: 10 << 30}})
			if err != nil {
				return nil, errors.Join(err, b.Close())
			}
			s.ids[group] = info.ID
		}
		text := t.Text
		if t.Title != "" {
			text = "# " + t.Title + "\n" + text
		}
		changes = append(changes, memento.Put{Path: pathOf(t.ID), Content: text})
	}
	if err := write(group); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return s, nil
}

// pathOf returns a path that says nothing but the ID of a text.
func pathOf(id string) memento.Path { return memento.Path("/" + strings.ReplaceAll(id, "/", "∕")) }

func (s *stores) search(ctx context.Context, q retrieval.Text) (found []string, shown []int, err error) {
	matches, err := s.backend.(memento.Searcher).Search(ctx, s.ids[q.Group], memento.SearchOptions{Query: q.Text, Limit: searchDepth})
	for _, m := range matches {
		found = append(found, strings.ReplaceAll(string(m.Memory.Path[1:]), "∕", "/"))
		shown = append(shown, len(m.Memory.Path)+len(m.Passage.Text))
	}
	return found, shown, err
}

func (s *stores) indexBytes() (int64, error) {
	if s.size == nil {
		return 0, nil
	}
	return s.size()
}

func (s *stores) close() error { return s.backend.Close() }

// tableBytes returns the first column of a query on a SQLite file.
func tableBytes(file, query string) (n int64, err error) {
	c, err := sqlite.OpenConn(file, sqlite.OpenReadOnly)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = sqlitex.ExecuteTransient(c, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}

// plainFTS5 is an index of SQLite with its own ranking, asked for any word.
type plainFTS5 struct {
	conn *sqlite.Conn
	file string
}

func openFTS5(tokenizer string) searchEngine {
	return func(ctx context.Context, d *retrieval.Dataset, path string) (_ searcher, err error) {
		f := &plainFTS5{file: path}
		if f.conn, err = sqlite.OpenConn(path); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, f.conn.Close())
			}
		}()
		if err := sqlitex.ExecuteScript(f.conn, `CREATE VIRTUAL TABLE texts USING fts5 (id UNINDEXED, grp UNINDEXED, body, tokenize = '`+tokenizer+`')`, nil); err != nil {
			return nil, err
		}
		if err := sqlitex.ExecuteTransient(f.conn, `BEGIN`, nil); err != nil {
			return nil, err
		}
		for _, t := range d.Corpus {
			err := sqlitex.Execute(f.conn, `INSERT INTO texts VALUES (?, ?, ?)`, &sqlitex.ExecOptions{Args: []any{t.ID, t.Group, t.Title + "\n" + t.Text}})
			if err != nil {
				return nil, err
			}
		}
		return f, sqlitex.ExecuteTransient(f.conn, `COMMIT`, nil)
	}
}

func (f *plainFTS5) search(_ context.Context, q retrieval.Text) (found []string, shown []int, err error) {
	var words []string
	for w := range textindex.Words(q.Text) {
		words = append(words, `"`+w.Text+`"`)
	}
	err = sqlitex.Execute(f.conn, `SELECT id, length(body) FROM texts WHERE texts MATCH ? AND grp = ? ORDER BY rank LIMIT ?`, &sqlitex.ExecOptions{
		Args: []any{strings.Join(slices.Compact(words), " OR "), q.Group, searchDepth},
		ResultFunc: func(s *sqlite.Stmt) error {
			found, shown = append(found, s.ColumnText(0)), append(shown, s.ColumnInt(1))
			return nil
		},
	})
	return found, shown, err
}

func (f *plainFTS5) indexBytes() (int64, error) {
	return tableBytes(f.file, `SELECT sum(pgsize) FROM dbstat WHERE name IN ('texts_data', 'texts_idx', 'texts_docsize')`)
}

func (f *plainFTS5) close() error { return errors.Join(f.conn.Close(), os.Remove(f.file)) }
