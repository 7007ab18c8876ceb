package sqlitestore

import (
	"context"
	"time"

	"memento"
	"memento/internal/readnotes"
)

// flushPatience is how long notes wait for other processes; they are not worth more.
const flushTimeout = 100 * time.Millisecond

// readTiming says when reads are noted. A read time is off by half an hour at the
// most, which leaves as much to whoever notes reads in front of this: see
// memento.ReadMarker.
var readTiming = readnotes.Timing{Every: 30 * time.Minute, Delay: 30 * time.Second, WriteTimeout: flushTimeout}

// MarkRead implements [memento.ReadMarker].
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	b.reads.Note(store, id, b.clock(time.Time{}))
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error { return fail("sync reads", b.reads.Sync(ctx)) }

func (b *Backend) writeReads(ctx context.Context, notes map[readnotes.Key]time.Time) error {
	// What expires next depends on it, and that must not wait for room.
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
