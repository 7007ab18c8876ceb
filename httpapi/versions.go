package httpapi

import (
	"strconv"
	"time"

	"memento"
	"memento/history"
	"memento/internal/wire"
)

func (a *API) listVersions(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	full := q.full(false)
	limit := q.limit(full)
	opts := memento.VersionListOptions{
		Memory:      memento.MemoryID(q.text("memory_id")),
		Operation:   q.operation(),
		CreatedFrom: q.time("created_at[gte]"),
		CreatedTo:   q.time("created_at[lte]"),
		After:       q.afterVersion(),
		Limit:       limit + 1,
		Contents:    full,
	}
	matches := q.creator(&opts)
	if q.err != nil {
		return q.err
	}
	answer := page[wire.Version]{Data: []wire.Version{}}
	if !matches {
		if _, err := c.info(); err != nil {
			return err
		}
		return c.answer(answer)
	}
	scan, err := c.scan(full)
	if err != nil {
		return err
	}
	defer scan.release()
	var last int64
	var shown []memento.Version // without contents
	size := pageSize{c: c}
	for v, err := range store.Versions(c.context(), opts) {
		if err != nil {
			return err
		}
		fits, err := size.add(len(answer.Data), len(v.Content))
		if err != nil {
			return err
		}
		if len(answer.Data) == limit || !fits {
			answer.Next = pageAfter('v', strconv.FormatInt(last, 10))
			break
		}
		last = v.Seq
		shownVersion, err := a.version(c, store, id, v, full)
		if err != nil {
			return err
		}
		answer.Data = append(answer.Data, shownVersion)
		v.Content = ""
		shown = append(shown, v)
	}
	renamed, err := history.RenamedFrom(c.context(), store, opts, shown)
	if err != nil {
		return err
	}
	for i := range answer.Data {
		answer.Data[i].RenamedFrom = renamed[answer.Data[i].ID]
	}
	scan.release()
	return c.answer(answer)
}

func (q *query) operation() memento.Operation {
	switch op := memento.Operation(q.text("operation")); op {
	case "", memento.Created, memento.Modified, memento.Deleted:
		return op
	}
	q.fail(`operation: must be "created", "modified" or "deleted"`)
	return ""
}

// afterVersion returns the position in the order of versions after which the page
// begins; 0 for the first page.
func (q *query) afterVersion() int64 {
	text := q.after('v')
	if text == "" {
		return 0
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seq <= 0 {
		q.fail(badPage)
		return 0
	}
	return seq
}

// creator sets the creator of the requested versions. A version has one creator, so two
// different creators match nothing.
func (q *query) creator(opts *memento.VersionListOptions) (matches bool) {
	for _, p := range []struct {
		name string
		kind memento.ActorKind
	}{
		{"session_id", memento.ActorSession},
		{"api_key_id", memento.ActorAPIKey},
		{"service_account_id", memento.ActorServiceAccount},
		{"user_id", memento.ActorUser},
	} {
		id := q.text(p.name)
		if id == "" {
			continue
		}
		if opts.CreatedBy.ID != "" {
			return false
		}
		opts.CreatedBy = memento.Actor{Kind: p.kind, ID: id}
	}
	opts.CreatedBy.Key = memento.KeyID(q.text("created_by_key_id"))
	return true
}

func (a *API) getVersion(c *call, store *memento.Store, id memento.StoreID) error {
	name, err := c.pathID("version", "memver_", "memory version")
	if err != nil {
		return err
	}
	full, err := c.view(true)
	if err != nil {
		return err
	}
	v, err := store.Version(c.context(), memento.VersionID(name))
	if err != nil {
		return err
	}
	renamed, err := history.RenamedFrom(c.context(), store, memento.VersionListOptions{Memory: v.Memory}, []memento.Version{v})
	if err != nil {
		return err
	}
	answer, err := a.version(c, store, id, v, full)
	if err != nil {
		return err
	}
	answer.RenamedFrom = renamed[v.ID]
	return c.answer(answer)
}

// version returns the JSON of a version: with contents, also what in these may be
// instructions to a model.
func (a *API) version(c *call, store *memento.Store, id memento.StoreID, v memento.Version, contents bool) (wire.Version, error) {
	w := wire.FromVersion(id, v, contents)
	if !contents {
		return w, nil
	}
	marked, err := store.Instructions(c.context(), v)
	if len(marked) > 0 {
		w.Marked = wire.FromFindings(marked)
	}
	return w, err
}

func (a *API) redactVersion(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	name, err := c.pathID("version", "memver_", "memory version")
	if err != nil {
		return err
	}
	if err := c.decode(&struct{}{}); err != nil {
		return err
	}
	v, err := store.Redact(c.context(), memento.VersionID(name), by)
	if err != nil {
		return err
	}
	return c.answer(wire.FromVersion(id, v, true))
}

// restoreVersion writes a version's contents back, and answers with their memory.
func (a *API) restoreVersion(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	name, err := c.pathID("version", "memver_", "memory version")
	if err != nil {
		return err
	}
	if err := c.decode(&struct{}{}); err != nil {
		return err
	}
	path, _, err := history.RestoreVersion(c.context(), store, by, memento.VersionID(name))
	if err != nil {
		return c.addConflict(store, path, err)
	}
	m, err := store.Peek(c.context(), memento.ByPath(path))
	if err != nil {
		return err
	}
	return c.answer(wire.FromMemory(id, m, false))
}

const restoreCost = 2 // bytes of memory for each that a store holds

// restoreStore brings a store back to what it held at a time.
func (a *API) restoreStore(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	var body struct {
		AsOf   *time.Time `json:"as_of"`
		DryRun bool       `json:"dry_run"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	at, err := required("as_of", body.AsOf)
	if err != nil {
		return err
	}
	info, err := c.info()
	if err != nil {
		return err
	}
	// The restoration may read all present contents, and write back as many.
	if err := c.charge(restoreCost * info.Usage.Bytes); err != nil {
		return err
	}
	r, err := history.RestoreAsOf(c.context(), store, by, at.UTC(), body.DryRun)
	if err != nil {
		return err
	}
	return c.answer(struct {
		Type    string                 `json:"type"` // "memory_restoration"
		Store   memento.StoreID        `json:"memory_store_id"`
		DryRun  bool                   `json:"dry_run"`
		Written []memento.Path         `json:"written"`
		Removed []memento.Path         `json:"removed"`
		Lost    []memento.Path         `json:"lost"`
		Masked  []wire.FindingLocation `json:"masked"`
	}{"memory_restoration", id, body.DryRun, orEmpty(r.Written), orEmpty(r.Removed), orEmpty(r.Lost), wire.FromFindings(r.Masked)})
}

// orEmpty returns l, or an empty list if l is nil, which would be null in JSON.
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
