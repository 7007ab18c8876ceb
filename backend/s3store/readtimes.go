package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"memento"
	"memento/backend/readnotes"
)

// Read times are noted in memory, and written regularly: one object for each store, with
// the read times of all its memories.

// readTiming says when reads are noted and written. A read time is off by half an hour at
// the most, which leaves as much to those who note reads in front of this backend: see
// memento.ReadMarker.
var readTiming = readnotes.Timing{Every: 30 * time.Minute, Delay: 10 * time.Minute, WriteTimeout: 10 * time.Minute, KeepFailed: true}

// closeReadsTimeout is for how long Close writes read times. The rest is lost.
const closeReadsTimeout = 5 * time.Second

// MarkRead implements [memento.ReadMarker]. It notes reads only of memories in a state
// that is in memory, as it is if the memory was read with this handle.
func (b *Backend) MarkRead(id memento.StoreID, memory memento.MemoryID) {
	b.mu.Lock()
	s, _ := b.stores.Peek(id)
	b.mu.Unlock()
	if s == nil {
		return
	}
	now := b.time()
	s.mu.RLock()
	due := s.st != nil && s.st.byID[memory] != nil && now.Sub(s.st.reads[memory]) >= readTiming.Every
	s.mu.RUnlock()
	if due {
		b.reads.Note(id, memory, now)
	}
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error {
	const op = "sync reads"
	if err := b.open(ctx); err != nil {
		return b.failed(op, err)
	}
	return b.failed(op, b.reads.Sync(ctx))
}

// writeReads writes the notes of each store, and deletes from notes those it has written.
func (b *Backend) writeReads(ctx context.Context, notes map[readnotes.Key]time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	if b.isClosed() {
		ctx, cancel = context.WithTimeout(ctx, closeReadsTimeout)
		defer cancel()
	}
	byStore := map[memento.StoreID]map[memento.MemoryID]time.Time{}
	for key, at := range notes {
		if byStore[key.Store] == nil {
			byStore[key.Store] = map[memento.MemoryID]time.Time{}
		}
		byStore[key.Store][key.Memory] = at
	}
	ids := slices.Collect(maps.Keys(byStore))
	errs := make([]error, len(ids))
	begun := make([]bool, len(ids))
	stopped := parallel(ctx, len(ids), func(ctx context.Context, i int) error {
		begun[i] = true
		errs[i] = b.writeReadsOf(ctx, ids[i], byStore[ids[i]])
		return nil
	})
	for i, id := range ids {
		if !begun[i] || errs[i] != nil {
			continue
		}
		for memory := range byStore[id] {
			delete(notes, readnotes.Key{Store: id, Memory: memory})
		}
	}
	return errors.Join(append(errs, stopped)...)
}

type readsForm struct {
	Rev   string                     `json:"rev"`
	Reads map[memento.MemoryID]stamp `json:"reads"`
}

// writeReadsOf writes the notes of one store, and takes the read times in the object into
// the state.
func (b *Backend) writeReadsOf(ctx context.Context, id memento.StoreID, noted map[memento.MemoryID]time.Time) error {
	b.mu.Lock()
	s, _ := b.stores.Peek(id)
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

// readReads reads the read times into a state.
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
