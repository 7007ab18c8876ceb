package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"memento"
)

// When memories were read is noted in memory, and written now and then: one object a
// store, which has the times of all its memories.

const (
	readEvery = 30 * time.Minute // how coarse the times are
	syncEvery = 10 * time.Minute
)

// reading is what was noted and not written yet.
type reading struct {
	mu    sync.Mutex
	noted map[memento.StoreID]map[memento.MemoryID]time.Time
}

func newReading() reading {
	return reading{noted: map[memento.StoreID]map[memento.MemoryID]time.Time{}}
}

// at returns when a memory was read as far as is noted here.
func (r *reading) at(store memento.StoreID, id memento.MemoryID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noted[store][id]
}

// MarkRead notes that a memory was read now, if its store is held in memory, as it is
// when the memory was read here.
func (b *Backend) MarkRead(id memento.StoreID, memory memento.MemoryID) {
	b.mu.Lock()
	s := b.stores[id]
	b.mu.Unlock()
	if s == nil {
		return
	}
	now := b.time()
	s.mu.RLock()
	known := s.st != nil && s.st.byID[memory] != nil && now.Sub(s.st.reads[memory]) >= readEvery
	s.mu.RUnlock()
	if !known {
		return
	}
	b.noting.mu.Lock()
	defer b.noting.mu.Unlock()
	if b.noting.noted[id] == nil {
		b.noting.noted[id] = map[memento.MemoryID]time.Time{}
	}
	if now.Sub(b.noting.noted[id][memory]) >= readEvery {
		b.noting.noted[id][memory] = now
	}
}

// SyncReads writes what MarkRead has noted.
func (b *Backend) SyncReads(ctx context.Context) error {
	const op = "sync reads"
	if err := b.open(ctx); err != nil {
		return b.failed(op, err)
	}
	return b.failed(op, b.writeReads(ctx))
}

func (b *Backend) syncNowAndThen(ctx context.Context) {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.writeReads(ctx) // what fails is written with the next
		case <-b.closing:
			return
		}
	}
}

func (b *Backend) writeReads(ctx context.Context) error {
	b.noting.mu.Lock()
	noted := b.noting.noted
	b.noting.noted = map[memento.StoreID]map[memento.MemoryID]time.Time{}
	b.noting.mu.Unlock()
	var ids []memento.StoreID
	for id := range noted {
		ids = append(ids, id)
	}
	failed := make([]error, len(ids))
	parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		failed[i] = b.writeReadsOf(ctx, ids[i], noted[ids[i]])
		return nil
	})
	for i, err := range failed {
		if err != nil {
			b.noteAgain(ids[i], noted[ids[i]])
		}
	}
	return errors.Join(failed...)
}

func (b *Backend) noteAgain(id memento.StoreID, reads map[memento.MemoryID]time.Time) {
	b.noting.mu.Lock()
	defer b.noting.mu.Unlock()
	if newer := b.noting.noted[id]; newer != nil {
		maps.Copy(reads, newer)
	}
	b.noting.noted[id] = reads
}

type readsForm struct {
	Rev   string                     `json:"rev"`
	Reads map[memento.MemoryID]stamp `json:"reads"`
}

func (b *Backend) writeReadsOf(ctx context.Context, id memento.StoreID, noted map[memento.MemoryID]time.Time) error {
	b.mu.Lock()
	s := b.stores[id]
	b.mu.Unlock()
	for {
		f, etag, err := b.getReads(ctx, id)
		if err != nil {
			return err
		}
		cond := ifAbsent
		if etag != "" {
			cond = ifMatch(etag)
		}
		for m, at := range noted {
			f.Reads[m] = max(f.Reads[m], stampOf(at))
		}
		if s != nil {
			s.mu.Lock()
			if s.st != nil && s.st.deleted {
				s.mu.Unlock()
				return nil
			}
			if s.st != nil {
				maps.DeleteFunc(f.Reads, func(m memento.MemoryID, at stamp) bool {
					return s.st.byID[m] == nil && b.isOlder(at.time(), 24*time.Hour)
				})
				for m, at := range f.Reads {
					s.st.reads[m] = later(s.st.reads[m], at.time())
				}
			}
			s.mu.Unlock()
		}
		f.Rev = random()
		data, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if _, err = b.s3.swap(ctx, readsKey(id), data, cond); !errors.Is(err, errPrecondition) {
			return err
		}
	}
}

func (b *Backend) getReads(ctx context.Context, id memento.StoreID) (f readsForm, etag string, err error) {
	data, etag, err := b.s3.get(ctx, readsKey(id))
	if errors.Is(err, errNotFound) {
		return readsForm{Reads: map[memento.MemoryID]stamp{}}, "", nil
	}
	if err == nil && json.Unmarshal(data, &f) != nil {
		err = fmt.Errorf("%w: read times are damaged", memento.ErrFormat)
	}
	if f.Reads == nil {
		f.Reads = map[memento.MemoryID]stamp{}
	}
	return f, etag, err
}

// readReads reads the times into a state.
func (b *Backend) readReads(ctx context.Context, id memento.StoreID, st *state) error {
	f, _, err := b.getReads(ctx, id)
	if err != nil {
		return err
	}
	for m, at := range f.Reads {
		st.reads[m] = at.time()
	}
	return nil
}
