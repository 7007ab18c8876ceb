package httpapi

import (
	"fmt"
	"runtime"

	"memento"
	"memento/backend/apikey"
	"memento/exchange/archive"
)

const (
	exportCost = 4 << 20 // bytes of memory of an export: the compressor, and buffers
	memoryCost = 384     // the same of each memory in it
)

// exportStore sends a store as an archive. The store is read before the first byte is
// sent, so that a slow client keeps no state in the backend. If it fails later, the
// connection is cut, so that the client does not take a part for the whole.
func (a *API) exportStore(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := archive.WriteOptions{ContentsOnly: q.boolean("contents_only"), Now: a.opts.Now}
	if q.err != nil {
		return q.err
	}
	info, err := c.info()
	if err != nil {
		return err
	}
	if err := c.reserve(exportCost + memoryCost*info.Usage.Memories); err != nil {
		return err
	}
	scan, err := c.acquire(a.scans, 1)
	if err != nil {
		return err
	}
	defer scan.release()
	opts.Collected = scan.release
	w := &deadlineWriter{c: c, name: string(id) + ".tar.gz"}
	if _, err := archive.Write(c.context(), w, store, &opts); err != nil {
		return err
	}
	return w.s.flush()
}

// A deadlineWriter begins the answer at the first write, and gives each write its own
// deadline.
type deadlineWriter struct {
	c    *call
	name string          // of the file
	s    *responseStream // nil before the first part
}

func (p *deadlineWriter) Write(data []byte) (int, error) {
	if p.s == nil {
		p.c.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", p.name))
		p.s = p.c.snapshot("application/gzip")
	}
	p.s.buf.Write(data)
	runtime.Gosched()
	return len(data), p.s.flush()
}

// importStore reads an archive into a store. Importing its history needs the role admin,
// because the history names the authors of changes.
func (a *API) importStore(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	q := c.query()
	opts := archive.ReadOptions{
		ContentsOnly: q.boolean("contents_only"), Overwrite: q.boolean("overwrite"),
		MaxBytes: a.opts.MaxImport, Now: a.opts.Now,
	}
	switch {
	case q.err != nil:
		return q.err
	case !opts.ContentsOnly && !c.who.Role.Allows(apikey.RoleAdmin):
		return needsRole(apikey.RoleAdmin)
	case opts.Overwrite && !opts.ContentsOnly:
		return invalid("overwrite: is for contents_only=true")
	}
	opts.Reserve = c.reserve
	loaded, err := archive.Load(c.context(), c.reader(a.opts.MaxImport, bulkTimeFactor*a.opts.Timeout), &opts)
	if err != nil {
		return err
	}
	if err := c.hold(a.slots); err != nil {
		return err
	}
	sum, err := loaded.Import(c.context(), store, by)
	if err != nil {
		return c.addConflict(store, "", err)
	}
	return c.answer(struct {
		Type     string          `json:"type"` // "memory_import"
		Store    memento.StoreID `json:"memory_store_id"`
		Memories int             `json:"memories"`
		Versions int             `json:"versions"`
		Bytes    int64           `json:"bytes"`
		Masked   map[string]int  `json:"masked"`           // by kind
		Marked   map[string]int  `json:"marked,omitempty"` // by kind
	}{"memory_import", id, sum.Memories, sum.Versions, sum.Bytes, sum.Masked, sum.Marked})
}
