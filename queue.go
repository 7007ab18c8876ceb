package memento

import (
	"context"
	"sync"
)

// A queue lets one caller at a time through for each key, in the order of their
// coming. The zero queue is ready.
type queue struct {
	mu    sync.Mutex
	lines map[Path]*line
}

type line struct {
	turn    chan struct{} // holds a token while nobody has the turn
	callers int           // that hold the turn or wait for it
}

// enter waits for its turn and returns the function that ends it, or the
// context's error.
func (q *queue) enter(ctx context.Context, key Path) (leave func(), err error) {
	q.mu.Lock()
	l := q.lines[key]
	if l == nil {
		if q.lines == nil {
			q.lines = map[Path]*line{}
		}
		l = &line{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		q.lines[key] = l
	}
	l.callers++
	q.mu.Unlock()

	select {
	case <-l.turn:
		return func() {
			l.turn <- struct{}{}
			q.quit(key, l)
		}, nil
	case <-ctx.Done():
		q.quit(key, l)
		return nil, ctx.Err()
	}
}

func (q *queue) quit(key Path, l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.callers--; l.callers == 0 {
		delete(q.lines, key)
	}
}
