package sqlitestore

import (
	"context"
	"iter"

	"memento"
	"memento/backend/apikey"

	"zombiezen.com/go/sqlite"
)

// Keys are read from the file every time, and never cached: another process may have just
// revoked one.

const selectKeys = `SELECT id, workspace, name, role, hash, hint, created_at, expires_at, revoked_at, used_at FROM keys `

func scanKey(s *sqlite.Stmt) apikey.Key {
	k := apikey.Key{
		ID:        memento.KeyID(s.ColumnText(0)),
		Workspace: memento.Workspace(s.ColumnText(1)),
		Name:      s.ColumnText(2),
		Role:      apikey.Role(s.ColumnText(3)),
		Hint:      s.ColumnText(5),
		CreatedAt: timeAt(s, 6),
		ExpiresAt: timeAt(s, 7),
		RevokedAt: timeAt(s, 8),
		UsedAt:    timeAt(s, 9),
	}
	s.ColumnBytes(4, k.Hash[:])
	return k
}

// AddKey implements [apikey.Keeper].
func (b *Backend) AddKey(ctx context.Context, k apikey.Key) error {
	const op = "add key"
	err := b.writer.run(ctx, func(t *tx) error {
		if err := k.Check(); err != nil {
			return err
		}
		// Checked before it is written: a failed statement would roll back the other
		// changes of this commit.
		known, err := t.one(`SELECT 1 FROM keys WHERE id = ? OR hash = ?`, nil, string(k.ID), k.Hash[:])
		switch {
		case err != nil:
			return err
		case known:
			return &memento.Error{Op: op, Err: memento.ErrExist}
		}
		return t.exec(`INSERT INTO keys (id, workspace, name, role, hash, hint, created_at, expires_at, revoked_at, used_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			string(k.ID), string(k.Workspace), k.Name, string(k.Role), k.Hash[:], k.Hint,
			micros(k.CreatedAt), optionalMicros(k.ExpiresAt), optionalMicros(k.RevokedAt), optionalMicros(k.UsedAt))
	})
	return fail(op, err)
}

// KeyByHash implements [apikey.Keeper].
func (b *Backend) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	const op = "find key"
	return readQuick(ctx, b, op, func(c *conn) (apikey.Key, error) {
		return findKey(c, op, selectKeys+`WHERE hash = ?`, hash[:])
	})
}

// ListKeys implements [apikey.Keeper].
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[apikey.Key, error] {
	return rows(ctx, b, "list keys", func(c *conn, yield func(apikey.Key) bool) error {
		query, args := selectKeys, []any(nil)
		if ws != "" {
			query, args = query+`WHERE workspace = ? `, []any{string(ws)}
		}
		return c.all(query+`ORDER BY created_at, id`, func(s *sqlite.Stmt) bool { return yield(scanKey(s)) }, args...)
	})
}

// UpdateKey implements [apikey.Keeper]. An update without effect only reads.
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u apikey.Update) (apikey.Key, error) {
	const op = "update key"
	find := func(c *conn) (apikey.Key, error) {
		return findKey(c, op, selectKeys+`WHERE id = ? AND workspace = ?`, string(id), string(ws))
	}
	if k, err := read(ctx, b, op, find); err != nil || k.Updated(u) == k {
		return k, err
	}
	change := write[apikey.Key]
	if !u.RevokedAt.IsZero() || !u.ExpiresAt.IsZero() { // a revocation must work on a full disk
		change = writeFreeing[apikey.Key]
	}
	k, err := change(ctx, b.writer, func(t *tx) (apikey.Key, error) {
		k, err := find(t.conn)
		if err != nil {
			return k, err
		}
		k = k.Updated(u)
		return k, t.exec(`UPDATE keys SET expires_at = ?, revoked_at = ?, used_at = ? WHERE id = ?`,
			optionalMicros(k.ExpiresAt), optionalMicros(k.RevokedAt), optionalMicros(k.UsedAt), string(id))
	})
	return k, fail(op, err)
}

func findKey(c *conn, op, query string, args ...any) (k apikey.Key, err error) {
	found, err := c.one(query, func(s *sqlite.Stmt) { k = scanKey(s) }, args...)
	if err == nil && !found {
		err = &memento.Error{Op: op, Err: memento.ErrNotExist}
	}
	return k, err
}
