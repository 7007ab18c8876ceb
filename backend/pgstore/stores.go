package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// storeColumns are the columns of a store, in the order of scanStore.
const storeColumns = `s.num, s.id, s.workspace, s.name, s.description, s.metadata,
	s.max_memory_bytes, s.max_memories, s.max_bytes, s.max_path_bytes, s.max_path_depth, s.settings, s.envelope,
	s.created_at, s.updated_at, s.archived_at, c.memories, c.bytes, c.revision`

const selectStores = `SELECT ` + storeColumns + ` FROM memento.stores s JOIN memento.counters c ON c.store = s.num `

// A knownStore is what this process has cached of a store. The description belongs to a
// revision, and is valid only while the store has that revision.
type knownStore struct {
	num      int64
	revision int64
	info     memento.StoreInfo // shared: must not be changed
	head     *storeHead        // nil if unknown; shared, must not be changed
}

func scanStore(row pgx.Row) (k knownStore, err error) {
	var id, workspace, metadata, settings string
	var description, envelope []byte
	var created, updated int64
	var archived *int64
	info := &k.info
	err = row.Scan(&k.num, &id, &workspace, &info.Name, &description, &metadata,
		&info.Limits.MemoryBytes, &info.Limits.Memories, &info.Limits.Bytes, &info.Limits.PathBytes, &info.Limits.PathDepth, &settings, &envelope,
		&created, &updated, &archived, &info.Usage.Memories, &info.Usage.Bytes, &k.revision)
	if err != nil {
		return k, err
	}
	info.ID, info.Workspace = memento.StoreID(id), memento.Workspace(workspace)
	info.Description, info.Envelope = string(description), string(envelope)
	info.CreatedAt, info.UpdatedAt, info.ArchivedAt = timeOf(created), timeOf(updated), timeOrZero(archived)
	info.Metadata = map[string]string{}
	if metadata != "{}" {
		if err := json.Unmarshal([]byte(metadata), &info.Metadata); err != nil {
			return k, fmt.Errorf("%w: metadata of store %s: %v", memento.ErrFormat, info.ID, err)
		}
	}
	info.Settings, err = backend.DecodeSettings(settings)
	return k, err
}

// A storeCache caches the stores that this process has used.
type storeCache struct {
	mu     sync.Mutex
	stores map[memento.StoreID]knownStore
}

const maxCachedStores = 20_000

func (c *storeCache) get(id memento.StoreID) (k knownStore, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok = c.stores[id]
	return k, ok
}

func (c *storeCache) put(k knownStore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores == nil || len(c.stores) >= maxCachedStores {
		c.stores = map[memento.StoreID]knownStore{}
	}
	c.stores[k.info.ID] = k
}

// setHead caches the head of a store, unless the cached store is not k any more.
func (c *storeCache) setHead(k knownStore, t *storeHead) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.stores[k.info.ID]; ok && now.num == k.num && now.revision == k.revision {
		now.head = t
		c.stores[k.info.ID] = now
	}
}

func (c *storeCache) forget(id memento.StoreID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stores, id)
}

// lookUpStore returns a store from the cache or from the database.
func (b *Backend) lookUpStore(ctx context.Context, op string, id memento.StoreID) (knownStore, error) {
	if k, ok := b.stores.get(id); ok {
		return k, nil
	}
	k, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (knownStore, error) {
		return b.store(ctx, c, op, selectStores+`WHERE s.id = $1`, string(id))
	})
	if err == nil {
		b.stores.put(k)
	}
	return k, err
}

// A querier is a pool or a connection.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (b *Backend) store(ctx context.Context, from querier, op, query string, args ...any) (knownStore, error) {
	if id := args[0].(string); !storable(id) {
		return knownStore{}, errNoStore(op)
	}
	k, err := scanStore(from.QueryRow(ctx, b.sql(query), args...))
	if noRows(err) {
		err = errNoStore(op)
	}
	return k, err
}

// exists returns ErrNoStore if there is no such store.
func (b *Backend) exists(ctx context.Context, op string, id memento.StoreID) error {
	_, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (n int, err error) {
		if !storable(string(id)) {
			return 0, errNoStore(op)
		}
		err = c.QueryRow(ctx, b.sql(`SELECT 1 FROM memento.stores WHERE id = $1`), string(id)).Scan(&n)
		if noRows(err) {
			err = errNoStore(op)
		}
		return n, err
	})
	return err
}

// CreateStore implements [memento.Catalogue].
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (info memento.StoreInfo, err error) {
	const op = "create store"
	err = b.transact(ctx, func(ctx context.Context, t *tx) error {
		taken := false
		first := t.begin()
		if spec.UniqueName && storable(spec.Name) && storable(string(ws)) {
			// Creators of stores with the same name wait for each other.
			first.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, $2))`, b.schema+" "+string(ws)+" "+spec.Name, nameLock)
			first.Queue(b.sql(`SELECT EXISTS (SELECT 1 FROM memento.stores WHERE workspace = $1 AND name = $2 AND archived_at IS NULL)`), string(ws), spec.Name).
				QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
		}
		t.queueStamp(first)
		if err := t.send(ctx, first); err != nil {
			return err
		}
		if info, err = spec.NewInfo(ws, timeOf(t.now)); err != nil {
			return err
		}
		if taken {
			return &memento.Error{Op: op, Err: fmt.Errorf("%w: a store named %q", memento.ErrExist, spec.Name)}
		}
		t.do(`WITH made AS (
				INSERT INTO memento.stores (id, workspace, name, description, metadata,
					max_memory_bytes, max_memories, max_bytes, max_path_bytes, max_path_depth, settings, envelope, created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING num
			), followed AS (
				INSERT INTO memento.indexed (store, seq, revision) SELECT num, 0, num FROM made
			)
			INSERT INTO memento.counters SELECT num, 0, 0, 0, 0, 0 FROM made`,
			string(info.ID), string(ws), info.Name, []byte(info.Description), metadataJSON(info.Metadata),
			info.Limits.MemoryBytes, info.Limits.Memories, info.Limits.Bytes, info.Limits.PathBytes, info.Limits.PathDepth,
			backend.EncodeSettings(info.Settings), []byte(info.Envelope), micros(info.CreatedAt), micros(info.UpdatedAt))
		// Nobody else knows a new ID. An ID from the spec may be used by others.
		t.proof = b.proveRow(`SELECT $2 OR `+ofXID+` FROM memento.stores WHERE id = $3`, t.xid, spec.ID == "", string(info.ID))
		return nil
	})
	if isState(err, stateUniqueViolation) {
		err = &memento.Error{Op: op, Err: fmt.Errorf("%w: a store of this ID", memento.ErrExist)}
	}
	if err != nil {
		return memento.StoreInfo{}, fail(op, err)
	}
	return info, nil
}

// nameLock separates the advisory locks for store names from those of other programs.
const nameLock = 0x6d6d746f

func isState(err error, state string) bool {
	at, ok := errors.AsType[*pgError](err)
	return ok && at.Code == state
}

func metadataJSON(m map[string]string) string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a map of strings always has JSON
	}
	return string(text)
}

// GetStore implements [memento.Catalogue].
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	const op = "get store"
	k, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (knownStore, error) {
		return b.storeInWorkspace(ctx, c, op, ws, id)
	})
	return k.info, err
}

func (b *Backend) storeInWorkspace(ctx context.Context, from querier, op string, ws memento.Workspace, id memento.StoreID) (knownStore, error) {
	k, err := b.store(ctx, from, op, selectStores+`WHERE s.id = $1`, string(id))
	if err == nil && k.info.Workspace != ws {
		return knownStore{}, errNoStore(op)
	}
	return k, err
}

// UpdateStore implements [memento.Catalogue].
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (info memento.StoreInfo, err error) {
	const op = "update store"
	err = b.transact(ctx, func(ctx context.Context, t *tx) error {
		old, err := b.lockStore(ctx, t, op, ws, id)
		if err != nil {
			return err
		}
		if info, err = old.info.Updated(u, t.clock(old.info.UpdatedAt)); err != nil {
			return err
		}
		t.do(`UPDATE memento.stores SET name = $2, description = $3, metadata = $4,
				max_memory_bytes = $5, max_memories = $6, max_bytes = $7, max_path_bytes = $8, max_path_depth = $9,
				settings = $10, envelope = $11, updated_at = $12, archived_at = $13 WHERE num = $1`,
			old.num, info.Name, []byte(info.Description), metadataJSON(info.Metadata),
			info.Limits.MemoryBytes, info.Limits.Memories, info.Limits.Bytes, info.Limits.PathBytes, info.Limits.PathDepth,
			backend.EncodeSettings(info.Settings), []byte(info.Envelope), micros(info.UpdatedAt), optionalMicros(info.ArchivedAt))
		t.do(`UPDATE memento.counters SET revision = revision + 1 WHERE store = $1`, old.num)
		t.proof = b.proveDescription(t.xid, old.num, old.revision)
		return nil
	})
	if err != nil {
		return memento.StoreInfo{}, fail(op, err)
	}
	return info, nil
}

// lockStore begins a transaction, locks a store, and reads its description.
func (b *Backend) lockStore(ctx context.Context, t *tx, op string, ws memento.Workspace, id memento.StoreID) (k knownStore, err error) {
	if !storable(string(id)) {
		return k, errNoStore(op)
	}
	first := t.begin()
	first.Queue(b.sql(`SELECT `+stamp+` FROM memento.counters WHERE store = (SELECT num FROM memento.stores WHERE id = $1) FOR UPDATE`), string(id)).
		QueryRow(func(row pgx.Row) error {
			if err := row.Scan(&t.xid, &t.now); !noRows(err) {
				return err
			}
			return nil
		})
	// A separate statement sees what was written while the first one waited for the lock.
	first.Queue(b.sql(selectStores+`WHERE s.id = $1`), string(id)).QueryRow(func(row pgx.Row) error {
		k, err = scanStore(row)
		return nil // reported below: it is no error of the connection
	})
	if sendErr := t.send(ctx, first); sendErr != nil {
		return k, sendErr
	}
	if noRows(err) || err == nil && (k.info.Workspace != ws || t.xid == "") {
		err = errNoStore(op)
	}
	return k, err
}

// purgeStep is how many rows of a deleted store are removed in one transaction.
const purgeStep = 5000

// DeleteStore implements [memento.Catalogue]. The store and its memories are removed at
// once, its history afterwards in steps, so that transactions are short. If that is
// interrupted, the next DeleteStore on any server continues it.
func (b *Backend) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	const op = "delete store"
	err := b.transact(ctx, func(ctx context.Context, t *tx) error {
		k, err := b.lockStore(ctx, t, op, ws, id)
		if err != nil {
			return err
		}
		t.do(`DELETE FROM memento.stores WHERE num = $1`, k.num)
		t.do(`DELETE FROM memento.counters WHERE store = $1`, k.num)
		t.do(`DELETE FROM memento.memories WHERE store = $1`, k.num) // see getContents
		t.do(`INSERT INTO memento.removals VALUES ($1)`, k.num)
		t.do(`DELETE FROM memento.leases WHERE duty = $1`, backend.VectorLease(id))
		t.proof = b.proveGone(k.num)
		return nil
	})
	if err != nil {
		return fail(op, err)
	}
	b.stores.forget(id)
	b.index.Forget(id)
	// The store is deleted even if this fails.
	_ = b.purgeDeleted(ctx)
	return nil
}

// purgeDeleted removes the remaining rows of deleted stores.
func (b *Backend) purgeDeleted(ctx context.Context) error {
	for {
		more := false
		err := b.transact(ctx, func(ctx context.Context, t *tx) error {
			var store int64
			first := t.begin()
			t.queueStamp(first)
			// Several servers may do this at the same time: each takes another store.
			first.Queue(b.sql(`SELECT store FROM memento.removals LIMIT 1 FOR UPDATE SKIP LOCKED`)).QueryRow(func(row pgx.Row) error {
				if err := row.Scan(&store); !noRows(err) {
					return err
				}
				return nil
			})
			if err := t.send(ctx, first); err != nil || store == 0 {
				more = false
				return err
			}
			more = true
			var removed int64
			steps := new(pgx.Batch)
			// Indexing locks this row, so no blocks are added after it is removed.
			steps.Queue(b.sql(`DELETE FROM memento.indexed WHERE store = $1`), store)
			for _, table := range []string{"search_blocks", "search_segments", "search_deletions", "contents", "versions"} {
				steps.Queue(b.sql(`DELETE FROM memento.`+table+` WHERE ctid = ANY (ARRAY(SELECT ctid FROM memento.`+table+` WHERE store = $1 LIMIT $2))`), store, purgeStep).
					Exec(func(tag tag) error {
						removed += tag.RowsAffected()
						return nil
					})
			}
			if err := t.send(ctx, steps); err != nil {
				return err
			}
			t.do(`DELETE FROM memento.removals WHERE store = $1 AND $2`, store, removed == 0)
			return nil
		})
		if err != nil || !more {
			return err
		}
	}
}

// ListStores implements [memento.Catalogue].
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	query, args := selectStores+`WHERE s.workspace = $1`, []any{string(ws)}
	add := func(condition string, arg any) {
		args = append(args, arg)
		query += fmt.Sprintf(condition, len(args))
	}
	if opts.Name != "" {
		add(` AND s.name = $%d`, opts.Name)
	}
	if opts.After != "" {
		add(` AND s.id < $%d`, string(opts.After)) // IDs sort by time; the store itself may have been deleted
	}
	if !opts.IncludeArchived {
		query += ` AND s.archived_at IS NULL`
	}
	if !opts.CreatedFrom.IsZero() {
		add(` AND s.created_at >= $%d`, ceilMicros(opts.CreatedFrom))
	}
	if !opts.CreatedTo.IsZero() {
		add(` AND s.created_at <= $%d`, floorMicros(opts.CreatedTo))
	}
	query += ` ORDER BY s.id DESC`
	s := stream[memento.StoreInfo]{b: b, op: "list stores", size: func(info *memento.StoreInfo) int { return 1000 + len(info.Envelope) }}
	s.query, s.args = query, args
	s.limit(opts.Limit)
	s.noMatch = !storable(string(ws)) || !storable(opts.Name) || !storable(string(opts.After))
	s.scan = func(rows pgx.Rows) (memento.StoreInfo, error) {
		k, err := scanStore(rows)
		return k.info, err
	}
	return s.all(ctx)
}

// Workspaces implements [backend.WorkspaceLister].
func (b *Backend) Workspaces(ctx context.Context) ([]memento.Workspace, error) {
	return read(ctx, b, "list workspaces", func(ctx context.Context, c *pgxpool.Conn) ([]memento.Workspace, error) {
		rows, err := c.Query(ctx, b.sql(`SELECT DISTINCT workspace FROM memento.stores ORDER BY workspace`))
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memento.Workspace, error) {
			var ws string
			err := row.Scan(&ws)
			return memento.Workspace(ws), err
		})
	})
}

// Positions implements [backend.PositionLister].
func (b *Backend) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	if !storable(string(ws)) {
		return nil, nil
	}
	return read(ctx, b, "list positions", func(ctx context.Context, c *pgxpool.Conn) ([]backend.Position, error) {
		rows, err := c.Query(ctx, b.sql(`SELECT s.id, c.last_seq, c.last_at FROM memento.stores s JOIN memento.counters c ON c.store = s.num
			WHERE s.workspace = $1 AND s.archived_at IS NULL ORDER BY s.id DESC LIMIT $2`), string(ws), limit)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p backend.Position, err error) {
			var id string
			var at int64
			err = row.Scan(&id, &p.Seq, &at)
			p.Store, p.At = memento.StoreID(id), timeOf(at)
			return p, err
		})
	})
}
