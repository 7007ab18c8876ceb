// Package keyedlock has a lock for each key.
package keyedlock

import (
	"context"

	"memento/internal/refcount"
)

// Locks are locks by key, such as the path of a memory or the name of a store. Callers get
// a lock in the order of their calls. Locks that nobody holds or waits for take no memory.
// Use [New].
type Locks[K comparable] struct {
	free *refcount.Map[K, chan struct{}] // each holds a value while the lock is free
}

// New returns Locks, all of them free.
func New[K comparable]() *Locks[K] {
	return &Locks[K]{refcount.New[K](func() chan struct{} {
		free := make(chan struct{}, 1)
		free <- struct{}{}
		return free
	})}
}

// Lock waits for the lock of key. It returns the function that releases it, or the error
// of the context.
func (l *Locks[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
	free := l.free.Acquire(key)
	select {
	case <-free:
		return func() {
			free <- struct{}{}
			l.free.Release(key)
		}, nil
	case <-ctx.Done():
		l.free.Release(key)
		return nil, ctx.Err()
	}
}
