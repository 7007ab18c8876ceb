package pgstore

import (
	"context"
	"time"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5/pgxpool"
)

// StorageTime implements [backend.Clock] with the clock of the database server.
func (b *Backend) StorageTime(ctx context.Context) (time.Time, error) {
	return read(ctx, b, "ask for the time", func(ctx context.Context, c *pgxpool.Conn) (time.Time, error) {
		var now int64
		err := c.QueryRow(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&now)
		return timeOf(now), err
	})
}

// Note implements [backend.NoteKeeper].
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	if !storable(name) {
		return "", nil
	}
	return read(ctx, b, "read note", func(ctx context.Context, c *pgxpool.Conn) (text string, err error) {
		err = c.QueryRow(ctx, b.sql(`SELECT text FROM memento.notes WHERE name = $1`), name).Scan(&text)
		if noRows(err) {
			err = nil
		}
		return text, err
	})
}

// SetNote implements [backend.NoteKeeper].
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	const op = "set note"
	if err := backend.CheckNote(name, text); err != nil {
		return &memento.Error{Op: op, Err: err}
	}
	if !storable(text) {
		return &memento.Error{Op: op, Err: invalid("a note must not contain U+0000")}
	}
	// The statement is idempotent, so a lost answer does no harm.
	_, err := read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (tag, error) {
		return c.Exec(ctx, b.sql(`INSERT INTO memento.notes (name, text) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET text = excluded.text`), name, text)
	})
	return err
}
