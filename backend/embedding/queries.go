package embedding

import (
	"context"
	"strings"
	"sync"
	"time"

	"memento/internal/lru"
)

// queryTimeout is how long a search waits for the vector of its query.
const queryTimeout = 1500 * time.Millisecond

// query returns a channel with the vector of a query; with an empty one if words alone
// decide.
func (s *Searcher) query(ctx context.Context, x *index, text string) <-chan vector {
	answer := make(chan vector, 1)
	n := x.dimension()
	if n == 0 {
		s.counts.wordsOnly.Add(1)
		answer <- nil
		return answer
	}
	if v, known := s.queries.get(text); known {
		answer <- v
		return answer
	}
	if s.health.wait() > 0 || s.slow.wait() > 0 {
		s.counts.wordsOnly.Add(1)
		answer <- nil
		return answer
	}
	go func() {
		limited, cancel := context.WithTimeout(ctx, s.opts.QueryTimeout)
		defer cancel()
		vectors, err := s.embed(limited, []string{mask(text, 0, len(text), s.secrets(text))}, Query, n)
		if err != nil {
			s.counts.wordsOnly.Add(1)
			answer <- nil
			return
		}
		v := direction(vectors[0])
		s.queries.put(text, v)
		answer <- v
	}()
	return answer
}

// A queryCache has the vectors of recent queries: pages of results repeat theirs.
type queryCache struct {
	mu      sync.Mutex
	vectors lru.Map[string, vector]
}

const (
	cachedQueries  = 64
	maxCachedQuery = 4 << 10 // bytes
)

func (q *queryCache) get(text string) (vector, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.vectors.Get(text)
}

func (q *queryCache) put(text string, v vector) {
	if len(text) > maxCachedQuery {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.vectors.Put(strings.Clone(text), v)
	if q.vectors.Len() > cachedQueries {
		q.vectors.RemoveOldest()
	}
}
