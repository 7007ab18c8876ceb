package pgstore

import (
	"context"
	"slices"
	"strings"

	"memento"

	"github.com/jackc/pgx/v5"
)

// A view is a store as a transaction sees it: the rows that were looked up in the database,
// and on top of them the changes of the transaction, which are written only at the end. It
// is the planner's snapshot.
//
// The transaction has locked the store, so the rows stay valid.
type view struct {
	ctx       context.Context // the transaction's context, for lookups
	t         *tx             // nil: no lookups are possible
	store     int64
	lookupErr error // first error of a lookup, even if the planner ignores it

	// Rows of the database.
	memories   map[memento.MemoryID]*memoryState
	askedIDs   map[memento.MemoryID]bool       // IDs that were looked up; the results are in memories
	byPath     map[memento.Path]*memoryState   // nil: nothing
	firstBelow map[memento.Path]*memoryState   // below a directory; nil: nothing
	allBelow   map[memento.Path][]*memoryState // below a directory
	versions   map[memento.VersionID]bool

	// Changes of the transaction.
	changed      map[memento.MemoryID]memoryState // new state; without ID if deleted
	changedPaths map[memento.Path]memento.MemoryID
	changedBelow map[memento.Path]int // how many of moved are below a directory
	undo         []func()             // reverts the changes of the current job, the last first
}

// A memoryState is a memory, and what is needed to write it.
type memoryState struct {
	memento.Memory
	content int64        // seq of the version that introduced the contents
	stored  memento.Path // path in the database; "" if it is not there
}

func newView(ctx context.Context, t *tx, store int64) *view {
	return &view{ctx: ctx, t: t, store: store}
}

// addStored adds a row of the database.
func (v *view) addStored(h *memoryState) { setIn(&v.memories, h.ID, h) }

// queue adds a query for memory states to a batch; take receives each result.
func (v *view) queue(batch *pgx.Batch, take func(*memoryState), query string, args ...any) {
	batch.Queue(v.t.b.sql(query), append([]any{v.store}, args...)...).Query(func(rows pgx.Rows) error {
		var row memoryRow
		var content int64
		_, err := pgx.ForEachRow(rows, row.targets(&content), func() error {
			m := row.memory()
			h := v.memories[m.ID]
			if h == nil {
				h = &memoryState{Memory: m, content: content, stored: m.Path}
			}
			take(h)
			row.read = nil
			return nil
		})
		return err
	})
}

func (v *view) queueAllBelow(batch *pgx.Batch, p memento.Path) {
	low, high := rangeBelow(p)
	setIn(&v.allBelow, p, nil)
	v.queue(batch, func(h *memoryState) { v.addStored(h); v.allBelow[p] = append(v.allBelow[p], h) }, memoriesBelow, low, high)
}

// lookUp sends what queue adds in a batch of its own, and waits for the result. Outside
// of a transaction it returns errLookupNeeded.
func (v *view) lookUp(queue func(*pgx.Batch)) error {
	switch {
	case v.lookupErr != nil:
		return v.lookupErr
	case v.t == nil:
		v.lookupErr = errLookupNeeded
		return v.lookupErr
	}
	batch := new(pgx.Batch)
	queue(batch)
	v.lookupErr = v.t.send(v.ctx, batch)
	return v.lookupErr
}

// Head implements [backend.Snapshot].
func (v *view) Head(p memento.Path) (memento.Memory, bool, error) {
	if id, ok := v.changedPaths[p]; ok {
		return v.changed[id].Memory, true, nil
	}
	if !storable(string(p)) {
		return memento.Memory{}, false, nil
	}
	h, known := v.byPath[p]
	if !known {
		err := v.lookUp(func(batch *pgx.Batch) {
			n := prefetch{paths: map[memento.Path]bool{p: true}}
			n.queue(batch, v)
		})
		if err != nil {
			return memento.Memory{}, false, err
		}
		h = v.byPath[p]
	}
	if h == nil || v.isChanged(h) {
		return memento.Memory{}, false, nil
	}
	return h.Memory, true, nil
}

// HeadByID implements [backend.Snapshot].
func (v *view) HeadByID(id memento.MemoryID) (memento.Memory, bool, error) {
	if h, ok := v.changed[id]; ok {
		return h.Memory, h.ID != "", nil
	}
	if !v.askedIDs[id] && v.memories[id] == nil && storable(string(id)) {
		err := v.lookUp(func(batch *pgx.Batch) {
			n := prefetch{ids: map[memento.MemoryID]bool{id: true}}
			n.queue(batch, v)
		})
		if err != nil {
			return memento.Memory{}, false, err
		}
	}
	if h := v.memories[id]; h != nil {
		return h.Memory, true, nil
	}
	return memento.Memory{}, false, nil
}

// Below implements [backend.Snapshot].
func (v *view) Below(p memento.Path, limit int) ([]memento.Memory, error) {
	if limit == 1 && v.changedBelow[p] == 0 {
		first, known := v.firstBelow[p]
		if _, all := v.allBelow[p]; !known && !all {
			err := v.lookUp(func(batch *pgx.Batch) {
				n := prefetch{firstBelow: map[memento.Path]bool{p: true}}
				n.queue(batch, v)
			})
			if err != nil {
				return nil, err
			}
			first, known = v.firstBelow[p], true
		}
		switch {
		case known && first == nil:
			return nil, nil
		case known && !v.isChanged(first):
			return []memento.Memory{first.Memory}, nil
		}
	}
	if _, known := v.allBelow[p]; !known {
		if err := v.lookUp(func(batch *pgx.Batch) { v.queueAllBelow(batch, p) }); err != nil {
			return nil, err
		}
	}
	var found []memento.Memory
	for _, h := range v.allBelow[p] {
		if !v.isChanged(h) {
			found = append(found, h.Memory)
		}
	}
	if v.changedBelow[p] > 0 {
		for path, id := range v.changedPaths {
			if p.Contains(path) {
				found = append(found, v.changed[id].Memory)
			}
		}
		slices.SortFunc(found, func(a, b memento.Memory) int { return strings.Compare(string(a.Path), string(b.Path)) })
	}
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, nil
}

// isChanged reports whether the transaction has changed a memory of the database.
func (v *view) isChanged(h *memoryState) bool {
	_, ok := v.changed[h.ID]
	return ok
}

// stateOf returns the present state of a memory; zero if there is none.
func (v *view) stateOf(id memento.MemoryID) memoryState {
	if h, ok := v.changed[id]; ok {
		return h
	}
	if h := v.memories[id]; h != nil {
		return *h
	}
	return memoryState{}
}

// set makes h the new state of the memory with this ID.
func (v *view) set(id memento.MemoryID, h memoryState) {
	before, again := v.changed[id]
	v.countPath(before, -1)
	setIn(&v.changed, id, h)
	v.countPath(h, 1)
	v.undo = append(v.undo, func() {
		v.countPath(h, -1)
		if again {
			v.changed[id] = before
			v.countPath(before, 1)
		} else {
			delete(v.changed, id)
		}
	})
}

func (v *view) countPath(h memoryState, n int) {
	if h.ID == "" {
		return
	}
	if n > 0 {
		setIn(&v.changedPaths, h.Path, h.ID)
	} else {
		delete(v.changedPaths, h.Path)
	}
	for dir := range h.Path.Ancestors() {
		setIn(&v.changedBelow, dir, v.changedBelow[dir]+n)
	}
}

// rollBack reverts the changes made since undo was last emptied.
func (v *view) rollBack() {
	for _, f := range slices.Backward(v.undo) {
		f()
	}
	v.undo = nil
}
