package memento

import (
	"context"
	"sync"
)

// A keyedLock is a set of locks, one for each key. Callers get a lock in the order of
// their calls. The zero keyedLock is ready to use.
type keyedLock struct {
	mu    sync.Mutex
	locks map[Path]*lockEntry
}

type lockEntry struct {
	token chan struct{} // holds a value while the lock is free
	users int           // callers that hold the lock or wait for it
}

// lock waits for the lock of key. It returns the function that releases it, or the error
// of the context.
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
