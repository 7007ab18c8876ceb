package dirstore

import (
	"context"
	"iter"

	"memento"
)

// Keys are in the database only: nobody needs them as files.

// AddKey implements [memento.KeyKeeper].
func (b *Backend) AddKey(ctx context.Context, k memento.Key) error { return b.db.AddKey(ctx, k) }

// KeyByHash implements [memento.KeyKeeper].
func (b *Backend) KeyByHash(ctx context.Context, hash memento.KeyHash) (memento.Key, error) {
	return b.db.KeyByHash(ctx, hash)
}

// ListKeys implements [memento.KeyKeeper].
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[memento.Key, error] {
	return b.db.ListKeys(ctx, ws)
}

// UpdateKey implements [memento.KeyKeeper].
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u memento.KeyUpdate) (memento.Key, error) {
	return b.db.UpdateKey(ctx, ws, id, u)
}

// Note implements [memento.NoteKeeper]: notes are in the database, too.
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	return b.db.Note(ctx, name)
}

// SetNote implements [memento.NoteKeeper].
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	return b.db.SetNote(ctx, name, text)
}
