package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"memento"
	"memento/archive"
	"memento/internal/wire"
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

// bulkTime is how many times longer than others an archive or a listing may take to
// arrive, here or there.
const bulkTime = 20

// maxBulks is how many archives and histories are read at once: all of each is held
// in memory.
const maxBulks = 2

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

// streamEntries sends what memento.Documents.List yields, a JSON object a line.
func (a *API) streamEntries(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := memento.ListOptions{
		Dir:      q.dir(),
		Depth:    int(q.integer("depth", 0, 0, 1<<20)),
		After:    q.text("after"),
		Limit:    int(q.integer("limit", 0, 0, 1<<30)),
		Contents: q.boolean("contents"),
		Brief:    q.boolean("brief"),
	}
	if q.err != nil {
		return q.err
	}
	if _, err := c.info(); err != nil { // while an error can still be answered
		return err
	}
	s := c.snapshot("application/x-ndjson")
	for e, err := range store.List(c.context(), opts) {
		if err != nil {
			return s.fail(err)
		}
		switch {
		case e.Foreign:
			err = s.line(wire.FromForeign(e))
		case e.Dir:
			err = s.line(wire.FromDirectory(e))
		default:
			err = s.line(wire.FromMemory(id, e.Memory, opts.Contents))
		}
		if err != nil {
			return err
		}
	}
	return s.end()
}

// fail ends a stream with an error.
func (s *streaming) fail(err error) error {
	f := s.c.explain(err)
	s.c.failed = f.kind
	body := f.extra
	body.Type, body.Message = f.kind, f.message
	if err := s.encode(wire.ErrorAnswer{Type: "error", Error: body, RequestID: s.c.id}); err != nil {
		return err
	}
	return s.flush()
}

// streamHistory sends what memento.History.ListVersions yields, a JSON object a line.
func (a *API) streamHistory(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := memento.VersionListOptions{
		Memory:      memento.MemoryID(q.text("memory_id")),
		Path:        memento.Path(q.text("path")),
		Operation:   q.operation(),
		CreatedBy:   memento.Actor{Kind: memento.ActorKind(q.text("actor_kind")), ID: q.text("actor_id")},
		CreatedFrom: q.time("created_at[gte]"),
		CreatedTo:   q.time("created_at[lte]"),
		OldestFirst: q.boolean("oldest_first"),
		After:       q.integer("after", 0, 0, 1<<62),
		Limit:       int(q.integer("limit", 0, 0, 1<<30)),
		Contents:    q.boolean("contents"),
	}
	if q.err != nil {
		return q.err
	}
	if _, err := c.info(); err != nil { // while an error can still be answered
		return err
	}
	s := c.snapshot("application/x-ndjson")
	for v, err := range store.Versions(c.context(), opts) {
		if err != nil {
			return s.fail(err)
		}
		if err := s.line(wire.FromVersion(id, v, opts.Contents)); err != nil {
			return err
		}
	}
	return s.end()
}

// importHistory appends versions as they are, a JSON object a line, as one. The last
// line says that nothing is missing.
func (a *API) importHistory(c *call, store *memento.Store, _ memento.StoreID) error {
	lines := bufio.NewReader(c.reader(a.opts.MaxImport, bulkTime*a.opts.Timeout))
	var versions []memento.Version
	whole := false
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) > 1 {
			if whole {
				return invalid("line %d: comes behind the end", n)
			}
			var v wire.Version
			if checkText(text) != nil || json.Unmarshal(text, &v) != nil {
				return invalid("line %d: is no memory_version in JSON", n)
			}
			switch v.Type {
			case "end":
				whole = true
			case "memory_version":
				// Others could not be asked for.
				if v.ID != "" && !isID(string(v.ID), "memver_") || v.Memory != "" && !isID(string(v.Memory), "mem_") {
					return invalid("line %d: has an ID that is none", n)
				}
				versions = append(versions, v.Version())
			default:
				return invalid("line %d: is no memory_version in JSON", n)
			}
		}
		if err != nil {
			break
		}
	}
	if !whole {
		return invalid(`the last line must be {"type":"end"}`)
	}
	replaced, err := store.Import(c.context(), versions)
	if err != nil {
		return c.occupied(store, "", err)
	}
	return c.answer(struct {
		Type     string           `json:"type"` // "memory_history_import"
		Versions int              `json:"versions"`
		Redacted []wire.Suspicion `json:"redacted"`
	}{"memory_history_import", len(versions), wire.FromSuspicions(replaced)})
}

// pruneHistory removes versions for good.
func (a *API) pruneHistory(c *call) error {
	info, err := c.info()
	if err != nil {
		return err
	}
	var body struct {
		Before *time.Time       `json:"before"`
		Keep   int              `json:"keep"`
		Memory memento.MemoryID `json:"memory_id"`
		DryRun bool             `json:"dry_run"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	before, err := required("before", body.Before)
	if err != nil {
		return err
	}
	if body.Keep < 0 {
		return invalid("keep: must not be negative")
	}
	done, err := a.backend.Prune(c.context(), info.ID, memento.PruneOptions{
		Before: before.UTC(), Keep: body.Keep, Memory: body.Memory, DryRun: body.DryRun,
	})
	if err != nil {
		return err
	}
	return c.answer(struct {
		Type     string          `json:"type"` // "memory_history_collection"
		Store    memento.StoreID `json:"memory_store_id"`
		Versions int64           `json:"versions"`
		Bytes    int64           `json:"bytes"`
		DryRun   bool            `json:"dry_run"`
	}{"memory_history_collection", info.ID, done.Versions, done.Bytes, body.DryRun})
}

// markReads notes that memories were read, for clients that keep copies.
func (a *API) markReads(c *call) error {
	info, err := c.info()
	if err != nil {
		return err
	}
	var body struct {
		Memories []memento.MemoryID `json:"memory_ids"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	if n := len(body.Memories); n > maxChanges {
		return invalid("memory_ids: has %d entries; at most %d are allowed", n, maxChanges)
	}
	marker, ok := a.backend.(memento.ReadMarker)
	if ok {
		for _, id := range body.Memories {
			marker.MarkRead(info.ID, id)
		}
		if err := marker.SyncReads(c.context()); err != nil {
			return err
		}
	}
	return c.answer(struct {
		Type   string `json:"type"`   // "memory_reads"
		Marked bool   `json:"marked"` // false if the server's storage does not keep such times
	}{"memory_reads", ok})
}
