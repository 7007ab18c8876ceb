package pgstore

import (
	"context"
	"iter"
	"strings"

	"memento"
	"memento/backend/rollup"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// memoryColumns are the columns of a memory without its contents, in the order of
// memoryRow.
const memoryColumns = `m.id, m.path, m.version, m.size, m.sha256, m.digest, m.created_at, m.updated_at, m.read_at`

// A memoryRow receives a row of memoryColumns.
type memoryRow struct {
	id, path, version, digest string
	sha256                    []byte
	size, created, updated    int64
	read                      *int64
}

func (r *memoryRow) targets(more ...any) []any {
	return append([]any{&r.id, &r.path, &r.version, &r.size, &r.sha256, &r.digest, &r.created, &r.updated, &r.read}, more...)
}

func (r *memoryRow) memory() memento.Memory {
	return memento.Memory{
		ID:        memento.MemoryID(r.id),
		Path:      memento.Path(r.path),
		Version:   memento.VersionID(r.version),
		Size:      r.size,
		SHA256:    hashOf(r.sha256),
		Digest:    r.digest,
		CreatedAt: timeOf(r.created),
		UpdatedAt: timeOf(r.updated),
		ReadAt:    timeOrZero(r.read),
	}
}

// contentColumns are the columns of a memory, its contents, and whether its newest version
// has the same memory and path, so that no text is shown as another memory's.
// memoryRow.withContents takes the last two.
//
// They are subqueries, which PostgreSQL always looks up by the full key. With joins, a plan
// made while the tables were small read all versions of the store, and was kept while the
// tables grew.
const (
	contentColumns = textColumn + `, ` + isNewest
	textColumn     = memoryColumns + `, (SELECT t.data FROM memento.contents t WHERE t.store = m.store AND t.seq = m.content)`
	isNewest       = `coalesce((SELECT v.id = m.version AND v.memory = m.id AND v.path = m.path
		FROM memento.versions v WHERE v.store = m.store AND v.seq = m.seq), false)`
)

// withContents returns the memory with its contents, after checking them. text and same are
// the last two columns of contentColumns.
func (r *memoryRow) withContents(op, text string, same bool) (memento.Memory, error) {
	m := r.memory()
	m.Content = text
	if !same {
		return memento.Memory{}, &memento.Error{Op: op, Path: m.Path, Err: &memento.DamageError{Memory: m.ID, Version: m.Version}}
	}
	if err := m.CheckContent(op); err != nil {
		return memento.Memory{}, err
	}
	return m, nil
}

// ofStore selects a store's number by its ID. This costs a lookup, but does not find the
// rows that remain for a while after a store was deleted.
const ofStore = `(SELECT num FROM memento.stores WHERE id = $1)`

// The statements of Get need no lookup of the store's ID, because DeleteStore removes
// memories at once. $3 and $4 are a memory and its newest version as they were last read or
// written: if they still match, the version need not be compared again.
const (
	getContents = `SELECT ` + textColumn + `, m.id = $3 AND m.version = $4 OR ` + isNewest + ` FROM memento.memories m WHERE m.store = $1`
	getByPath   = getContents + ` AND m.path = $2`
	getByID     = getContents + ` AND m.id = $2`

	// getInstead finds out what exists in place of a memory that Get has not found.
	getInstead = `SELECT (SELECT num FROM memento.stores WHERE id = $1),
		EXISTS (SELECT 1 FROM memento.memories m WHERE m.store = ` + ofStore + ` AND m.path = $2)
			OR EXISTS (SELECT 1 FROM memento.memories m WHERE m.store = ` + ofStore + ` AND m.id = $3),
		EXISTS (SELECT 1 FROM memento.memories m WHERE m.store = ` + ofStore + ` AND m.path > $4 AND m.path < $5)`
)

// Get implements [memento.Memories].
func (b *Backend) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	query, key := getByPath, string(ref.Path)
	if ref.Path == "" {
		query, key = getByID, string(ref.ID)
	}
	k, err := b.lookUpStore(ctx, op, store)
	if err != nil {
		return memento.Memory{}, err
	}
	return read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (memento.Memory, error) {
		for num := k.num; ; {
			if storable(key) {
				var row memoryRow
				var text textBytes
				var same bool
				seen, _ := b.recent.get(num, ref.Path)
				err := c.QueryRow(ctx, b.sql(query), num, key, seen.ID, seen.Version).Scan(row.targets(&text, &same)...)
				if !noRows(err) {
					if err != nil {
						return memento.Memory{}, err
					}
					m, err := row.withContents(op, string(text), same)
					if err == nil {
						b.recent.note(num, m)
					}
					return m, err
				}
			}
			if num, err = b.explainNotFound(ctx, c, op, store, ref); err != nil {
				return memento.Memory{}, err
			}
		}
	})
}

// explainNotFound returns the error of a Get that has found nothing. If the memory exists
// by now, it returns the present number of the store instead, since another store may have
// been created under its ID.
func (b *Backend) explainNotFound(ctx context.Context, c *pgxpool.Conn, op string, store memento.StoreID, ref memento.Ref) (num int64, err error) {
	var isFile, isDir bool
	var known *int64
	path, id := string(ref.Path), string(ref.ID)
	if path != "" || !storable(id) {
		id = ""
	}
	if !storable(path) {
		path = ""
	}
	low, high := rangeBelow(memento.Path(path))
	if path == "" { // nothing is below an empty path
		high = low
	}
	if err := c.QueryRow(ctx, b.sql(getInstead), string(store), path, id, low, high).Scan(&known, &isFile, &isDir); err != nil {
		return 0, err
	}
	switch {
	case known == nil:
		b.stores.forget(store)
		return 0, errNoStore(op)
	case isFile:
		b.stores.forget(store)
		return *known, nil
	case ref.Path == memento.Root, isDir:
		return 0, &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrIsDir}
	}
	return 0, errNotExist(op, ref.Path)
}

// List implements [memento.Memories].
func (b *Backend) List(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	if opts.Depth > 0 {
		return b.rolledUp(ctx, store, opts)
	}
	return func(yield func(memento.Entry, error) bool) {
		for m, err := range b.listing(store, opts, opts.Limit).all(ctx) {
			if err != nil {
				yield(memento.Entry{}, err)
				return
			}
			if !yield(rollup.EntryOf(&m), nil) {
				return
			}
		}
	}
}

// enoughRows is how many memories are usually enough for a page of a listing with a depth.
// If they are not, all memories are read: the last directory may hold any number.
func enoughRows(limit int) int { return max(usualRows, 5*limit) }

const usualRows = 1000

// rolledUp returns a listing in which deeper memories are summed up as directories.
func (b *Backend) rolledUp(ctx context.Context, store memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	return func(yield func(memento.Entry, error) bool) {
		if opts.Limit > 0 {
			most := enoughRows(opts.Limit)
			var page []memento.Entry
			r := rollup.New(opts, func(e memento.Entry) bool {
				page = append(page, e)
				return true
			})
			err := takeAll(r, b.listing(store, opts, most).all(ctx))
			if err == nil && (r.Stopped() || r.Count < most) {
				r.End()
				for _, e := range page {
					if !yield(e, nil) {
						return
					}
				}
				return
			}
			if err != nil {
				yield(memento.Entry{}, err)
				return
			}
		}
		wanted := true
		r := rollup.New(opts, func(e memento.Entry) bool {
			wanted = yield(e, nil)
			return wanted
		})
		if err := takeAll(r, b.listing(store, opts, 0).all(ctx)); err != nil && wanted {
			yield(memento.Entry{}, err)
			return
		}
		r.End()
	}
}

// takeAll passes memories to r until r needs no more. If there is no error, the caller ends
// r.
func takeAll(r *rollup.Rows, memories iter.Seq2[memento.Memory, error]) error {
	for m, err := range memories {
		if err != nil {
			return err
		}
		if !r.Row(&m) {
			return nil
		}
	}
	return nil
}

// listing returns the memories of a listing before they are summed up: at most limit of
// them; 0 means all.
func (b *Backend) listing(store memento.StoreID, opts memento.ListOptions, limit int) *stream[memento.Memory] {
	const op = "list"
	low, high := rangeBelow(opts.Dir)
	not := ""
	if opts.After > low {
		low, not = opts.After, opts.After
		if strings.HasSuffix(low, "/") {
			low = low[:len(low)-1] + "0" // after everything in the directory
		}
	}
	s := &stream[memento.Memory]{b: b, op: op}
	columns := memoryColumns
	var row memoryRow
	var text []byte
	var same bool
	targets := row.targets()
	switch {
	case opts.Contents:
		columns = contentColumns
		targets = row.targets(&text, &same)
	case opts.Brief:
		columns, targets = `m.path, m.size, m.updated_at`, []any{&row.path, &row.size, &row.updated}
	}
	s.scan = func(rows pgx.Rows) (memento.Memory, error) {
		row.read, text = nil, nil
		err := rows.Scan(targets...)
		if opts.Brief && !opts.Contents {
			return memento.Memory{Path: memento.Path(row.path), Size: row.size, UpdatedAt: timeOf(row.updated)}, err
		}
		if err == nil && opts.Contents {
			return row.withContents(op, string(text), same)
		}
		return row.memory(), err
	}
	s.size = func(m *memento.Memory) int { return 400 + len(m.Path) + len(m.Content) }
	s.query = `SELECT ` + columns + ` FROM memento.memories m WHERE m.store = ` + ofStore + ` AND m.path >= $2 AND m.path < $3 AND m.path <> $4 ORDER BY m.path`
	s.args = []any{string(store), low, high, not}
	s.limit(limit)
	s.noMatch = !storable(low) || !storable(string(store))
	s.empty = func(ctx context.Context) error { return b.exists(ctx, op, store) }
	return s
}
