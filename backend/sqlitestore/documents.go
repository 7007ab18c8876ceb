package sqlitestore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"

	"memento"
	"memento/backend/rollup"

	"zombiezen.com/go/sqlite"
)

// memoryColumns are the columns of a memory without its contents, in the order of
// scanMemory.
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

// contentColumns are the columns of a memory, its contents, and whether its newest version
// has the same memory and path, in the order of scanWithContents.
const (
	contentColumns = memoryColumns + `, t.data, v.id = m.version AND v.memory = m.id AND v.path = m.path`
	joinContents   = ` LEFT JOIN contents t ON t.id = m.content LEFT JOIN versions v ON v.store = m.store AND v.seq = m.seq`
)

// scanWithContents reads a memory with its contents, and checks them.
func scanWithContents(s *sqlite.Stmt, op string) (memento.Memory, error) {
	m := scanMemory(s)
	m.Content = s.ColumnText(memoryColumnCount)
	if !s.ColumnBool(memoryColumnCount + 1) {
		return m, damaged(op, &m)
	}
	return m, m.CheckContent(op)
}

// scanBrief reads the path, size and time of a memory.
func scanBrief(s *sqlite.Stmt) memento.Memory {
	return memento.Memory{
		Path:      memento.Path(s.ColumnText(0)),
		Size:      s.ColumnInt64(1),
		UpdatedAt: timeAt(s, 2),
	}
}

// hashAt reads a hash; "" if the column is null.
func hashAt(s *sqlite.Stmt, col int) string {
	var sum [sha256.Size]byte
	var text [2 * sha256.Size]byte // hex.EncodeToString would allocate twice for each row of a listing
	n := hex.Encode(text[:], sum[:s.ColumnBytes(col, sum[:])])
	return string(text[:n])
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

// inRange selects the paths between two bounds. The plus signs keep SQLite's planner from
// looking at the bounds: otherwise it would plan the statement again for each of them.
const inRange = `m.store = ? AND m.path > +? AND m.path < +?`

// rangeBelow returns the bounds, both excluded, of the paths below a directory. The byte
// "0" follows "/".
func rangeBelow(dir memento.Path) (low, high string) {
	prefix := dir.Prefix()
	return prefix, prefix[:len(prefix)-1] + "0"
}

// afterDirectory returns the bound that excludes all paths with this prefix, which ends in a
// slash.
func afterDirectory(prefix string) string { return prefix + "\xff" } // this byte is not in UTF-8

const (
	getByPath = `SELECT ` + memoryColumns + `, m.content, m.seq FROM memories m WHERE m.store = ? AND m.path = ?`
	getByID   = `SELECT ` + memoryColumns + `, m.content, m.seq FROM memories m WHERE m.store = ? AND m.id = ?`
)

// Get implements [memento.Backend].
func (b *Backend) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	return readQuick(ctx, b, op, func(c *conn) (m memento.Memory, err error) {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return m, err
		}
		found, err := b.get(c, num, ref, &m)
		if err != nil || found {
			return m, err
		}
		// An error must describe one moment.
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
			low, high := rangeBelow(ref.Path)
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

// get reads a memory with its contents. If the text is not cached, it is read while the
// statement that found the memory is open, so that both are of one moment. Data from the
// file is checked: the text by its hash, and the row against the memory's newest version,
// so that no text is shown as another memory's.
func (b *Backend) get(c *conn, store int64, ref memento.Ref, m *memento.Memory) (found bool, err error) {
	var failed error
	found, err = getHead(c, store, ref, func(head memento.Memory, refs rowRefs) {
		*m = head
		kept, known := b.texts.Get(m.SHA256)
		if m.Content = kept.text; known && kept.version == m.Version && kept.store == store {
			return
		}
		var same bool
		m.Content, same, failed = text(c, store, m, refs)
		switch {
		case failed != nil:
		case !same:
			failed = damaged("get", m)
		default:
			failed = m.CheckContent("get")
		}
		if failed == nil {
			b.texts.Put(m.SHA256, cachedText{m.Content, store, m.Version})
		}
	})
	if err = cmp.Or(err, failed); err != nil {
		*m = memento.Memory{}
	}
	return found, err
}

// damaged returns the error for a memory whose row differs from its newest version.
func damaged(op string, m *memento.Memory) error {
	return &memento.Error{Op: op, Path: m.Path, Err: &memento.DamageError{Memory: m.ID, Version: m.Version}}
}

// getHead passes a memory without its contents to scan.
func getHead(c *conn, store int64, ref memento.Ref, scan func(memento.Memory, rowRefs)) (found bool, err error) {
	query, key := getByPath, any(ref.Path)
	if ref.Path == "" {
		query, key = getByID, ref.ID
	}
	return c.one(query, func(s *sqlite.Stmt) {
		scan(scanMemory(s), rowRefs{content: s.ColumnInt64(memoryColumnCount), seq: s.ColumnInt64(memoryColumnCount + 1)})
	}, store, key)
}

// text reads the contents of a memory, and whether its newest version has the same memory
// and path.
func text(c *conn, store int64, m *memento.Memory, refs rowRefs) (text string, same bool, err error) {
	_, err = c.one(`SELECT data FROM contents WHERE id = ?`, func(s *sqlite.Stmt) { text = s.ColumnText(0) }, refs.content)
	if err != nil {
		return "", false, err
	}
	_, err = c.one(`SELECT id = ? AND memory = ? AND path = ? FROM versions WHERE store = ? AND seq = ?`,
		func(s *sqlite.Stmt) { same = s.ColumnBool(0) }, m.Version, m.ID, m.Path, store, refs.seq)
	return text, same, err
}

// List implements [memento.Backend].
func (b *Backend) List(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	const op = "list"
	return rows(ctx, b, op, func(c *conn, yield func(memento.Entry) bool) error {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return err
		}
		low, high := rangeBelow(opts.Dir)
		if opts.After > low {
			low = opts.After
			if strings.HasSuffix(low, "/") {
				low = afterDirectory(low)
			}
		}
		var damaged error
		columns, from, scan := memoryColumns, ` FROM memories m`, scanMemory
		switch {
		case opts.Contents:
			columns, from = contentColumns, from+joinContents
			scan = func(s *sqlite.Stmt) (m memento.Memory) {
				m, damaged = scanWithContents(s, op)
				return m
			}
		case opts.Brief:
			columns, scan = `m.path, m.size, m.updated_at`, scanBrief
		}
		r := rollup.New(opts, yield)
		query := `SELECT ` + columns + from + ` WHERE ` + inRange + ` ORDER BY m.path`
		if opts.Depth > 0 && !opts.Contents {
			err = listRolledUp(c, &opts, r, query, scan, num, low, high)
		} else {
			err = c.all(query, func(s *sqlite.Stmt) bool {
				m := scan(s)
				return damaged == nil && r.Row(&m)
			}, num, low, high)
		}
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
