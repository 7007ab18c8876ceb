package sqlitestore

import (
	"context"

	"memento"
	"memento/backend"

	"zombiezen.com/go/sqlite"
)

// Note implements [backend.NoteKeeper].
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	return read(ctx, b, "read note", func(c *conn) (text string, err error) {
		_, err = c.one(`SELECT text FROM notes WHERE name = ?`, func(s *sqlite.Stmt) { text = s.ColumnText(0) }, name)
		return text, err
	})
}

// SetNote implements [backend.NoteKeeper].
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	const op = "set note"
	if err := backend.CheckNote(name, text); err != nil {
		return &memento.Error{Op: op, Err: err}
	}
	// Maintenance sets a note before it removes something, and that must work on a full
	// disk.
	return fail(op, b.writer.runFreeing(ctx, func(t *tx) error {
		return t.exec(`INSERT INTO notes VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET text = ?2`, name, text)
	}))
}
