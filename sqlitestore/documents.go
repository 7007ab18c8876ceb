package sqlitestore

import (
	"context"
	"encoding/hex"
	"iter"
	"strings"

	"memento"

	"zombiezen.com/go/sqlite"
)

// Columns of a memory without its contents, in the order of scanMemory.
const memoryColumns = `m.id, m.path, m.version, m.size, m.sha256, m.digest, m.created_at, m.updated_at, m.read_at`

const memoryColumnCount = 9

func scanMemory(s *sqlite.Stmt) memento.Memory {
	return memento.Memory{
		ID:        memento.MemoryID(s.ColumnText(0)),
		Path:      memento.Path(s.ColumnText(1)),
		Version:   memento.VersionID(s.ColumnText(2)),
		Size:      s.ColumnInt64(3),
		SHA256:    hashAt(s, 4),
		Digest:    s.ColumnText(5),
		CreatedAt: timeAt(s, 6),
		UpdatedAt: timeAt(s, 7),
		ReadAt:    timeAt(s, 8),
	}
}

// scanWhole reads a memory with its contents, which are the column behind memoryColumns.
func scanWhole(s *sqlite.Stmt) memento.Memory {
	m := scanMemory(s)
	m.Content = s.ColumnText(memoryColumnCount)
	return m
}

// scanBrief reads the path, size and time of a memory.
func scanBrief(s *sqlite.Stmt) memento.Memory {
	return memento.Memory{
		Path:      memento.Path(s.ColumnText(0)),
		Size:      s.ColumnInt64(1),
		UpdatedAt: timeAt(s, 2),
	}
}

// hashAt reads a hash, which is "" if the column is null.
func hashAt(s *sqlite.Stmt, col int) string {
	var sum [32]byte
	return hex.EncodeToString(sum[:s.ColumnBytes(col, sum[:])])
}

// hashBytes is the reverse of hashAt.
func hashBytes(hash string) any {
	if hash == "" {
		return nil
	}
	sum, err := hex.DecodeString(hash)
	if err != nil {
		panic(err) // the planner computes or checks every hash
	}
	return sum
}

// inRange selects the paths between two bounds. The plus signs keep the planner
// from looking at the bounds: it would plan the statement anew for each of them.
const inRange = `m.store = ? AND m.path > +? AND m.path < +?`

// below returns the bounds, both excluded, of the paths below a directory: "0"
// is the byte behind "/".
func below(dir memento.Path) (low, high string) {
	prefix := dir.Prefix()
	return prefix, prefix[:len(prefix)-1] + "0"
}

const (
	getByPath = `SELECT ` + memoryColumns + `, m.content FROM memories m WHERE m.store = ? AND m.path = ?`
	getByID   = `SELECT ` + memoryColumns + `, m.content FROM memories m WHERE m.store = ? AND m.id = ?`
)

// Get implements [memento.Backend].
func (b *Backend) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	return read(ctx, b, op, func(c *conn) (m memento.Memory, err error) {
		num, err := b.num(c, op, store)
		if err != nil {
			return m, err
		}
		found, _, err := getHead(c, num, ref, &m)
		if err != nil {
			return m, err
		}
		if found {
			if text, ok := b.texts.get(m.SHA256); ok {
				m.Content = text
				return m, nil
			}
		}
		// From here all of the answer must be about the same moment.
		err = c.inTx(func() error {
			switch found, err := get(c, num, ref, &m); {
			case err != nil:
				return err
			case found:
				b.texts.put(m.SHA256, m.Content)
				return nil
			}
			if err := exists(c, op, num); err != nil {
				return err
			}
			if ref.Path == memento.Root {
				return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrIsDir}
			}
			low, high := below(ref.Path)
			isDir, err := c.one(`SELECT 1 FROM memories m WHERE `+inRange, nil, num, low, high)
			switch {
			case err != nil:
				return err
			case isDir && ref.Path != "":
				return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrIsDir}
			}
			return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrNotExist}
		})
		return m, err
	})
}

// getHead reads a memory without its contents, and the row that has them.
func getHead(c *conn, store int64, ref memento.Ref, m *memento.Memory) (found bool, row int64, err error) {
	query, key := getByPath, any(ref.Path)
	if ref.Path == "" {
		query, key = getByID, ref.ID
	}
	found, err = c.one(query, func(s *sqlite.Stmt) { *m, row = scanMemory(s), s.ColumnInt64(memoryColumnCount) }, store, key)
	return found, row, err
}

// get reads a memory with its contents, in a transaction.
func get(c *conn, store int64, ref memento.Ref, m *memento.Memory) (found bool, err error) {
	found, row, err := getHead(c, store, ref, m)
	if !found || err != nil {
		return false, err
	}
	return c.one(`SELECT data FROM contents WHERE id = ?`, func(s *sqlite.Stmt) { m.Content = s.ColumnText(0) }, row)
}

// List implements [memento.Backend].
func (b *Backend) List(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	const op = "list"
	return rows(ctx, b, op, func(c *conn, yield func(memento.Entry) bool) error {
		num, err := b.num(c, op, store)
		if err != nil {
			return err
		}
		low, high := below(opts.Dir)
		if opts.After > low {
			low = opts.After
			if strings.HasSuffix(low, "/") {
				low += "\xff" // behind everything in the directory: no UTF-8 has this byte
			}
		}
		columns, from, scan := memoryColumns, ` FROM memories m`, scanMemory
		switch {
		case opts.Contents:
			columns, from, scan = columns+`, t.data`, from+` JOIN contents t ON t.id = m.content`, scanWhole
		case opts.Brief:
			columns, scan = `m.path, m.size, m.updated_at`, scanBrief
		}
		r := rollUp{opts: opts, yield: yield}
		err = c.all(`SELECT `+columns+from+` WHERE `+inRange+` ORDER BY m.path`,
			func(s *sqlite.Stmt) bool { return r.row(scan(s)) }, num, low, high)
		if err != nil {
			return err
		}
		if r.rows == 0 {
			return exists(c, op, num)
		}
		r.end()
		return nil
	})
}

// A rollUp makes entries of rows, which come in order of path.
type rollUp struct {
	opts  memento.ListOptions
	yield func(memento.Entry) bool

	open    memento.Entry // the directory being summed up, if Dir is set
	rows    int
	yielded int
	stopped bool
}

// row takes the next memory and reports whether it wants more.
func (r *rollUp) row(m memento.Memory) bool {
	r.rows++
	if r.full() {
		return false
	}
	if dir, ok := r.opts.RollUp(m.Path); ok {
		if !r.open.Dir || r.open.Path != dir {
			if !r.end() || r.full() {
				return false
			}
			r.open = memento.Entry{Path: dir, Dir: true}
		}
		r.open.Usage.Memories++
		r.open.Usage.Bytes += m.Size
		if m.UpdatedAt.After(r.open.UpdatedAt) {
			r.open.UpdatedAt = m.UpdatedAt
		}
		return true
	}
	if !r.end() || r.full() {
		return false
	}
	return r.emit(memento.Entry{
		Path:      m.Path,
		Memory:    m,
		Usage:     memento.Usage{Memories: 1, Bytes: m.Size},
		UpdatedAt: m.UpdatedAt,
	})
}

// full reports whether the limit leaves no room for another entry.
func (r *rollUp) full() bool { return r.opts.Limit > 0 && r.yielded == r.opts.Limit }

// end yields the directory being summed up, if there is one.
func (r *rollUp) end() bool {
	if !r.open.Dir {
		return !r.stopped
	}
	e := r.open
	r.open = memento.Entry{}
	return r.emit(e)
}

func (r *rollUp) emit(e memento.Entry) bool {
	r.yielded++
	r.stopped = !r.yield(e)
	return !r.stopped
}
