package memstore

import (
	"context"

	"memento"
	"memento/backend/textindex"
)

// Search implements [memento.Searcher]. It first indexes the versions written since the last
// search.
func (b *Backend) Search(ctx context.Context, id memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	var found []memento.Match
	err := b.write(ctx, "search", id, func(s *store) (err error) {
		s.updateIndex()
		found, err = textindex.Search(ctx, []textindex.Part{s.index}, opts, s.lookup)
		return err
	})
	return found, err
}

// updateIndex indexes the memories that have changed since it was last called.
func (s *store) updateIndex() {
	if s.index == nil {
		s.index, s.unindexed = textindex.NewRecent(), map[memento.MemoryID]bool{}
		for id := range s.byID {
			s.changed(id)
		}
	}
	for id := range s.unindexed {
		m := s.byID[id]
		if m == nil {
			s.index.Delete(string(id))
			continue
		}
		text := textindex.Text{Seq: s.byVID[m.Version], Path: m.Path}
		if m.Digest == "" { // encrypted contents are not searched
			text.Contents = m.Content
		}
		s.index.Put(string(id), text)
	}
	clear(s.unindexed)
	s.index.Sort()
}

// changed notes that a memory has to be indexed.
func (s *store) changed(id memento.MemoryID) {
	if s.index != nil {
		s.unindexed[id] = true
	}
}

func (s *store) lookup(_ context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]textindex.Found, error) {
	found := map[memento.MemoryID]textindex.Found{}
	for _, id := range ids {
		f := textindex.Found{Memory: *s.byID[id]}
		if f.Memory.Digest != "" {
			f.Memory.Content = ""
		}
		if actors {
			f.Actor = s.versions[s.from(s.byVID[f.Memory.Version])].CreatedBy
		}
		found[id] = f
	}
	return found, nil
}
