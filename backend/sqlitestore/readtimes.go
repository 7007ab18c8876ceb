package sqlitestore

import (
	"context"
	"time"

	"memento"
	"memento/backend/readnotes"
)

// flushTimeout is how long writing read times waits for other processes. They are not worth
// a longer wait.
const flushTimeout = 100 * time.Millisecond

// readTiming says when read times are written. They are at most half an hour late, which
// leaves the same again to a cache in front of this backend: see memento.ReadMarker.
var readTiming = readnotes.Timing{Every: 30 * time.Minute, Delay: 30 * time.Second, WriteTimeout: flushTimeout}

// MarkRead implements [memento.ReadMarker].
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	b.reads.Note(store, id, b.clock(time.Time{}))
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error { return fail("sync reads", b.reads.Sync(ctx)) }

func (b *Backend) writeReads(ctx context.Context, notes map[readnotes.Key]time.Time) error {
	if b.scratch != "" { // the file cannot be written
		return nil
	}
	// Expiry depends on read times, and must work on a full disk.
	return b.writer.runFreeing(ctx, func(t *tx) error {
		for key, at := range notes {
			if err := t.exec(`UPDATE memories SET read_at = ?1
				WHERE store = (SELECT num FROM stores WHERE id = ?2) AND id = ?3 AND (read_at IS NULL OR read_at < ?1)`,
				micros(at), string(key.Store), string(key.Memory)); err != nil {
				return err
			}
		}
		return nil
	})
}
