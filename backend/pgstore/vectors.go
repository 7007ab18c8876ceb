package pgstore

import (
	"context"
	"iter"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var _ backend.VectorKeeper = (*Backend)(nil)

const (
	// The vectors are a subquery, not a join, for the reason that contentColumns has.
	selectVectors = `SELECT m.id, m.path, m.version,
		(SELECT v.data FROM memento.vectors v WHERE v.store = m.store AND v.memory = m.id AND v.model = $2)
		FROM memento.memories m WHERE m.store = ` + ofStore

	selectSomeVectors = selectVectors + ` AND m.id = ANY ($3::text[])`

	// putVectors locks memories, so that each has the version until its vectors are there.
	// Triggers of the table of memories remove them later. The store is passed as a column,
	// too: see updateMemories.
	putVectors = `WITH l AS MATERIALIZED (
			SELECT m.store, m.id, u.data
			FROM unnest(array_fill($1::bigint, ARRAY[cardinality($2::text[])]), $2::text[], $3::text[], $4::bytea[]) u (store, memory, version, data)
			JOIN memento.memories m ON m.store = u.store AND m.id = u.memory AND m.version = u.version FOR UPDATE OF m`

	nowVectors = `
		), e AS (
			UPDATE memento.memories m SET embedded = true FROM l WHERE m.store = l.store AND m.id = l.id AND NOT m.embedded
		)
		INSERT INTO memento.vectors (store, memory, model, data) SELECT l.store, l.id, $5, l.data FROM l
		ON CONFLICT (store, memory) DO UPDATE SET model = excluded.model, data = excluded.data RETURNING memory`

	// Of many memories, those that somebody is writing are left out: waiting for one while
	// others are locked could be a deadlock.
	putManyVectors = putVectors + ` SKIP LOCKED` + nowVectors
	putOneVector   = putVectors + nowVectors
)

// Vectors implements [backend.VectorKeeper].
func (b *Backend) Vectors(ctx context.Context, store memento.StoreID, model string, ids []memento.MemoryID) iter.Seq2[backend.MemoryVectors, error] {
	const op = "vectors"
	return func(yield func(backend.MemoryVectors, error) bool) {
		s := stream[backend.MemoryVectors]{
			b: b, op: op, query: selectVectors, args: []any{string(store), model}, noMatch: !storable(string(store)) || !storable(model),
			scan: func(rows pgx.Rows) (m backend.MemoryVectors, err error) {
				var data []byte
				err = rows.Scan(&m.Memory, &m.Path, &m.Version, &data)
				if data != nil {
					m.Vectors = backend.DecodeVectors(data)
				}
				return m, err
			},
			size: func(m *backend.MemoryVectors) (n int) {
				for i := range m.Vectors {
					n += 100 + len(m.Vectors[i].Values)
				}
				return n + 200
			},
			empty: func(ctx context.Context) error { return b.exists(ctx, op, store) },
		}
		if ids != nil {
			some := make([]string, 0, len(ids))
			for _, id := range ids {
				if storable(string(id)) {
					some = append(some, string(id))
				}
			}
			s.query, s.args = selectSomeVectors, append(s.args, some)
		}
		for m, err := range s.all(ctx) {
			if err == nil && ids != nil && m.Vectors == nil {
				continue // they are damaged
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// PutVectors implements [backend.VectorKeeper].
func (b *Backend) PutVectors(ctx context.Context, store memento.StoreID, model string, memories []backend.MemoryVectors) (kept []bool, err error) {
	const op = "keep vectors"
	if err := backend.CheckVectors(model, memories); err != nil {
		return nil, fail(op, err)
	}
	if !storable(model) {
		return nil, &memento.Error{Op: op, Err: invalid("the name of a model contains U+0000")}
	}
	err = b.withStore(ctx, op, store, func(k knownStore) error {
		kept, err = b.putVectors(ctx, op, k.num, model, memories)
		return err
	})
	return kept, err
}

func (b *Backend) putVectors(ctx context.Context, op string, store int64, model string, memories []backend.MemoryVectors) (kept []bool, err error) {
	there, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (there bool, err error) {
		err = c.QueryRow(ctx, b.sql(`SELECT EXISTS (SELECT 1 FROM memento.counters WHERE store = $1)`), store).Scan(&there)
		return there, err
	})
	if err == nil && !there {
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	kept = make([]bool, len(memories))
	some := make([]int, 0, len(memories))
	for i, m := range memories {
		if storable(string(m.Memory)) && storable(string(m.Version)) {
			some = append(some, i)
		}
	}
	put := func(statement string, some []int) error {
		at := map[string]int{}
		var ids, versions []string
		var data [][]byte
		for _, i := range some {
			m := &memories[i]
			at[string(m.Memory)] = i
			ids, versions, data = append(ids, string(m.Memory)), append(versions, string(m.Version)), append(data, backend.EncodeVectors(m.Vectors))
		}
		_, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (struct{}, error) {
			// The statement is idempotent, so a lost answer does no harm.
			rows, err := c.Query(ctx, b.sql(statement), store, ids, versions, data, model)
			if err != nil {
				return struct{}{}, err
			}
			var id string
			_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
				kept[at[id]] = true
				return nil
			})
			return struct{}{}, err
		})
		return err
	}
	if err := put(putManyVectors, some); err != nil {
		return nil, err
	}
	for _, i := range some {
		if !kept[i] {
			if err := put(putOneVector, []int{i}); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}
