package embedding

import (
	"context"
	"errors"
	"slices"
	"time"

	"memento"
	"memento/backend"
)

const (
	// keepTogether bounds the bytes that the backend takes at a time, so that writes do not
	// wait long.
	keepTogether = 256 << 10

	// askTogether is of how many memories the vectors of another process are asked for.
	askTogether = 1024

	// leaseTime is how long a process has the duty to embed a store, from each batch on. That
	// takes embedFor, and a request more.
	leaseTime = 45 * time.Second

	// keepTime is how long the backend may take to keep the vectors of a batch.
	keepTime = 5 * time.Second

	// leasePause is how long the others wait before they look for its vectors again.
	leasePause = 2 * time.Second
)

// errOthersTurn says that another process embeds a store.
var errOthersTurn = errors.New("another process makes the vectors of the store")

// load reads all memories of a store with the vectors that the backend keeps. fits is false
// if they take too much room.
func (s *Searcher) load(ctx context.Context, store memento.StoreID, x *index) (fits bool, err error) {
	known := map[memento.MemoryID]bool{}
	bounded := x.size()
	for m, err := range s.keeper.Vectors(ctx, store, s.opts.Embedder.Model(), nil) {
		if err != nil {
			return false, err
		}
		known[m.Memory] = true
		x.mu.Lock()
		if old := x.memories[m.Memory]; old == nil || old.version != m.Version || m.Vectors != nil {
			x.set(m.Memory, x.decode(m))
		}
		size := x.bytes + memoryBytes*int64(len(x.memories))
		x.mu.Unlock()
		if size > s.opts.MaxBytes {
			return false, nil
		}
		if size-bounded > s.opts.MaxBytes/64 { // other stores make room meanwhile
			s.bound()
			bounded = size
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.memories {
		if !known[id] {
			x.set(id, nil)
		}
	}
	return true, nil
}

// fetch takes over vectors of some memories that another process has made. It returns how
// many memories gained by it.
func (s *Searcher) fetch(ctx context.Context, store memento.StoreID, x *index, ids []memento.MemoryID) (gained int, err error) {
	for m, err := range s.keeper.Vectors(ctx, store, s.opts.Embedder.Model(), ids) {
		if err != nil {
			return gained, err
		}
		x.mu.Lock()
		if e := x.memories[m.Memory]; e != nil && e.version == m.Version && (!e.cut || e.vectors() < vectorsIn(m) || !e.kept && e.vectors() == vectorsIn(m)) {
			x.set(m.Memory, x.decode(m))
			gained++
		}
		x.mu.Unlock()
	}
	return gained, nil
}

func vectorsIn(m backend.MemoryVectors) (n int) {
	for _, v := range m.Vectors {
		if len(v.Values) > 0 {
			n++
		}
	}
	return n
}

// takeTurn takes over what another process has made of the vectors of some memories that lack
// theirs, and reports whether there was any. Of several processes one has its turn.
//
// Errors: errOthersTurn if another one has it, and had nothing new.
func (s *Searcher) takeTurn(ctx context.Context, store memento.StoreID, x *index, ids []memento.MemoryID) (gained bool, err error) {
	if s.keeper == nil || len(ids) == 0 {
		return false, nil
	}
	mine := true
	if leaser, shared := s.backend.(backend.Leaser); shared {
		mine, err = leaser.AcquireLease(ctx, backend.VectorLease(store), leaseTime)
		switch {
		case errors.Is(err, memento.ErrUnsupported):
			mine = true
		case errors.Is(err, memento.ErrReadOnly):
			mine = false // others can keep vectors, and this process can read them
		case err != nil:
			return false, err
		}
	}
	if mine {
		n, err := s.fetch(ctx, store, x, ids[:min(len(ids), batchMemories)])
		return n > 0, err
	}
	n, err := s.fetch(ctx, store, x, ids)
	if err != nil {
		return false, err
	}
	if 2*n < len(ids) {
		x.mu.Lock()
		x.pause = time.Now().Add(leasePause)
		x.mu.Unlock()
	}
	if n == 0 {
		err = errOthersTurn
	}
	return n > 0, err
}

// keep has the backend keep the vectors of memories that it has not.
func (s *Searcher) keep(ctx context.Context, store memento.StoreID, x *index, ids []memento.MemoryID) error {
	if s.keeper == nil {
		return nil
	}
	for len(ids) > 0 {
		var part []backend.MemoryVectors
		x.mu.RLock()
		n, size := 0, 0
		for ; n < len(ids) && len(part) < backend.MaxPutVectors && size < keepTogether; n++ {
			if e := x.memories[ids[n]]; e != nil && e.cut {
				m := backend.MemoryVectors{Memory: ids[n], Version: e.version, Vectors: e.encode()}
				part = append(part, m)
				for _, v := range m.Vectors {
					size += 64 + len(v.Values)
				}
			}
		}
		x.mu.RUnlock()
		ids = ids[n:]
		kept, err := s.keeper.PutVectors(ctx, store, s.opts.Embedder.Model(), part)
		switch {
		case errors.Is(err, memento.ErrReadOnly), errors.Is(err, memento.ErrUnsupported):
			kept = nil // they are in main memory only
		case err != nil:
			return err
		}
		if slices.Contains(kept, false) {
			s.look(store, false) // it was changed meanwhile
		}
		x.mu.Lock()
		for _, m := range part {
			if e := x.memories[m.Memory]; e != nil && e.version == m.Version {
				e.kept = true
				x.check(m.Memory, e)
			}
		}
		x.mu.Unlock()
	}
	return nil
}
