package pgstore

import (
	"context"
	"time"

	"memento"
	"memento/backend/readnotes"

	"github.com/jackc/pgx/v5/pgxpool"
)

// readTiming says when read times are written. They are at most half an hour late, which
// leaves the same again to a cache in front of this backend: see memento.ReadMarker.
var readTiming = readnotes.Timing{Every: 30 * time.Minute, Delay: 30 * time.Second, WriteTimeout: time.Second}

// MarkRead implements [memento.ReadMarker].
func (b *Backend) MarkRead(store memento.StoreID, id memento.MemoryID) {
	b.reads.Note(store, id, time.Now().UTC())
}

// SyncReads implements [memento.ReadMarker].
func (b *Backend) SyncReads(ctx context.Context) error { return b.reads.Sync(ctx) }

// writeReads writes the read times in one statement. It waits for no store's lock, because
// other writers do not change this column.
func (b *Backend) writeReads(ctx context.Context, notes map[readnotes.Key]time.Time) error {
	const query = `UPDATE memento.memories m SET read_at = u.at
		FROM unnest($1::text[], $2::text[], $3::bigint[]) u (store, id, at) JOIN memento.stores s ON s.id = u.store
		WHERE m.store = s.num AND m.id = u.id AND (m.read_at IS NULL OR m.read_at < u.at)`
	var stores, ids []string
	var times []int64
	for key, at := range notes {
		if storable(string(key.Store)) && storable(string(key.Memory)) {
			stores, ids, times = append(stores, string(key.Store)), append(ids, string(key.Memory)), append(times, micros(at))
		}
	}
	_, err := read(ctx, b, "sync reads", func(ctx context.Context, c *pgxpool.Conn) (tag, error) {
		return c.Exec(ctx, b.sql(query), stores, ids, times)
	})
	return err
}
