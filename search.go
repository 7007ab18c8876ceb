package memento

import (
	"context"
	"errors"
	"slices"
)

// A StoreMatch is what a search of several stores found.
type StoreMatch struct {
	Store int // index of the store
	Match
}

// SearchStores searches stores for an agent. Hidden memories, which agents are not shown,
// are left out. Matches of several stores take turns, because their scores do not compare;
// stores that do not exist have none. more is whether a store may have others, which its
// backend did not return because of hidden ones.
//
// Errors: those of [Store.Search].
func SearchStores(ctx context.Context, stores []*Store, opts SearchOptions) (found []StoreMatch, more bool, err error) {
	if opts.Limit <= 0 {
		opts.Limit = 20
	}
	var lists [][]Match
	longest := 0
	for _, s := range stores {
		list, cut, err := searchVisible(ctx, s, opts)
		if err != nil && !errors.Is(err, ErrNoStore) {
			return nil, false, err
		}
		more = more || cut
		lists = append(lists, list)
		longest = max(longest, len(list))
	}
	for rank := range longest {
		for i, list := range lists {
			if rank < len(list) {
				found = append(found, StoreMatch{i, list[rank]})
			}
		}
	}
	return found[:min(len(found), opts.Limit)], more, nil
}

// maxSearched is how many matches of one store are looked through for those that are not
// hidden. No backend has a lower limit.
const maxSearched = 10_000

// searchVisible returns the best matches of one store that are not hidden. No backend
// leaves those out, so it asks for more until there are enough. cut is whether there were
// not, among as many matches as it asks for.
func searchVisible(ctx context.Context, s *Store, opts SearchOptions) (found []Match, cut bool, err error) {
	want := opts.Limit
	for {
		found, err = s.Search(ctx, opts)
		if err != nil {
			return nil, false, err
		}
		all := len(found) < opts.Limit
		found = slices.DeleteFunc(found, func(m Match) bool { return m.Memory.Path.IsHidden() })
		if all || len(found) >= want || opts.Limit >= maxSearched {
			return found, !all && len(found) < want, nil
		}
		opts.Limit = min(4*opts.Limit, maxSearched)
	}
}
