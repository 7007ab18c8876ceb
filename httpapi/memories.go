package httpapi

import (
	"context"
	"errors"
	"regexp"

	"memento"
	"memento/internal/wire"
)

func (a *API) createMemory(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	full, err := c.view(false)
	if err != nil {
		return err
	}
	var body struct {
		Path    *memento.Path `json:"path"`
		Content *string       `json:"content"`
	}
	given, err := c.decodeGiven(&body)
	if err != nil {
		return err
	}
	path, err := required("path", body.Path)
	if err != nil {
		return err
	}
	if err := c.checkDepth(path); err != nil {
		return err
	}
	content := ""
	switch {
	case body.Content != nil:
		content = *body.Content
	case given["content"] == nil: // null makes an empty memory
		return invalid("content: field required")
	}
	done, err := store.CreateMemory(c.context(), by, path, content)
	if err != nil {
		return c.addConflict(store, path, err)
	}
	return c.answer(wire.FromMemory(id, done.Memory, full))
}

// view returns whether the request asks for contents. It is for requests without other
// parameters.
func (c *call) view(standard bool) (full bool, err error) {
	q := c.query()
	full = q.full(standard)
	return full, q.err
}

// addConflict adds to the error of an occupied path the ID and path of the memory that
// occupies it. to is the path of the write; "" if it is not known.
func (c *call) addConflict(store *memento.Store, to memento.Path, err error) error {
	if !errors.Is(err, memento.ErrExist) && !errors.Is(err, memento.ErrIsDir) && !errors.Is(err, memento.ErrNotDir) {
		return err
	}
	at := to
	if taken, ok := errors.AsType[*memento.Error](err); ok && taken.Path != "" {
		at = taken.Path
	}
	if at == "" {
		return err
	}
	f := c.toAPIError(err)
	if m, ok := c.conflictingMemory(c.context(), store, at); ok {
		f.extra.ConflictingMemoryID, f.extra.ConflictingPath = m.ID, m.Path
	}
	return f
}

// conflictingMemory returns the first memory below a path, or else the memory at the
// path.
func (c *call) conflictingMemory(ctx context.Context, store *memento.Store, at memento.Path) (memento.Memory, bool) {
	for e, err := range store.List(ctx, memento.ListOptions{Dir: at, Limit: 1}) {
		return e.Memory, err == nil && !e.Foreign
	}
	m, err := store.Stat(ctx, memento.ByPath(at))
	return m, err == nil
}

func (a *API) listMemories(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	full := q.full(false)
	limit := q.limit(full)
	opts := memento.ListOptions{
		Dir:      q.dir(),
		Depth:    int(q.integer("depth", 0, 0, 1)),
		After:    q.afterPath(),
		Limit:    limit + 1,
		Contents: full,
	}
	if q.err != nil {
		return q.err
	}
	scan, err := c.scan(full)
	if err != nil {
		return err
	}
	defer scan.release()
	answer, last, size := page[any]{Data: []any{}}, "", pageSize{c: c}
	for more := true; more; {
		more = false
		for e, err := range store.List(c.context(), opts) {
			if err != nil {
				return err
			}
			fits, err := size.add(len(answer.Data), len(e.Memory.Content))
			if err != nil {
				return err
			}
			if len(answer.Data) == limit || !fits {
				answer.Next = pageAfter('m', last)
				more = false
				break
			}
			opts.After = e.Cursor()
			if e.Foreign { // clients cannot use it
				more = true // than this part of the listing, perhaps
				continue
			}
			switch last = opts.After; {
			case e.Dir:
				answer.Data = append(answer.Data, wire.Prefix{Type: "memory_prefix", Path: e.Path.Prefix()})
			default:
				answer.Data = append(answer.Data, wire.FromMemory(id, e.Memory, full))
			}
		}
	}
	scan.release()
	return c.answer(answer)
}

// streamEntries sends the entries of memento.Memories.List as lines of JSON objects.
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
	s, err := c.listing(q)
	if err != nil {
		return err
	}
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

func (a *API) getMemory(c *call, store *memento.Store, id memento.StoreID) error {
	name, err := c.pathID("memory", "mem_", "memory")
	if err != nil {
		return err
	}
	return a.answerMemory(c, store, id, memento.ByID(memento.MemoryID(name)))
}

func (a *API) getMemoryByPath(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	name := q.text("path")
	if q.err != nil {
		return q.err
	}
	path, err := memento.ParsePath(name)
	if err != nil {
		return err
	}
	return a.answerMemory(c, store, id, memento.ByPath(path))
}

func (a *API) answerMemory(c *call, store *memento.Store, id memento.StoreID, ref memento.Ref) error {
	q := c.query()
	full := q.full(true)
	peek := q.boolean("peek")
	if q.err != nil {
		return q.err
	}
	get := store.Get
	if peek {
		get = store.Peek
	}
	m, err := get(c.context(), ref)
	if !full && errors.Is(err, memento.ErrDamaged) { // only the contents are damaged
		m, err = store.Stat(c.context(), ref)
	}
	if errors.Is(err, memento.ErrIsDir) && ref.Path != "" {
		f := notFoundErr("memory")
		f.extra, f.message = errorDetails(err), "this path is a directory"
		return f
	}
	if err != nil {
		return err
	}
	return c.answer(wire.FromMemory(id, m, full))
}

var hexHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkHash returns an error if hash is not the hash of contents in its textual form.
func checkHash(field, hash string) error {
	if !hexHash.MatchString(hash) {
		return invalid("%s: must be the 64 lower-case hexadecimal digits of a SHA-256", field)
	}
	return nil
}

func (a *API) updateMemory(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	name, err := c.pathID("memory", "mem_", "memory")
	if err != nil {
		return err
	}
	full, err := c.view(false)
	if err != nil {
		return err
	}
	var body struct {
		Path         *memento.Path `json:"path"`
		Content      *string       `json:"content"`
		Precondition *struct {
			Type   string  `json:"type"`
			SHA256 *string `json:"content_sha256"`
		} `json:"precondition"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	u := memento.MemoryUpdate{Path: body.Path, Content: body.Content}
	if u.Path != nil {
		if err := c.checkDepth(*u.Path); err != nil {
			return err
		}
	}
	if p := body.Precondition; p != nil {
		if p.Type != "content_sha256" {
			return invalid(`precondition.type: must be "content_sha256"`)
		}
		if u.IfSHA256, err = required("precondition.content_sha256", p.SHA256); err != nil {
			return err
		}
		if err := checkHash("precondition.content_sha256", u.IfSHA256); err != nil {
			return err
		}
	}
	done, err := store.UpdateMemory(c.context(), by, memento.MemoryID(name), u)
	if err != nil {
		to := memento.Path("")
		if u.Path != nil {
			to = *u.Path
		}
		return c.addConflict(store, to, err)
	}
	return c.answer(wire.FromMemory(id, done.Memory, full))
}

func (a *API) deleteMemory(c *call, store *memento.Store, _ memento.StoreID, by memento.Actor) error {
	name, err := c.pathID("memory", "mem_", "memory")
	if err != nil {
		return err
	}
	q := c.query()
	hash := q.text("expected_content_sha256")
	if q.err != nil {
		return q.err
	}
	if q.values.Has("expected_content_sha256") { // an empty one is an error
		if err := checkHash("expected_content_sha256", hash); err != nil {
			return err
		}
	}
	if err := store.DeleteMemory(c.context(), by, memento.MemoryID(name), hash); err != nil {
		return err
	}
	return c.answer(wire.Deleted{ID: name, Type: "memory_deleted"})
}
