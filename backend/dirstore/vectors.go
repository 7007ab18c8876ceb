package dirstore

import (
	"context"
	"iter"

	"memento"
	"memento/backend"
)

var _ backend.VectorKeeper = (*Backend)(nil)

// Vectors implements [backend.VectorKeeper].
func (b *Backend) Vectors(ctx context.Context, store memento.StoreID, model string, ids []memento.MemoryID) iter.Seq2[backend.MemoryVectors, error] {
	return b.db.Vectors(ctx, store, model, ids)
}

// PutVectors implements [backend.VectorKeeper].
func (b *Backend) PutVectors(ctx context.Context, store memento.StoreID, model string, memories []backend.MemoryVectors) ([]bool, error) {
	return b.db.PutVectors(ctx, store, model, memories)
}
