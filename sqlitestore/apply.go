package sqlitestore

import (
	"context"
	"time"

	"memento"

	"zombiezen.com/go/sqlite"
)

// Apply implements [memento.Backend].
func (b *Backend) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) ([]memento.Version, error) {
	const op = "apply"
	versions, err := write(ctx, b.writer, func(c *conn) ([]memento.Version, error) {
		a, err := b.beginApply(c, op, store, by)
		if err != nil {
			return nil, err
		}
		for _, change := range changes {
			effects, err := a.planner.Plan(a, change)
			if err != nil {
				return nil, err
			}
			if err := a.carryOut(effects); err != nil {
				return nil, err
			}
		}
		return a.versions, a.end()
	})
	return versions, fail(op, err)
}

// Import implements [memento.Backend].
func (b *Backend) Import(ctx context.Context, store memento.StoreID, versions []memento.Version) error {
	const op = "import"
	err := b.writer.run(ctx, func(c *conn) error {
		a, err := b.beginApply(c, op, store, memento.Actor{})
		if err != nil {
			return err
		}
		for _, v := range versions {
			if known, err := c.one(`SELECT 1 FROM versions WHERE store = ? AND id = ?`, nil, a.store, v.ID); err != nil {
				return err
			} else if known {
				return &memento.Error{Op: op, Path: v.Path, Err: memento.ErrExist}
			}
			effects, err := a.planner.PlanImport(a, v)
			if err != nil {
				return err
			}
			if err := a.carryOut(effects); err != nil {
				return err
			}
		}
		if err := a.planner.PlanImported(); err != nil {
			return err
		}
		return a.end()
	})
	return fail(op, err)
}

// An apply is the work of one Apply or Import inside the writer's transaction.
// It is the planner's snapshot: each change is carried out before the next is
// planned.
type apply struct {
	conn     *conn
	store    int64
	planner  memento.Planner
	seq      int64     // of the newest version
	last     time.Time // when it was made
	versions []memento.Version
	contents map[memento.MemoryID]int64 // rows of the contents of memories looked up
}

func (b *Backend) beginApply(c *conn, op string, store memento.StoreID, by memento.Actor) (*apply, error) {
	num, err := b.num(c, op, store)
	if err != nil {
		return nil, err
	}
	a := &apply{conn: c, store: num, contents: map[memento.MemoryID]int64{}}
	// Only what the planner needs to know of the store.
	info := memento.StoreInfo{ID: store}
	found, err := c.one(`SELECT s.max_memory_bytes, s.max_memories, s.max_bytes, s.max_path_bytes, s.max_path_depth, s.archived_at,
			c.memories, c.bytes, c.last_seq, c.last_at FROM stores s JOIN counters c ON c.store = s.num WHERE s.num = ?`,
		func(s *sqlite.Stmt) {
			info.Limits = memento.Limits{
				MemoryBytes: s.ColumnInt64(0),
				Memories:    s.ColumnInt64(1),
				Bytes:       s.ColumnInt64(2),
				PathBytes:   s.ColumnInt64(3),
				PathDepth:   s.ColumnInt64(4),
			}
			info.ArchivedAt = timeAt(s, 5)
			info.Usage = memento.Usage{Memories: s.ColumnInt64(6), Bytes: s.ColumnInt64(7)}
			a.seq, a.last = s.ColumnInt64(8), timeAt(s, 9)
		}, num)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoStore(op)
	}
	a.planner = memento.Planner{Info: info, By: by, At: b.clock(a.last)}
	return a, nil
}

// end stores what the changes have added up to.
func (a *apply) end() error {
	if len(a.versions) == 0 {
		return nil
	}
	u := a.planner.Info.Usage
	return a.conn.exec(`UPDATE counters SET memories = ?, bytes = ?, last_seq = ?, last_at = ? WHERE store = ?`,
		u.Memories, u.Bytes, a.seq, micros(a.last), a.store)
}

// Columns of a memory without its contents, and where they are.
const headColumns = memoryColumns + `, m.content`

func (a *apply) scanHead(s *sqlite.Stmt) memento.Memory {
	m := scanMemory(s)
	a.contents[m.ID] = s.ColumnInt64(memoryColumnCount)
	return m
}

// Head implements [memento.Snapshot].
func (a *apply) Head(p memento.Path) (m memento.Memory, exists bool, err error) {
	exists, err = a.conn.one(`SELECT `+headColumns+` FROM memories m WHERE m.store = ? AND m.path = ?`,
		func(s *sqlite.Stmt) { m = a.scanHead(s) }, a.store, p)
	return m, exists, err
}

// HeadByID implements [memento.Snapshot].
func (a *apply) HeadByID(id memento.MemoryID) (m memento.Memory, exists bool, err error) {
	exists, err = a.conn.one(`SELECT `+headColumns+` FROM memories m WHERE m.store = ? AND m.id = ?`,
		func(s *sqlite.Stmt) { m = a.scanHead(s) }, a.store, id)
	return m, exists, err
}

// Below implements [memento.Snapshot].
func (a *apply) Below(p memento.Path, limit int) (found []memento.Memory, err error) {
	low, high := below(p)
	if limit == 0 {
		limit = -1 // SQLite's word for all
	}
	err = a.conn.all(`SELECT `+headColumns+` FROM memories m WHERE m.store = ? AND m.path > ? AND m.path < ? ORDER BY m.path LIMIT ?`,
		func(s *sqlite.Stmt) bool {
			found = append(found, a.scanHead(s))
			return true
		}, a.store, low, high, limit)
	return found, err
}

func (a *apply) carryOut(effects []memento.Effect) error {
	for _, e := range effects {
		if err := a.carryOutOne(e); err != nil {
			return err
		}
	}
	return nil
}

func (a *apply) carryOutOne(e memento.Effect) error {
	content := a.contents[e.Before.ID]
	if e.Rewrite {
		if err := a.conn.exec(`INSERT INTO contents (data) VALUES (?)`, e.After.Content); err != nil {
			return err
		}
		content = a.conn.LastInsertRowID()
	}
	if err := a.replace(e.Before, e.After, content); err != nil {
		return err
	}
	delete(a.contents, e.Before.ID) // looked up again if a later change needs it

	v := e.Version
	a.seq++
	v.Seq = a.seq
	if v.CreatedAt.After(a.last) {
		a.last = v.CreatedAt
	}
	a.versions = append(a.versions, v)
	return a.append(v, content)
}

// replace brings the memory from before to after, either of which may be zero.
func (a *apply) replace(before, after memento.Memory, content int64) error {
	switch {
	case before.ID == "" && after.ID == "":
		return nil
	case after.ID == "":
		return a.conn.exec(`DELETE FROM memories WHERE store = ? AND path = ?`, a.store, before.Path)
	case before.ID == "":
		return a.conn.exec(`INSERT INTO memories (store, path, id, version, content, size, sha256, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.store, after.Path, after.ID, after.Version, content, after.Size, hashBytes(after.SHA256),
			micros(after.CreatedAt), micros(after.UpdatedAt))
	case before.Path == after.Path:
		// Without the path, no index but the table itself changes.
		return a.conn.exec(`UPDATE memories SET version = ?, content = ?, size = ?, sha256 = ?, updated_at = ? WHERE store = ? AND path = ?`,
			after.Version, content, after.Size, hashBytes(after.SHA256), micros(after.UpdatedAt), a.store, before.Path)
	}
	return a.conn.exec(`UPDATE memories SET path = ?, version = ?, content = ?, size = ?, sha256 = ?, updated_at = ? WHERE store = ? AND path = ?`,
		after.Path, after.Version, content, after.Size, hashBytes(after.SHA256), micros(after.UpdatedAt), a.store, before.Path)
}

// append adds a version whose contents, if it has any, are in the given row.
func (a *apply) append(v memento.Version, content int64) error {
	var path, row, size any // null where the version has none
	if !v.Redacted() {
		path = v.Path
		if v.Operation != memento.Deleted {
			row, size = content, v.Size
		}
	}
	var redactorKind, redactorID any
	if v.Redacted() {
		redactorKind, redactorID = string(v.RedactedBy.Kind), v.RedactedBy.ID
	}
	return a.conn.exec(`INSERT INTO versions (store, seq, id, memory, operation, path, content, size, sha256,
			actor_kind, actor_id, created_at, redacted_at, redactor_kind, redactor_id)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.store, v.Seq, v.ID, v.Memory, string(v.Operation), path, row, size, hashBytes(v.SHA256),
		string(v.CreatedBy.Kind), v.CreatedBy.ID, micros(v.CreatedAt), optional(v.RedactedAt), redactorKind, redactorID)
}
