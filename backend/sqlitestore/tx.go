package sqlitestore

import (
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
)

// A tx is the writer's transaction, which several jobs share. A job that returns an error
// of the root package must have written nothing, or have reverted it with inSavepoint.
// After any other error the transaction is rolled back.
type tx struct {
	*conn
	stores   map[int64]*storeState // states of the stores that jobs have used
	bounded  int                   // number of jobs that have added to newPages
	newPages int64                 // the most pages that these jobs add to the database
	lowSpace bool                  // whether deleted contents may stay in free pages until the file has shrunk
}

// A storeState is the state of a store that every write reads and changes. It is read once
// and written once in a transaction, for all jobs.
type storeState struct {
	info  memento.StoreInfo // ID, limits, settings, envelope, usage and whether it is archived
	seq   int64             // of the newest version
	last  time.Time         // time of that version
	dirty bool

	hasVectors bool // whether there may be vectors of its memories
}

// state returns a copy of a store's state, for setState.
func (t *tx) state(op string, store int64, id memento.StoreID) (storeState, error) {
	if s := t.stores[store]; s != nil {
		return *s, nil
	}
	st := storeState{info: memento.StoreInfo{ID: id}}
	var settingsErr error
	found, err := t.one(`SELECT s.max_memory_bytes, s.max_memories, s.max_bytes, s.max_path_bytes, s.max_path_depth, s.archived_at,
			c.memories, c.bytes, c.last_seq, c.last_at, s.settings, s.envelope, c.has_vectors FROM stores s JOIN counters c ON c.store = s.num WHERE s.num = ?`,
		func(s *sqlite.Stmt) {
			st.info.Limits = memento.Limits{
				MemoryBytes: s.ColumnInt64(0),
				Memories:    s.ColumnInt64(1),
				Bytes:       s.ColumnInt64(2),
				PathBytes:   s.ColumnInt64(3),
				PathDepth:   s.ColumnInt64(4),
			}
			st.info.ArchivedAt = timeAt(s, 5)
			st.info.Usage = memento.Usage{Memories: s.ColumnInt64(6), Bytes: s.ColumnInt64(7)}
			st.seq, st.last = s.ColumnInt64(8), timeAt(s, 9)
			st.info.Settings, settingsErr = t.decode(s.ColumnText(10))
			st.info.Envelope = s.ColumnText(11)
			st.hasVectors = s.ColumnInt64(12) != 0
		}, store)
	switch {
	case err != nil:
		return st, err
	case !found:
		return st, errNoStore(op)
	case settingsErr != nil:
		return st, settingsErr
	}
	if t.stores == nil {
		t.stores = map[int64]*storeState{}
	}
	t.stores[store] = &st
	return st, nil
}

// setState sets the state that later jobs see and that flush writes.
func (t *tx) setState(store int64, st storeState) {
	st.dirty = true
	t.stores[store] = &st
}

// flush writes the states and forgets them. Jobs that access the tables of stores directly
// call it first.
func (t *tx) flush() error {
	for store, st := range t.stores {
		if !st.dirty {
			continue
		}
		if err := t.exec(`UPDATE counters SET memories = ?, bytes = ?, last_seq = ?, last_at = ? WHERE store = ?`,
			st.info.Usage.Memories, st.info.Usage.Bytes, st.seq, micros(st.last), store); err != nil {
			return err
		}
	}
	t.stores = nil
	return nil
}

// inSavepoint runs do, and reverts its writes if it fails. It has a price: SQLite keeps a
// copy of every page that do changes.
func (t *tx) inSavepoint(do func() error) error {
	if err := t.exec("SAVEPOINT attempt"); err != nil {
		return err
	}
	err := do()
	if err != nil && isTranslated(err) {
		if err := t.exec("ROLLBACK TO attempt"); err != nil {
			return err
		}
	}
	if t.AutocommitEnabled() { // the transaction was rolled back already
		return err
	}
	if releaseErr := t.exec("RELEASE attempt"); releaseErr != nil {
		return releaseErr
	}
	return err
}
