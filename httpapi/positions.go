package httpapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"memento"
	"memento/backend"
)

// positions are the positions of stores in their histories, which tell the streams of a
// workspace what other processes have done. The streams of one workspace share them: so what
// they cost does not grow with the number of those who watch.
type positions struct {
	lister backend.PositionLister // nil if the backend is none

	mu sync.Mutex
	of map[memento.Workspace]*knownPositions
}

// knownPositions are those of one workspace, while it has streams.
type knownPositions struct {
	turn  chan struct{} // whoever has sent to it may use what is below
	at    time.Time     // when they were asked for
	all   []backend.Position
	err   error // of asking at that time
	users int   // of positions.mu
}

// listerOf returns a backend as a PositionLister, or nil if it, or the one that it wraps, is none.
func listerOf(b memento.Backend) backend.PositionLister {
	lister, ok := b.(backend.PositionLister)
	if !ok {
		return nil
	}
	ended, end := context.WithCancel(context.Background())
	end() // nothing is to be asked of the storage
	if _, err := lister.Positions(ended, "", 1); errors.Is(err, memento.ErrUnsupported) {
		return nil
	}
	return lister
}

// join returns the positions of a workspace. The caller calls leave at the end.
func (p *positions) join(ws memento.Workspace) (known *knownPositions, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[memento.Workspace]*knownPositions{}
	}
	known = p.of[ws]
	if known == nil {
		known = &knownPositions{turn: make(chan struct{}, 1)}
		p.of[ws] = known
	}
	known.users++
	return known, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if known.users--; known.users == 0 {
			delete(p.of, ws)
		}
	}
}

// get returns positions that were asked for at most so long ago, or since it was called. They
// are shared: nobody changes them. Those who wait for one answer share its error, too: if the
// storage hangs, each does not wait for all the others.
func (p *positions) get(ctx context.Context, ws memento.Workspace, known *knownPositions, age time.Duration) ([]backend.Position, error) {
	called := time.Now()
	select {
	case known.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-known.turn }()
	if known.at.After(called) || known.err == nil && !known.at.IsZero() && time.Since(known.at) < age {
		return known.all, known.err
	}
	at := time.Now()
	all, err := p.lister.Positions(ctx, ws, maxFollowed)
	if ctx.Err() != nil {
		return nil, ctx.Err() // which says nothing about the storage
	}
	known.at, known.all, known.err = at, all, err
	return all, err
}
