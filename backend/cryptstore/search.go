package cryptstore

import (
	"context"
	"fmt"

	"memento"
	"memento/backend/textindex"
)

// Search implements [memento.Searcher] without an index: it decrypts everything in the
// store. The memories that may match are held in memory meanwhile, with their contents.
//
// Errors: memento.ErrUnsupported if the store holds more than [Options].SearchBytes.
func (b *Backend) Search(ctx context.Context, store memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	k, err := b.keysForReading(ctx, op, store)
	if err != nil {
		return nil, err
	}
	_, now, err := b.describe(ctx, store)
	if err != nil {
		return nil, b.fail(k, err)
	}
	if now.Usage.Bytes > b.opts.SearchBytes {
		return nil, &memento.Error{Op: op, Err: fmt.Errorf("%w: the store is encrypted and holds %d bytes; up to %d are searched",
			memento.ErrUnsupported, now.Usage.Bytes, b.opts.SearchBytes)}
	}
	scanner := textindex.NewScanner(opts)
	if scanner.Empty() {
		return nil, nil
	}
	candidates := map[memento.MemoryID]memento.Memory{}
	for e, err := range b.List(ctx, store, memento.ListOptions{Contents: true}) {
		if err != nil {
			return nil, err
		}
		if e.Foreign {
			continue
		}
		mayMatch, err := scanner.Add(ctx, e.Memory.ID, textindex.Text{Seq: e.Memory.Version.SeqHint(), Path: e.Path, Contents: e.Memory.Content})
		if err != nil {
			return nil, err
		}
		if mayMatch {
			candidates[e.Memory.ID] = e.Memory
		}
	}
	return scanner.Search(ctx, func(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]textindex.Found, error) {
		found := map[memento.MemoryID]textindex.Found{}
		for _, id := range ids {
			f := textindex.Found{Memory: candidates[id]}
			if actors {
				v, err := b.inner.GetVersion(ctx, store, f.Memory.Version)
				if err != nil {
					return nil, b.fail(k, err)
				}
				f.Actor = v.CreatedBy
			}
			found[id] = f
		}
		return found, nil
	})
}
