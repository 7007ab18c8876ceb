package sqlitestore

import (
	"context"

	"memento"

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
