package embedding

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/textindex"
	"memento/internal/lru"
)

// Options configure [New].
type Options struct {
	Embedder Embedder // required

	// Detector finds secrets in texts and queries. They are masked before they are
	// embedded, even in stores that accept them. Nil: nothing is masked.
	Detector memento.Detector

	QueryTimeout time.Duration // how long a search waits for the query's vector; 0 means 1.5 s
	Interval     time.Duration // how often writes of other processes are looked for; 0 means 1 min

	// MaxBytes bounds the vectors in main memory; 0 means 512 MiB. A store with more is
	// searched by words alone, and tried again when it has a quarter fewer memories.
	MaxBytes int64

	Logger *slog.Logger // nil: no log
}

// Searcher is a [memento.Searcher] that ranks by words and by meaning. See the package
// comment. It is safe for concurrent use.
type Searcher struct {
	backend memento.Backend
	words   memento.Searcher
	opts    Options
	keeper  backend.VectorKeeper // nil if the backend is none: vectors are in main memory only
	health  health
	slow    health // of queries that took longer than a search waits
	batch   batch
	queries queryCache
	counts  counts

	stop  context.CancelFunc
	ended chan struct{}
	wake  chan struct{}

	mu      sync.Mutex
	closed  bool
	indexes lru.Map[memento.StoreID, *index]
	dirty   map[memento.StoreID]bool // stores to look at; whether thoroughly, see follow
	failing map[memento.StoreID]bool // stores that could not be looked at, until the next interval
}

// counts are what [Searcher.Metrics] counts.
type counts struct {
	embedded, refused, failures, wordsOnly atomic.Int64
}

// New returns a Searcher over a backend, which must be a [memento.Searcher]. The caller
// closes it before the backend.
//
// Errors: memento.ErrUnsupported if the backend cannot search.
func New(b memento.Backend, o Options) (*Searcher, error) {
	words, ok := b.(memento.Searcher)
	if !ok {
		return nil, &memento.Error{Op: "search by meaning", Err: memento.ErrUnsupported}
	}
	if o.Embedder == nil {
		return nil, fmt.Errorf("%w: a search by meaning needs an Embedder", memento.ErrInvalid)
	}
	o.QueryTimeout = cmp.Or(o.QueryTimeout, queryTimeout)
	o.Interval = cmp.Or(o.Interval, time.Minute)
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Searcher{
		backend: b, words: words, opts: o, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		dirty: map[memento.StoreID]bool{}, failing: map[memento.StoreID]bool{},
		health: health{longest: longestPause}, slow: health{longest: longestSlow},
	}
	s.keeper, _ = b.(backend.VectorKeeper)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.run(ctx)
	return s, nil
}

// Close ends the work in the background. Searches go on with words alone.
func (s *Searcher) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.stop()
	<-s.ended
	return nil
}

func (s *Searcher) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// index returns the index of a store that is searched.
func (s *Searcher) index(store memento.StoreID) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, known := s.indexes.Get(store)
	if !known {
		x = newIndex(s.keeper != nil)
		s.indexes.Put(store, x)
	}
	x.searched = time.Now()
	return x
}

// Search implements [memento.Searcher].
func (s *Searcher) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	text, dir, plain := textindex.PlainQuery(opts.Query)
	if opts.All || !plain || s.isClosed() {
		return s.words.Search(ctx, store, opts)
	}
	x := s.index(store)
	s.look(store, false)
	query := s.query(ctx, x, text)
	limit := opts.Limit
	if limit <= 0 {
		limit = textindex.DefaultMatches
	}
	opts.Limit = max(limit, depth)
	found, err := s.words.Search(ctx, store, opts)
	if err != nil {
		return nil, err
	}
	if v := <-query; v != nil {
		near := x.nearest(v, []memento.Path{opts.Dir, dir}, depth)
		if found, err = s.join(ctx, store, found, near, limit); err != nil {
			return nil, err
		}
	}
	return found[:min(len(found), limit)], nil
}

// join fuses matches by words with neighbours. It reads those that words have not found, as
// many as the limit needs, and leaves out what has changed since it was embedded.
func (s *Searcher) join(ctx context.Context, store memento.StoreID, words []memento.Match, near []neighbour, limit int) ([]memento.Match, error) {
	byWords := map[memento.MemoryID]bool{}
	for _, m := range words {
		byWords[m.Memory.ID] = true
	}
	sections := map[memento.MemoryID]neighbour{}
	var meaning []memento.Match
	for _, n := range near {
		meaning = append(meaning, memento.Match{Memory: memento.Memory{ID: n.id, Path: n.path}})
		if !byWords[n.id] {
			sections[n.id] = n
		}
	}
	var found []memento.Match
	for _, m := range fuse(words, meaning) {
		if len(found) == limit {
			break
		}
		n, unread := sections[m.Memory.ID]
		if unread {
			memory, err := s.backend.Get(ctx, store, memento.ByID(n.id))
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil || memory.Version != n.version || n.section.End > len(memory.Content):
				continue // deleted or changed meanwhile, or damaged
			}
			content := memory.Content
			memory.Content = ""
			m.Memory = memory
			n.section.Show(content, &m)
		}
		found = append(found, m)
	}
	return found, nil
}
