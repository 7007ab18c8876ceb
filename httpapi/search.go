package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"memento"
	"memento/internal/wire"
)

const (
	maxQueryBytes = 10_000
	maxMatches    = 10_000  // of all pages
	matchCost     = 3 << 10 // bytes of memory that a match and its answer take
)

// searchAnswer is a page of matches.
type searchAnswer struct {
	Type  string          `json:"type"` // "memory_search"
	Store memento.StoreID `json:"memory_store_id"`
	page[wire.Match]
}

// search answers with the memories that match, best match first.
func (a *API) search(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := memento.SearchOptions{Query: q.text("query"), Dir: q.dir(), All: q.matchAll()}
	limit := int(q.integer("limit", standardLimit, 1, maxMatches))
	if len(opts.Query) > maxQueryBytes {
		q.fail("query: has more than %d bytes", maxQueryBytes)
	}
	after := q.afterMatch(opts)
	if q.err != nil {
		return q.err
	}
	if err := c.charge(int64(after.most(limit)) * matchCost); err != nil {
		return err
	}
	scan, err := c.acquire(a.scans, 1)
	if err != nil {
		return err
	}
	defer scan.release()
	found, begin, err := searchFrom(c.context(), store, opts, after, limit)
	scan.release()
	if err != nil {
		return err
	}
	end := min(begin+limit, len(found))
	answer := searchAnswer{Type: "memory_search", Store: id, page: page[wire.Match]{Data: []wire.Match{}}}
	for _, m := range found[begin:end] {
		w := wire.FromMatch(id, m)
		memory := wire.FromMemory(id, m.Memory, false)
		w.Memory = &memory
		answer.Data = append(answer.Data, w)
	}
	if begin < end && end < len(found) {
		last := &found[end-1].Memory
		answer.Next = matchCursor{end, last.ID, last.Version}.page(opts)
	}
	return c.answer(answer)
}

// searchFrom returns the matches up to the end of a page, and one more if there is one; and
// the index of the first match of the page. The matches before it are ranked again, because
// no server keeps them.
func searchFrom(ctx context.Context, store *memento.Store, opts memento.SearchOptions, after matchCursor, limit int) (found []memento.Match, begin int, err error) {
	opts.Limit = min(after.count+limit+1, maxMatches)
	if found, err = store.Search(ctx, opts); err != nil {
		return nil, 0, err
	}
	begin = after.position(found)
	if want := min(begin+limit+1, maxMatches); len(found) == opts.Limit && want > opts.Limit {
		// Other memories have come before the page.
		opts.Limit = want
		if found, err = store.Search(ctx, opts); err != nil {
			return nil, 0, err
		}
		begin = after.position(found)
	}
	return found, begin, nil
}

// matchAll reports whether every word has to match.
func (q *query) matchAll() bool {
	switch q.text("match") {
	case "", "any":
		return false
	case "all":
		return true
	}
	q.fail(`match: must be "any" or "all"`)
	return false
}

// A matchCursor is a place among the matches of a search. The next page begins after the
// last match of the page before, wherever it stands then: writes to other memories move all
// scores a little. If that memory has been changed or deleted, its number says where it was.
type matchCursor struct {
	count   int // of the matches on the pages before
	memory  memento.MemoryID
	version memento.VersionID // of that memory, the last of them
}

// most returns how many matches are looked for at most to fill the page.
func (m matchCursor) most(limit int) int {
	if m.count == 0 {
		return min(limit+1, maxMatches)
	}
	return min(m.count+2*(limit+1), maxMatches)
}

// position returns the index of the first match of the page.
func (m matchCursor) position(found []memento.Match) int {
	if m.count == 0 {
		return 0
	}
	if i := slices.IndexFunc(found, func(f memento.Match) bool { return f.Memory.Version == m.version }); i >= 0 {
		return i + 1
	}
	begin := m.count - 1
	if slices.ContainsFunc(found[:min(begin, len(found))], func(f memento.Match) bool { return f.Memory.ID == m.memory }) {
		begin++ // it comes before the others now
	}
	return min(begin, len(found))
}

// searchCursors is the kind of the cursors of searches.
const searchCursors = 'q'

// page returns the cursor as clients see it. It is for one query only.
func (m matchCursor) page(opts memento.SearchOptions) *string {
	return pageAfter(searchCursors, fmt.Sprintf("%d %s %s %s", m.count, m.memory, m.version, searchDigest(opts)))
}

// searchDigest tells searches apart.
func searchDigest(opts memento.SearchOptions) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t", opts.Query, opts.Dir, opts.All))
	return hex.EncodeToString(sum[:8])
}

// afterMatch returns the place at which the requested page begins.
func (q *query) afterMatch(opts memento.SearchOptions) (m matchCursor) {
	after := q.after(searchCursors)
	if after == "" {
		return m
	}
	fields := strings.Split(after, " ")
	if len(fields) == 4 && isID(fields[1], "mem_") && isID(fields[2], "memver_") {
		m.memory, m.version = memento.MemoryID(fields[1]), memento.VersionID(fields[2])
		m.count, _ = strconv.Atoi(fields[0])
	}
	switch {
	case m.count < 1 || m.count > maxMatches:
		q.fail(badPage)
	case fields[3] != searchDigest(opts):
		q.fail("page: is a cursor of another search: repeat query, match and path_prefix with it")
	}
	return m
}
