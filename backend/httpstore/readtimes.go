package httpstore

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"memento"
	"memento/backend/readnotes"
)

// readTiming says when read marks are sent. The server takes the time of the request as
// the read time, since its backend's read times are coarse too.
var readTiming = readnotes.Timing{Every: 15 * time.Minute, Delay: 5 * time.Second, WriteTimeout: 10 * time.Second}

// readsAtOnce is the maximum number of IDs in a request.
const readsAtOnce = 1000

// MarkRead implements [memento.ReadMarker]. Marks are sent after some seconds, and by
// Close.
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	if isID(string(store), "memstore_") && isID(string(id), "mem_") {
		b.reads.Note(store, id, time.Now())
	}
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error {
	if err := b.absent(ctx, "sync reads", nil); err != nil {
		return err
	}
	return b.reads.Sync(ctx)
}

// sendReads sends read marks to the server.
func (b *Backend) sendReads(ctx context.Context, notes map[readnotes.Key]time.Time) error {
	read := map[memento.StoreID][]memento.MemoryID{}
	for key := range notes {
		read[key.Store] = append(read[key.Store], key.Memory)
	}
	var errs []error
	for store, all := range read {
		for ids := range slices.Chunk(all, readsAtOnce) {
			errs = append(errs, b.sendReadsOf(ctx, store, ids))
		}
	}
	return errors.Join(errs...)
}

// sendReadsOf sends the read marks of one store to the server.
func (b *Backend) sendReadsOf(ctx context.Context, store memento.StoreID, ids []memento.MemoryID) error {
	path, _ := storePath(store, "/reads")
	body := struct {
		Memories []memento.MemoryID `json:"memory_ids"`
	}{ids}
	// A repeated mark has no further effect.
	err := b.round(ctx, request{op: "sync reads", method: http.MethodPost, path: path, body: body, safe: true}, nil)
	if errors.Is(err, memento.ErrNoStore) {
		return nil // the store was deleted
	}
	return err
}
