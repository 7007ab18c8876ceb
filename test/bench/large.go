package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend/pgstore"
	"memento/backend/sqlitestore"
	"memento/backend/textindex"
	"memento/test/bench/retrieval"
	"memento/test/cputime"

	"github.com/jackc/pgx/v5"
)

// A largeRow is how one engine does with one large store, from the moment it is filled.
type largeRow struct {
	engine   string
	memories int

	load           time.Duration // to write the memories
	loadProcessor  time.Duration
	behind         int64         // versions that the index lacked then
	first          time.Duration // of a search at that moment
	firstProcessor time.Duration
	creates        quantiles     // right after, one caller
	searches       quantiles     // right after, between the creates
	caughtUp       time.Duration // after the creates

	queries quantiles // questions of the data set
	random  quantiles // six words of the data set
	halves  quantiles // three words, each in half of all memories
	few     quantiles // the same below a directory with few memories
	view    quantiles // of /memories

	indexBytes int64
}

// quantiles are the quantiles of some durations.
type quantiles struct{ p50, p90, p99 time.Duration }

func quantilesOf(all []time.Duration) quantiles {
	if len(all) == 0 {
		return quantiles{}
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[min(len(all)-1, len(all)*percent/100)] }
	return quantiles{at(50), at(90), at(99)}
}

// A largeEngine is a backend whose tables can be looked into.
type largeEngine struct {
	memento.Backend
	behind     func(context.Context) (int64, error)
	indexBytes func(context.Context) (int64, error)
	close      func() error
}

func openLargeSQLite(ctx context.Context, file string) (*largeEngine, error) {
	b, err := sqlitestore.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	return &largeEngine{
		Backend: b,
		behind: func(context.Context) (int64, error) {
			return tableBytes(file, `SELECT last_seq - indexed_seq FROM counters`)
		},
		indexBytes: func(context.Context) (int64, error) {
			return tableBytes(file, `SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'search%'`)
		},
		close: b.Close,
	}, nil
}

func openLargePostgres(ctx context.Context, _ string) (*largeEngine, error) {
	url, err := postgresURL()
	if err != nil {
		return nil, err
	}
	b, err := pgstore.Open(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	number := func(query string) func(context.Context) (int64, error) {
		return func(ctx context.Context) (n int64, err error) {
			err = conn.QueryRow(ctx, query).Scan(&n)
			return n, err
		}
	}
	return &largeEngine{
		Backend:    b,
		behind:     number(`SELECT coalesce(sum(c.last_seq - i.seq), 0)::bigint FROM memento.counters c JOIN memento.indexed i ON i.store = c.store`),
		indexBytes: number(`SELECT pg_total_relation_size('memento.search_blocks')`),
		close:      func() error { return errors.Join(conn.Close(ctx), b.Close()) },
	}, nil
}

var largeEngines = map[string]func(context.Context, string) (*largeEngine, error){
	"sqlite":   openLargeSQLite,
	"postgres": openLargePostgres,
}

// halfWords stand in half of all memories each.
var halfWords = []string{"halfone", "halftwo", "halfthree"}

// A largeText makes memories of random words of a data set, as frequent as they are there.
type largeText struct {
	words   []string
	random  *rand.Rand
	queries []retrieval.Text
}

func newLargeText(d *retrieval.Dataset, seed uint64) *largeText {
	t := &largeText{random: rand.New(rand.NewPCG(seed, 18)), queries: d.Queries}
	for _, text := range d.Corpus {
		t.words = append(t.words, strings.Fields(text.Text)...)
	}
	return t
}

func (t *largeText) some(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = t.words[t.random.IntN(len(t.words))]
	}
	return strings.Join(words, " ")
}

// note returns the change that writes a memory of 60 words.
func (t *largeText) note(dir string, i int) memento.Put {
	text := t.some(20) + "\n" + t.some(20) + "\n" + t.some(20)
	for _, w := range halfWords {
		if t.random.IntN(2) == 0 {
			text += " " + w
		}
	}
	return memento.Put{Path: memento.Path(fmt.Sprintf("/%s/%04d/note%07d.md", dir, i/100, i)), Content: text + "\n"}
}

// measureLarge fills a store of each engine, and searches it.
func (b *bench) measureLarge(ctx context.Context, r *report) error {
	if len(b.data) == 0 {
		return errors.New("-data: no folder with corpus.jsonl, queries.jsonl and qrels.tsv")
	}
	d, err := retrieval.Load(b.data[0])
	if err != nil {
		return err
	}
	for _, engine := range b.engines {
		open := largeEngines[engine]
		if open == nil {
			continue
		}
		for _, memories := range b.sizes {
			e, err := open(ctx, filepath.Join(b.work, fmt.Sprintf("large-%s-%d", engine, memories)))
			if err != nil {
				return err
			}
			row := &largeRow{engine: engine, memories: memories}
			if err := errors.Join(b.measureLargeStore(ctx, e, newLargeText(d, b.seed), row), e.close()); err != nil {
				return fmt.Errorf("%s: %w", engine, err)
			}
			r.large = append(r.large, *row)
		}
	}
	return nil
}

func (b *bench) measureLargeStore(ctx context.Context, e *largeEngine, text *largeText, row *largeRow) error {
	info, err := e.CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{
		Name: fmt.Sprintf("large %d", time.Now().UnixNano()), Limits: memento.Limits{Memories: 10_000_000, Bytes: 100 << 30}})
	if err != nil {
		return err
	}
	search := func(query string) (time.Duration, error) {
		start := time.Now()
		_, err := e.Backend.(memento.Searcher).Search(ctx, info.ID, memento.SearchOptions{Query: query})
		return time.Since(start), err
	}
	progress := func(what string, figure any) {
		fmt.Fprintf(b.progress, "%s, %d memories: %s %v\n", row.engine, row.memories, what, figure)
	}

	processor := cputime.Used()
	for i := 0; i < row.memories; {
		var changes []memento.Change
		for ; len(changes) < 500 && i < row.memories; i++ {
			changes = append(changes, text.note("notes", i))
		}
		start := time.Now() // not making the texts
		if _, err := e.Apply(ctx, info.ID, memento.Actor{}, changes); err != nil {
			return err
		}
		row.load += time.Since(start)
	}
	row.loadProcessor = cputime.Used() - processor
	if row.behind, err = e.behind(ctx); err != nil {
		return err
	}
	progress("loaded in", row.load)
	progress("not indexed then:", row.behind)

	processor = cputime.Used()
	if row.first, err = search(text.queries[0].Text); err != nil {
		return err
	}
	row.firstProcessor = cputime.Used() - processor
	progress("first search", row.first)

	var creates, searches []time.Duration
	for i, end := 0, time.Now().Add(b.createTime()); time.Now().Before(end); i++ {
		change := text.note("created", i)
		start := time.Now()
		if _, err := e.Apply(ctx, info.ID, memento.Actor{}, []memento.Change{change}); err != nil {
			return err
		}
		creates = append(creates, time.Since(start))
		if i%200 == 199 {
			took, err := search(text.some(6))
			if err != nil {
				return err
			}
			searches = append(searches, took)
		}
	}
	row.creates, row.searches = quantilesOf(creates), quantilesOf(searches)
	progress("creates meanwhile", row.creates)
	progress("searches meanwhile", row.searches)

	start := time.Now()
	for {
		behind, err := e.behind(ctx)
		if err != nil {
			return err
		}
		if row.caughtUp = time.Since(start); behind < textindex.FlushVersions {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	progress("index caught up after", row.caughtUp)
	time.Sleep(b.mergeTime())

	measure := func(n int, do func(i int) error) (quantiles, error) {
		var all []time.Duration
		for i := range n {
			start := time.Now()
			if err := do(i); err != nil {
				return quantiles{}, err
			}
			all = append(all, time.Since(start))
		}
		return quantilesOf(all), nil
	}
	query := func(n int, of func(i int) string) (quantiles, error) {
		return measure(n, func(i int) error {
			_, err := search(of(i))
			return err
		})
	}
	rounds := 3
	if b.quick {
		rounds = 1
	}
	questions := func(i int) string { return text.queries[i%len(text.queries)].Text }
	if _, err := query(len(text.queries), questions); err != nil { // fills caches
		return err
	}
	var err1, err2, err3, err4, err5, err6 error
	row.queries, err1 = query(rounds*len(text.queries), questions)
	row.random, err2 = query(100*rounds, func(int) string { return text.some(6) })
	row.halves, err3 = query(20*rounds, func(int) string { return strings.Join(halfWords, " ") })
	row.few, err4 = query(20*rounds, func(int) string { return strings.Join(halfWords, " ") + " dir:/created/0000" })
	tool := memento.NewTool(memento.OpenNamed(e, memento.DefaultWorkspace, memento.StoreSpec{Name: info.Name}, nil), nil)
	row.view, err5 = measure(20*rounds, func(int) error {
		if r := tool.Run(ctx, []byte(`{"command": "view", "path": "/memories"}`)); r.IsError {
			return errors.New(r.Content)
		}
		return nil
	})
	row.indexBytes, err6 = e.indexBytes(ctx)
	progress("questions", row.queries)
	progress("six random words", row.random)
	progress("three words in half of all", row.halves)
	progress("the same in a directory of 100", row.few)
	progress("view of /memories", row.view)
	progress("bytes of the index", row.indexBytes)
	return errors.Join(err1, err2, err3, err4, err5, err6)
}

// createTime is how long memories are created while the index catches up.
func (b *bench) createTime() time.Duration {
	if b.quick {
		return 200 * time.Millisecond
	}
	return 5 * time.Second
}

// mergeTime is how long segments may be merged before searches are measured.
func (b *bench) mergeTime() time.Duration {
	if b.quick {
		return 0
	}
	return 5 * time.Second
}
