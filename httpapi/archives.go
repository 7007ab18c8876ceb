package httpapi

import (
	"fmt"

	"memento"
	"memento/archive"
)

// exportStore sends a store as an archive. If that fails half-way, the connection
// is cut, so that nobody takes what came for whole.
func (a *API) exportStore(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := archive.WriteOptions{ContentsOnly: q.boolean("contents_only"), Now: a.opts.Now}
	if q.err != nil {
		return q.err
	}
	if _, err := c.info(); err != nil {
		return err
	}
	c.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", string(id)+".tar.gz"))
	s := c.snapshot("application/gzip")
	if _, err := archive.Write(c.context(), patient{s}, store, &opts); err != nil {
		return err
	}
	return s.flush()
}

// patient gives each part of an answer its own time.
type patient struct{ s *streaming }

func (p patient) Write(data []byte) (int, error) {
	p.s.buf.Write(data)
	return len(data), p.s.flush()
}

// importStore reads an archive into a store. With its history, which says who did
// what, that is for admins.
func (a *API) importStore(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	q := c.query()
	opts := archive.ReadOptions{
		ContentsOnly: q.boolean("contents_only"), Overwrite: q.boolean("overwrite"),
		MaxBytes: a.opts.MaxImport, Now: a.opts.Now,
	}
	switch {
	case q.err != nil:
		return q.err
	case !opts.ContentsOnly && !c.who.Role.Allows(memento.RoleAdmin):
		return needsRole(memento.RoleAdmin)
	case opts.Overwrite && !opts.ContentsOnly:
		return invalid("overwrite: is for contents_only=true")
	}
	sum, err := archive.Read(c.context(), c.reader(a.opts.MaxImport, bulkTime*a.opts.Timeout), store, by, &opts)
	if err != nil {
		return c.occupied(store, "", err)
	}
	return c.answer(struct {
		Type     string          `json:"type"` // "memory_import"
		Store    memento.StoreID `json:"memory_store_id"`
		Memories int             `json:"memories"`
		Versions int             `json:"versions"`
		Bytes    int64           `json:"bytes"`
		Redacted map[string]int  `json:"redacted"` // by kind
	}{"memory_import", id, sum.Memories, sum.Versions, sum.Bytes, sum.Redacted})
}
