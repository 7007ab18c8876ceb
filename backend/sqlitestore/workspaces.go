package sqlitestore

import (
	"context"
	"time"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

// Workspaces returns the workspaces that have stores, including archived ones, in order of
// their names.
func (b *Backend) Workspaces(ctx context.Context) ([]memento.Workspace, error) {
	return read(ctx, b, "list workspaces", func(c *conn) (found []memento.Workspace, err error) {
		err = c.all(`SELECT DISTINCT workspace FROM stores ORDER BY workspace`, func(s *sqlite.Stmt) bool {
			found = append(found, memento.Workspace(s.ColumnText(0)))
			return true
		})
		return found, err
	})
}

// Positions implements [backend.PositionLister].
func (b *Backend) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	return read(ctx, b, "list positions", func(c *conn) (all []backend.Position, err error) {
		err = c.all(`SELECT s.id, c.last_seq, c.last_at FROM stores s JOIN counters c ON c.store = s.num
			WHERE s.workspace = ? AND s.archived_at IS NULL ORDER BY s.id DESC LIMIT ?`, func(s *sqlite.Stmt) bool {
			all = append(all, backend.Position{Store: memento.StoreID(s.ColumnText(0)), Seq: s.ColumnInt64(1), At: time.UnixMicro(s.ColumnInt64(2)).UTC()})
			return true
		}, string(ws), limit)
		return all, err
	})
}
