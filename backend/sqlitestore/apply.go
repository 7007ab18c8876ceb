package sqlitestore

import (
	"context"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

// Apply implements [memento.Backend].
func (b *Backend) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	const op = "apply"
	if len(changes) == 0 {
		return b.describe(ctx, op, store)
	}
	change := write[*apply]
	if onlyRemoves(changes) {
		change = writeFreeing[*apply]
	}
	done, err := change(ctx, b.writer, func(t *tx) (*apply, error) {
		a, err := b.beginApply(t, op, store, by)
		if b.clearStoreNums(err) {
			a, err = b.beginApply(t, op, store, by)
		}
		if err != nil {
			return nil, err
		}
		do := func() error {
			for _, change := range changes {
				effects, err := a.planner.Plan(a, change)
				if err != nil {
					return err
				}
				if err := a.carryOut(effects); err != nil {
					return err
				}
			}
			return nil
		}
		if len(changes) == 1 { // it is planned before anything is written
			err = do()
		} else {
			err = t.inSavepoint(do)
		}
		if err != nil {
			return nil, err
		}
		a.end()
		t.bounded++
		t.newPages += a.newPages()
		return a, nil
	})
	if err != nil {
		return memento.Applied{}, fail(op, err)
	}
	b.index.Wrote(store, len(done.versions))
	for _, m := range done.written { // a memory is often read soon after it was written
		b.texts.Put(m.SHA256, cachedText{m.Content, done.store, m.Version})
	}
	return done.planner.Applied(done.versions), nil
}

// pagesPerVersion is more than a version adds to the tables and indexes, except for its
// texts: usually it is less than one page.
const pagesPerVersion = 16

// newPages returns the most pages that the changes add to the database.
func (a *apply) newPages() (pages int64) {
	const usable = 2048 // bytes of a text in a page, at least
	for _, v := range a.versions {
		pages += pagesPerVersion + int64(len(v.Path))/usable
	}
	for _, m := range a.written {
		pages += int64(len(m.Content))/usable + 1
	}
	return pages
}

// describe is Apply without changes: it only returns the state of the store.
func (b *Backend) describe(ctx context.Context, op string, store memento.StoreID) (memento.Applied, error) {
	return read(ctx, b, op, func(c *conn) (memento.Applied, error) {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return memento.Applied{}, err
		}
		st, err := (&tx{conn: c}).state(op, num, store)
		p := backend.Planner{Info: st.info}
		return p.Applied(nil), err
	})
}

// onlyRemoves reports whether all changes are removals.
func onlyRemoves(changes []memento.Change) bool {
	for _, c := range changes {
		if sealed, ok := c.(backend.Sealed); ok {
			c = sealed.Change
		}
		if _, removes := c.(memento.Remove); !removes {
			return false
		}
	}
	return true
}

// Import implements [memento.Backend].
func (b *Backend) Import(ctx context.Context, store memento.StoreID, versions []memento.Version) error {
	return b.importVersions(ctx, store, versions, nil)
}

// ImportSealed implements [backend.SealedImporter].
func (b *Backend) ImportSealed(ctx context.Context, store memento.StoreID, versions []memento.Version, by backend.Sealing) error {
	return b.importVersions(ctx, store, versions, &by)
}

func (b *Backend) importVersions(ctx context.Context, store memento.StoreID, versions []memento.Version, by *backend.Sealing) error {
	const op = "import"
	err := b.writer.run(ctx, func(t *tx) error {
		a, err := b.beginApply(t, op, store, memento.Actor{})
		if b.clearStoreNums(err) {
			a, err = b.beginApply(t, op, store, memento.Actor{})
		}
		if err != nil {
			return err
		}
		a.planner.Imported = by
		err = t.inSavepoint(func() error {
			for _, v := range versions {
				if err := a.importOne(op, v); err != nil {
					return err
				}
			}
			return a.planner.PlanImported()
		})
		if err != nil {
			return err
		}
		a.end()
		return nil
	})
	if err == nil {
		b.index.Wrote(store, len(versions))
	}
	return fail(op, err)
}

func (a *apply) importOne(op string, v memento.Version) error {
	switch seq, err := findVersion(a.tx.conn, a.store, v.ID); {
	case err != nil:
		return err
	case seq != 0:
		return &memento.Error{Op: op, Path: v.Path, Err: memento.ErrExist}
	}
	effects, err := a.planner.PlanImport(a, v)
	if err != nil {
		return err
	}
	return a.carryOut(effects)
}

// An apply is one Apply or Import inside the writer's transaction. It is the planner's
// snapshot: each change is carried out before the next one is planned.
type apply struct {
	tx       *tx
	store    int64
	state    storeState // before the changes
	planner  backend.Planner
	versions []memento.Version
	written  []memento.Memory             // with contents
	heads    map[memento.MemoryID]rowRefs // of memories looked up or written
}

// rowRefs says where the newest version of a memory and its contents are.
type rowRefs struct {
	seq     int64 // of the newest version, in the table versions
	content int64 // row in the table contents
}

func (b *Backend) beginApply(t *tx, op string, store memento.StoreID, by memento.Actor) (*apply, error) {
	num, err := b.storeNum(t.conn, op, store)
	if err != nil {
		return nil, err
	}
	st, err := t.state(op, num, store)
	if err != nil {
		return nil, err
	}
	return &apply{
		tx:      t,
		store:   num,
		state:   st,
		planner: backend.Planner{Info: st.info, By: by, At: b.clock(st.last), Seq: st.seq},
		heads:   map[memento.MemoryID]rowRefs{},
	}, nil
}

// end stores the usage and the newest version in the transaction's state.
func (a *apply) end() {
	if len(a.versions) == 0 {
		return
	}
	a.state.info.Usage = a.planner.Info.Usage
	a.state.seq = a.planner.Seq
	for _, v := range a.versions {
		a.state.last = backend.LastTime(a.state.last, &v)
	}
	a.tx.setState(a.store, a.state)
}

// headColumns are the columns of a memory without its contents, and its rowRefs.
const headColumns = memoryColumns + `, m.seq, m.content`

func (a *apply) scanHead(s *sqlite.Stmt) memento.Memory {
	m := scanMemory(s)
	a.heads[m.ID] = rowRefs{s.ColumnInt64(memoryColumnCount), s.ColumnInt64(memoryColumnCount + 1)}
	return m
}

// Head implements [backend.Snapshot].
func (a *apply) Head(p memento.Path) (m memento.Memory, exists bool, err error) {
	exists, err = a.tx.one(`SELECT `+headColumns+` FROM memories m WHERE m.store = ? AND m.path = ?`,
		func(s *sqlite.Stmt) { m = a.scanHead(s) }, a.store, p)
	return m, exists, translate(err)
}

// HeadByID implements [backend.Snapshot].
func (a *apply) HeadByID(id memento.MemoryID) (m memento.Memory, exists bool, err error) {
	exists, err = a.tx.one(`SELECT `+headColumns+` FROM memories m WHERE m.store = ? AND m.id = ?`,
		func(s *sqlite.Stmt) { m = a.scanHead(s) }, a.store, id)
	return m, exists, translate(err)
}

// Below implements [backend.Snapshot].
func (a *apply) Below(p memento.Path, limit int) (found []memento.Memory, err error) {
	low, high := rangeBelow(p)
	err = a.tx.all(`SELECT `+headColumns+` FROM memories m WHERE `+inRange+` ORDER BY m.path`,
		func(s *sqlite.Stmt) bool {
			found = append(found, a.scanHead(s))
			return len(found) != limit
		}, a.store, low, high)
	return found, translate(err)
}

func (a *apply) carryOut(effects []backend.Effect) error {
	for _, e := range effects {
		if err := a.carryOutOne(e); err != nil {
			return err
		}
	}
	return nil
}

func (a *apply) carryOutOne(e backend.Effect) error {
	v := e.Version
	before, err := a.before(e)
	if err != nil {
		return err
	}
	after := rowRefs{v.Seq, before.content}
	if e.Rewrite {
		if err := a.tx.exec(`INSERT INTO contents (data) VALUES (?)`, e.After.Content); err != nil {
			return err
		}
		after.content = a.tx.LastInsertRowID()
		a.written = append(a.written, e.After)
	}
	if err := a.replace(e.Before, e.After, after); err != nil {
		return err
	}
	if err := a.sumUp(e.Before, e.After); err != nil {
		return err
	}
	if err := a.dropVectors(e); err != nil {
		return err
	}
	a.heads[v.Memory] = after
	a.versions = append(a.versions, v)
	return a.append(v, before.seq, after.content)
}

// before returns the refs of the effect's memory before the effect.
func (a *apply) before(e backend.Effect) (rowRefs, error) {
	h, known := a.heads[e.Version.Memory]
	if known || e.Version.Operation == memento.Created {
		return h, nil
	}
	// An import may have versions of a memory that is only in the history: there is no
	// index for this lookup.
	_, err := a.tx.one(`SELECT max(seq) FROM versions WHERE store = ? AND memory = ?`,
		func(s *sqlite.Stmt) { h.seq = s.ColumnInt64(0) }, a.store, e.Version.Memory)
	return h, err
}

// replace changes the row of a memory from before to after. Either may be zero.
func (a *apply) replace(before, after memento.Memory, h rowRefs) error {
	switch {
	case before.ID == "" && after.ID == "":
		return nil
	case after.ID == "":
		return a.tx.exec(`DELETE FROM memories WHERE store = ? AND path = ?`, a.store, before.Path)
	case before.ID == "":
		return a.tx.exec(`INSERT INTO memories (store, path, id, version, seq, content, size, sha256, digest, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.store, after.Path, after.ID, after.Version, h.seq, h.content, after.Size, hashBytes(after.SHA256), after.Digest,
			micros(after.CreatedAt), micros(after.UpdatedAt))
	case before.Path == after.Path:
		// Without a new path, no index changes.
		return a.tx.exec(`UPDATE memories SET version = ?, seq = ?, content = ?, size = ?, sha256 = ?, digest = ?, updated_at = ?
			WHERE store = ? AND path = ?`,
			after.Version, h.seq, h.content, after.Size, hashBytes(after.SHA256), after.Digest,
			micros(after.UpdatedAt), a.store, before.Path)
	}
	return a.tx.exec(`UPDATE memories SET path = ?, version = ?, seq = ?, content = ?, size = ?, sha256 = ?, digest = ?, updated_at = ?
		WHERE store = ? AND path = ?`,
		after.Path, after.Version, h.seq, h.content, after.Size, hashBytes(after.SHA256), after.Digest,
		micros(after.UpdatedAt), a.store, before.Path)
}

// append adds a version. prev is the seq of the memory's previous version, or 0. content is
// the row of its contents, if it has any.
func (a *apply) append(v memento.Version, prev, content int64) error {
	var path, row, size any // null if the version has none
	if !v.Redacted() {
		path = v.Path
		if v.Operation != memento.Deleted {
			row, size = content, v.Size
		}
	}
	var redactorKind, redactorID any
	redactorKey := ""
	if v.Redacted() {
		redactorKind, redactorID, redactorKey = string(v.RedactedBy.Kind), v.RedactedBy.ID, string(v.RedactedBy.Key)
	}
	imported := 0
	if v.ID.SeqHint() != v.Seq {
		imported = 1
	}
	return a.tx.exec(`INSERT INTO versions (store, seq, id, imported, memory, prev, operation, path, content, size, sha256, digest,
			actor_kind, actor_id, actor_key, created_at, redacted_at, redactor_kind, redactor_id, redactor_key)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.store, v.Seq, v.ID, imported, v.Memory, prev, string(v.Operation), path, row, size, hashBytes(v.SHA256), v.Digest,
		string(v.CreatedBy.Kind), v.CreatedBy.ID, string(v.CreatedBy.Key), micros(v.CreatedAt),
		optionalMicros(v.RedactedAt), redactorKind, redactorID, redactorKey)
}
