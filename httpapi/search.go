package httpapi

import (
	"memento"
	"memento/internal/wire"
)

const (
	maxQueryBytes = 10_000
	maxMatches    = 10_000
	matchCost     = 2 << 10 // bytes of memory that a match and its answer take
)

// search answers with the memories that match, best match first.
func (a *API) search(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := memento.SearchOptions{
		Query: q.text("query"),
		Dir:   q.dir(),
		Limit: int(q.integer("limit", standardLimit, 1, maxMatches)),
	}
	if len(opts.Query) > maxQueryBytes {
		q.fail("query: has more than %d bytes", maxQueryBytes)
	}
	if q.err != nil {
		return q.err
	}
	if err := c.charge(int64(opts.Limit) * matchCost); err != nil {
		return err
	}
	scan, err := c.acquire(a.scans, 1)
	if err != nil {
		return err
	}
	defer scan.release()
	found, err := store.Search(c.context(), opts)
	scan.release()
	if err != nil {
		return err
	}
	answer := struct {
		Type  string          `json:"type"` // "memory_search"
		Store memento.StoreID `json:"memory_store_id"`
		Data  []wire.Match    `json:"data"`
	}{"memory_search", id, []wire.Match{}}
	for _, m := range found {
		w := wire.FromMatch(id, m)
		memory := wire.FromMemory(id, m.Memory, false)
		w.Memory = &memory
		answer.Data = append(answer.Data, w)
	}
	return c.answer(answer)
}
