package memento

import (
	"context"
	"sync"
)

// A queue lets one caller at a time through for each key, in the order of their
// coming. The zero queue is ready.
type keyedLock struct {
	mu    sync.Mutex
	locks map[Path]*lockEntry
}

type lockEntry struct {
	token chan struct{} // holds a token while nobody has the turn
	users int           // that hold the turn or wait for it
}

// enter waits for its turn and returns the function that ends it, or the
// context's error.
func (q *keyedLock) lock(ctx context.Context, key Path) (leave func(), err error) {
	q.mu.Lock()
	l := q.locks[key]
	if l == nil {
		if q.locks == nil {
			q.locks = map[Path]*lockEntry{}
		}
		l = &lockEntry{token: make(chan struct{}, 1)}
		l.token <- struct{}{}
		q.locks[key] = l
	}
	l.users++
	q.mu.Unlock()

	select {
	case <-l.token:
		return func() {
			l.token <- struct{}{}
			q.release(key, l)
		}, nil
	case <-ctx.Done():
		q.release(key, l)
		return nil, ctx.Err()
	}
}

func (q *keyedLock) release(key Path, l *lockEntry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(q.locks, key)
	}
}
