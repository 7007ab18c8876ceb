package pgstore

import (
	"context"
	"slices"

	"memento"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pruneStep is how many versions are removed in one transaction, so that none is
// a long one.
const pruneStep = 2000

// A removal is a version to be removed, and the row of its contents if no
// version that stays has them, else 0.
type removal struct{ seq, content int64 }

// removals are of the store that the tables call by this number.
type removalList struct {
	store    int64
	versions []removal
}

// Prune implements [memento.History]. See the package comment for the space that
// the removed were in.
func (b *Backend) Prune(ctx context.Context, store memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	const op = "prune"
	goes, sum, err := b.prunable(ctx, op, store, opts)
	if err != nil || opts.DryRun {
		return sum, err
	}
	// Oldest first: what is left of a memory's history is whole.
	slices.Reverse(goes.versions)
	for step := range slices.Chunk(goes.versions, pruneStep) {
		err := b.transact(ctx, func(ctx context.Context, t *tx) error { return b.prune(ctx, t, goes.store, step) })
		if err != nil {
			return memento.Pruned{}, fail(op, err)
		}
	}
	if opts.Memory == "" { // else one of many such calls: the words are for the next search
		err = b.updateIndex(ctx, store)
	}
	return sum, fail(op, err)
}

// prunable returns what goes, newest first, and counts it.
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
		p := memento.Pruner{PruneOptions: opts}
		last := map[memento.MemoryID]int64{} // row of the contents of each memory's oldest version so far
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
			if row.content != 0 { // versions that share contents follow one another
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
	t.do(`DELETE FROM memento.versions WHERE store = $1 AND seq = ANY ($2::bigint[])`, store, seqs)
	return nil
}
