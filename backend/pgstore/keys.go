package pgstore

import (
	"context"
	"iter"

	"memento"
	"memento/backend/apikey"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Keys are read from the database every time, and never cached: another server may have
// just revoked one.

const selectKeys = `SELECT id, workspace, name, role, hash, hint, created_at, expires_at, revoked_at, used_at FROM memento.keys `

func scanKey(row pgx.Row) (k apikey.Key, err error) {
	var id, workspace, role string
	var hash []byte
	var created int64
	var expires, revoked, used *int64
	err = row.Scan(&id, &workspace, &k.Name, &role, &hash, &k.Hint, &created, &expires, &revoked, &used)
	k.ID, k.Workspace, k.Role = memento.KeyID(id), memento.Workspace(workspace), apikey.Role(role)
	copy(k.Hash[:], hash)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.UsedAt = timeOf(created), timeOrZero(expires), timeOrZero(revoked), timeOrZero(used)
	return k, err
}

// AddKey implements [apikey.Keeper].
func (b *Backend) AddKey(ctx context.Context, k apikey.Key) error {
	const op = "add key"
	err := b.transact(ctx, func(ctx context.Context, t *tx) error {
		if err := k.Check(); err != nil {
			return err
		}
		first := t.begin()
		t.queueStamp(first)
		if err := t.send(ctx, first); err != nil {
			return err
		}
		t.do(`INSERT INTO memento.keys (id, workspace, name, role, hash, hint, created_at, expires_at, revoked_at, used_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			string(k.ID), string(k.Workspace), k.Name, string(k.Role), k.Hash[:], k.Hint,
			micros(k.CreatedAt), optionalMicros(k.ExpiresAt), optionalMicros(k.RevokedAt), optionalMicros(k.UsedAt))
		t.proof = b.proveRow(`SELECT `+ofXID+` FROM memento.keys WHERE id = $2 OR hash = $3`, t.xid, string(k.ID), k.Hash[:])
		return nil
	})
	if isState(err, stateUniqueViolation) {
		err = &memento.Error{Op: op, Err: memento.ErrExist}
	}
	return fail(op, err)
}

// KeyByHash implements [apikey.Keeper].
func (b *Backend) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	const op = "find key"
	return read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (apikey.Key, error) {
		k, err := scanKey(c.QueryRow(ctx, b.sql(selectKeys+`WHERE hash = $1`), hash[:]))
		if noRows(err) {
			return apikey.Key{}, errNotExist(op, "")
		}
		return k, err
	})
}

// ListKeys implements [apikey.Keeper].
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[apikey.Key, error] {
	s := &stream[apikey.Key]{b: b, op: "list keys", query: selectKeys}
	if ws != "" {
		s.query, s.args = s.query+`WHERE workspace = $1 `, []any{string(ws)}
	}
	s.query += `ORDER BY created_at, id`
	s.noMatch = !storable(string(ws))
	s.scan = func(rows pgx.Rows) (apikey.Key, error) { return scanKey(rows) }
	s.size = func(*apikey.Key) int { return 500 }
	return s.all(ctx)
}

// UpdateKey implements [apikey.Keeper]. An update without effect only reads.
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u apikey.Update) (apikey.Key, error) {
	const op = "update key"
	const ofWorkspace = `WHERE id = $1 AND workspace = $2`
	if !storable(string(ws)) || !storable(string(id)) {
		ws, id = "", ""
	}
	k, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (apikey.Key, error) {
		k, err := scanKey(c.QueryRow(ctx, b.sql(selectKeys+ofWorkspace), string(id), string(ws)))
		if noRows(err) {
			err = errNotExist(op, "")
		}
		return k, err
	})
	if err != nil {
		return apikey.Key{}, err
	}
	if k.Updated(u) == k {
		return k, nil
	}
	err = b.transact(ctx, func(ctx context.Context, t *tx) error {
		first := t.begin()
		t.queueStamp(first)
		first.Queue(b.sql(selectKeys+ofWorkspace+` FOR UPDATE`), string(id), string(ws)).QueryRow(func(r pgx.Row) (err error) {
			if k, err = scanKey(r); noRows(err) {
				err = errNotExist(op, "")
			}
			return err
		})
		if err := t.send(ctx, first); err != nil {
			return err
		}
		k = k.Updated(u)
		t.do(`UPDATE memento.keys SET expires_at = $2, revoked_at = $3, used_at = $4 WHERE id = $1`,
			string(id), optionalMicros(k.ExpiresAt), optionalMicros(k.RevokedAt), optionalMicros(k.UsedAt))
		return nil
	})
	if err != nil {
		return apikey.Key{}, fail(op, err)
	}
	return k, nil
}
