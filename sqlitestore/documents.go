package sqlitestore

import (
	"cmp"
	"context"
	"encoding/hex"
	"iter"
	"strings"

	"memento"
	"memento/internal/rollup"

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

// scanWhole reads a memory with its contents, which are the column behind memoryColumns,
// as they are kept: who shows them checks them.
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
	return quick(ctx, b, op, func(c *conn) (m memento.Memory, err error) {
		num, err := b.num(c, op, store)
		if err != nil {
			return m, err
		}
		found, err := b.get(c, num, ref, &m)
		if err != nil || found {
			return m, err
		}
		// What is not there is told of one moment.
		err = c.inTx(func() error {
			if found, err := b.get(c, num, ref, &m); err != nil || found {
				return err
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

// get reads a memory with its contents. Those of a text that was not kept are looked
// up while the statement that found the memory is open, which has both be of one moment.
func (b *Backend) get(c *conn, store int64, ref memento.Ref, m *memento.Memory) (found bool, err error) {
	var textErr error
	found, err = getHead(c, store, ref, func(head memento.Memory, row int64) {
		*m = head
		var kept bool
		if m.Content, kept = b.texts.get(m.SHA256); kept {
			return
		}
		if m.Content, textErr = text(c, row); textErr == nil {
			textErr = m.CheckContent("get")
		}
		if textErr == nil {
			b.texts.put(m.SHA256, m.Content)
		}
	})
	if err = cmp.Or(err, textErr); err != nil {
		*m = memento.Memory{}
	}
	return found, err
}

// getWhole is get for the writer, which keeps no texts. It does not check the contents.
func getWhole(c *conn, store int64, id memento.MemoryID, m *memento.Memory) (found bool, err error) {
	var textErr error
	found, err = getHead(c, store, memento.ByID(id), func(head memento.Memory, row int64) {
		*m = head
		m.Content, textErr = text(c, row)
	})
	return found, cmp.Or(err, textErr)
}

// getHead passes a memory without its contents, and the row that has them.
func getHead(c *conn, store int64, ref memento.Ref, scan func(m memento.Memory, row int64)) (found bool, err error) {
	query, key := getByPath, any(ref.Path)
	if ref.Path == "" {
		query, key = getByID, ref.ID
	}
	return c.one(query, func(s *sqlite.Stmt) { scan(scanMemory(s), s.ColumnInt64(memoryColumnCount)) }, store, key)
}

// text reads contents by their row.
func text(c *conn, row int64) (text string, err error) {
	_, err = c.one(`SELECT data FROM contents WHERE id = ?`, func(s *sqlite.Stmt) { text = s.ColumnText(0) }, row)
	return text, err
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
			columns, from, scan = columns+`, t.data`, from+` LEFT JOIN contents t ON t.id = m.content`, scanWhole
		case opts.Brief:
			columns, scan = `m.path, m.size, m.updated_at`, scanBrief
		}
		r := rollup.New(opts, yield)
		var damaged error
		err = c.all(`SELECT `+columns+from+` WHERE `+inRange+` ORDER BY m.path`,
			func(s *sqlite.Stmt) bool {
				m := scan(s)
				if opts.Contents {
					damaged = m.CheckContent(op)
				}
				return damaged == nil && r.Row(&m)
			}, num, low, high)
		if err = cmp.Or(err, damaged); err != nil {
			return err
		}
		if r.Count == 0 {
			return exists(c, op, num)
		}
		r.End()
		return nil
	})
}
