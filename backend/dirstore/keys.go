package dirstore

import (
	"context"
	"iter"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
)

// Keys are in the database only: nobody needs them as files.

// AddKey implements [apikey.Keeper].
func (b *Backend) AddKey(ctx context.Context, k apikey.Key) error { return b.db.AddKey(ctx, k) }

// KeyByHash implements [apikey.Keeper].
func (b *Backend) KeyByHash(ctx context.Context, hash apikey.Hash) (apikey.Key, error) {
	return b.db.KeyByHash(ctx, hash)
}

// ListKeys implements [apikey.Keeper].
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[apikey.Key, error] {
	return b.db.ListKeys(ctx, ws)
}

// UpdateKey implements [apikey.Keeper].
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u apikey.Update) (apikey.Key, error) {
	return b.db.UpdateKey(ctx, ws, id, u)
}

// Note implements [backend.NoteKeeper]: notes are in the database, too.
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	return b.db.Note(ctx, name)
}

// SetNote implements [backend.NoteKeeper].
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	return b.db.SetNote(ctx, name, text)
}

// Positions implements [backend.PositionLister]. Changes by hand count once they are versions,
// which Watch makes of them.
func (b *Backend) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	return b.db.Positions(ctx, ws, limit)
}
