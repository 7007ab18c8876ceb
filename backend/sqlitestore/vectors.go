package sqlitestore

import (
	"context"
	"iter"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

var _ backend.VectorKeeper = (*Backend)(nil)

// Vectors implements [backend.VectorKeeper].
func (b *Backend) Vectors(ctx context.Context, store memento.StoreID, model string, ids []memento.MemoryID) iter.Seq2[backend.MemoryVectors, error] {
	const op = "vectors"
	return rows(ctx, b, op, func(c *conn, yield func(backend.MemoryVectors) bool) error {
		num, err := b.storeNum(c, op, store)
		if err != nil {
			return err
		}
		return c.inTx(func() error {
			if err := exists(c, op, num); err != nil {
				return err
			}
			more := true
			scan := func(s *sqlite.Stmt) bool {
				m := backend.MemoryVectors{
					Memory: memento.MemoryID(s.ColumnText(0)), Path: memento.Path(s.ColumnText(1)), Version: memento.VersionID(s.ColumnText(2)),
				}
				if !s.ColumnIsNull(3) {
					m.Vectors = backend.DecodeVectors(bytesAt(s, 3))
				}
				if ids == nil || m.Vectors != nil {
					more = yield(m)
				}
				return more
			}
			if ids == nil {
				return c.all(`SELECT m.id, m.path, m.version, v.data FROM memories m
					LEFT JOIN vectors v ON v.store = m.store AND v.memory = m.id AND v.model = ?2 WHERE m.store = ?1`, scan, num, model)
			}
			for _, id := range ids {
				err := c.all(`SELECT m.id, m.path, m.version, v.data FROM vectors v CROSS JOIN memories m ON m.store = v.store AND m.id = v.memory
					WHERE v.store = ?1 AND v.memory = ?3 AND v.model = ?2`, scan, num, model, id)
				if err != nil || !more {
					return err
				}
			}
			return nil
		})
	})
}

// PutVectors implements [backend.VectorKeeper].
func (b *Backend) PutVectors(ctx context.Context, store memento.StoreID, model string, memories []backend.MemoryVectors) (kept []bool, err error) {
	const op = "keep vectors"
	if err := backend.CheckVectors(model, memories); err != nil {
		return nil, fail(op, err)
	}
	kept, err = submit(ctx, b.writer, job{indexes: true}, func(t *tx) ([]bool, error) {
		num, err := b.storeNum(t.conn, op, store)
		if err == nil {
			err = exists(t.conn, op, num)
		}
		if b.clearStoreNums(err) {
			num, err = b.storeNum(t.conn, op, store)
		}
		if err != nil {
			return nil, err
		}
		if err := t.exec(`UPDATE counters SET has_vectors = 1 WHERE store = ? AND has_vectors = 0`, num); err != nil {
			return nil, err
		}
		kept := make([]bool, len(memories))
		for i, m := range memories {
			err := t.exec(`INSERT INTO vectors (store, memory, model, data)
				SELECT store, id, ?4, ?5 FROM memories WHERE store = ?1 AND id = ?2 AND version = ?3
				ON CONFLICT DO UPDATE SET model = excluded.model, data = excluded.data`,
				num, m.Memory, m.Version, model, backend.EncodeVectors(m.Vectors))
			if err != nil {
				return nil, err
			}
			kept[i] = t.Changes() > 0
		}
		return kept, nil
	})
	return kept, fail(op, err)
}

// dropVectors removes the vectors of a memory whose contents an effect replaces or removes.
func (a *apply) dropVectors(e backend.Effect) error {
	if !a.state.hasVectors || e.Before.ID == "" || e.After.ID != "" && !e.Rewrite {
		return nil
	}
	return a.tx.exec(`DELETE FROM vectors WHERE store = ? AND memory = ?`, a.store, e.Before.ID)
}
