package pgstore

import (
	"context"
	"slices"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pruneStep is how many versions are removed in one transaction, to keep transactions
// short.
const pruneStep = 2000

// A removal is a version to remove, and the row of its contents; 0 if a remaining version
// has the same contents.
type removal struct{ seq, content int64 }

// A removalList has the versions to remove from the store with this number.
type removalList struct {
	store    int64
	versions []removal
}

// Prune implements [memento.History]. The package comment says when disk space is freed.
func (b *Backend) Prune(ctx context.Context, store memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	const op = "prune"
	goes, sum, err := b.prunable(ctx, op, store, opts)
	if err != nil || opts.DryRun {
		return sum, err
	}
	// Oldest first: if this is interrupted, the remaining history has no gaps.
	slices.Reverse(goes.versions)
	for step := range slices.Chunk(goes.versions, pruneStep) {
		err := b.transact(ctx, func(ctx context.Context, t *tx) error { return b.prune(ctx, t, goes.store, step) })
		if err != nil {
			return memento.Pruned{}, fail(op, err)
		}
	}
	if opts.Memory == "" {
		// Also if nothing was removed: a process may have died before purging the index.
		return sum, fail(op, b.purgeIndex(ctx, store))
	}
	if len(goes.versions) > 0 { // this is one of many calls
		b.index.BehindAfter(store, purgeDelay)
	}
	return sum, nil
}

// prunable returns the versions to remove, newest first, and their sums.
func (b *Backend) prunable(ctx context.Context, op string, store memento.StoreID, opts memento.PruneOptions) (goes removalList, sum memento.Pruned, err error) {
	query, args := `SELECT `+versionColumns+`, v.store FROM memento.versions v WHERE v.store = `+ofStore, []any{string(store)}
	if opts.Memory != "" {
		query, args = query+` AND v.memory = $2`, append(args, string(opts.Memory))
	}
	goes, err = read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (goes removalList, err error) {
		sum = memento.Pruned{}
		if !storable(string(opts.Memory)) || !storable(string(store)) {
			return goes, nil
		}
		p := backend.Pruner{PruneOptions: opts}
		last := map[memento.MemoryID]int64{} // memory → contents row of its oldest version so far
		rows, err := c.Query(ctx, b.sql(query+` ORDER BY v.seq DESC`), args...)
		if err != nil {
			return goes, err
		}
		var row versionRow
		_, err = pgx.ForEachRow(rows, row.targets(&goes.store), func() error {
			v := row.version()
			if p.Goes(&v) {
				sum.Versions++
				sum.Bytes += v.Size
				r := removal{seq: v.Seq}
				if row.content != last[v.Memory] {
					r.content = row.content
				}
				goes.versions = append(goes.versions, r)
			}
			if row.content != 0 { // versions that share contents are adjacent
				last[v.Memory] = row.content
			}
			row = versionRow{}
			return nil
		})
		return goes, err
	})
	if err == nil && len(goes.versions) == 0 {
		err = b.exists(ctx, op, store)
	}
	return goes, sum, err
}

func (b *Backend) prune(ctx context.Context, t *tx, store int64, goes []removal) error {
	first := t.begin()
	t.queueStamp(first)
	if err := t.send(ctx, first); err != nil {
		return err
	}
	seqs, contents := make([]int64, len(goes)), make([]int64, 0, len(goes))
	for i, r := range goes {
		seqs[i] = r.seq
		if r.content != 0 {
			contents = append(contents, r.content)
		}
	}
	t.do(`DELETE FROM memento.contents WHERE store = $1 AND seq = ANY ($2::bigint[])`, store, contents)
	// Nothing else would tell the index of deletions that it has not followed yet. Publish
	// locks the same row.
	t.do(`SELECT 1 FROM memento.indexed WHERE store = $1 FOR UPDATE`, store)
	t.do(`INSERT INTO memento.search_deletions (store, seq, memory)
		SELECT v.store, v.seq, v.memory FROM memento.versions v JOIN memento.indexed i ON i.store = v.store
		WHERE v.store = $1 AND v.seq = ANY ($2::bigint[]) AND v.seq > i.seq
		AND NOT EXISTS (SELECT 1 FROM memento.memories m WHERE m.store = v.store AND m.id = v.memory) ON CONFLICT DO NOTHING`, store, seqs)
	t.do(`DELETE FROM memento.versions WHERE store = $1 AND seq = ANY ($2::bigint[])`, store, seqs)
	t.requestPurge(store)
	return nil
}
