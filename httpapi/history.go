package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"time"

	"memento"
	"memento/internal/wire"
	"memento/maintenance"
)

// streamHistory sends the versions of memento.History.ListVersions as lines of JSON
// objects.
func (a *API) streamHistory(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	opts := memento.VersionListOptions{
		Memory:      memento.MemoryID(q.text("memory_id")),
		Path:        memento.Path(q.text("path")),
		Operation:   q.operation(),
		CreatedBy:   memento.Actor{Kind: memento.ActorKind(q.text("actor_kind")), ID: q.text("actor_id"), Key: memento.KeyID(q.text("actor_key_id"))},
		CreatedFrom: q.time("created_at[gte]"),
		CreatedTo:   q.time("created_at[lte]"),
		OldestFirst: q.boolean("oldest_first"),
		After:       q.integer("after", 0, 0, 1<<62),
		Limit:       int(q.integer("limit", 0, 0, 1<<30)),
		Contents:    q.boolean("contents"),
	}
	s, err := c.listing(q)
	if err != nil {
		return err
	}
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

// importHistory appends versions unchanged and atomically, from lines of JSON objects.
// The last line marks the end, so that a truncated body is detected.
func (a *API) importHistory(c *call, store *memento.Store, _ memento.StoreID) error {
	lines := bufio.NewReader(&reservingReader{c: c, r: c.reader(a.opts.MaxImport, bulkTimeFactor*a.opts.Timeout)})
	var versions []memento.Version
	whole := false
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) > 1 {
			if whole {
				return invalid("line %d: follows the end line", n)
			}
			var v wire.Version
			if checkText(text) != nil || json.Unmarshal(text, &v) != nil {
				return invalid("line %d: is not a memory_version in JSON", n)
			}
			switch v.Type {
			case "end":
				whole = true
			case "memory_version":
				// No request could name an ID of another form.
				if v.ID != "" && !isID(string(v.ID), "memver_") || v.Memory != "" && !isID(string(v.Memory), "mem_") {
					return invalid("line %d: has an invalid ID", n)
				}
				versions = append(versions, v.Version())
			default:
				return invalid("line %d: is not a memory_version in JSON", n)
			}
		}
		if err != nil {
			break
		}
	}
	if !whole {
		return invalid(`the last line must be {"type":"end"}`)
	}
	if err := c.hold(a.slots); err != nil {
		return err
	}
	replaced, err := store.Import(c.context(), versions)
	if err != nil {
		return c.addConflict(store, "", err)
	}
	return c.answer(struct {
		Type     string                 `json:"type"` // "memory_history_import"
		Versions int                    `json:"versions"`
		Masked   []wire.FindingLocation `json:"masked"`
	}{"memory_history_import", len(versions), wire.FromFindings(replaced)})
}

// A reservingReader reserves memory for the bytes read through it, because all of them
// are kept.
type reservingReader struct {
	c    *call
	r    io.Reader
	free int64 // bytes reserved and not used yet
}

func (r *reservingReader) Read(p []byte) (int, error) {
	const cost, step = 3, 1 << 20
	if r.free < cost*int64(len(p)) {
		if err := r.c.reserve(step); err != nil {
			return 0, err
		}
		r.free += step
	}
	n, err := r.r.Read(p)
	r.free -= cost * int64(n)
	return n, err
}

// pruneSlack is the accepted difference between the clocks of client and server.
const pruneSlack = 5 * time.Minute

// pruneHistory removes old versions permanently. The client sends the time limit,
// perhaps from a wrong clock: a time in the future is refused, and removing more than
// usual needs a confirmation.
func (a *API) pruneHistory(c *call, store *memento.Store, id memento.StoreID) error {
	var body struct {
		Before *time.Time       `json:"before"`
		Keep   int              `json:"keep"`
		Memory memento.MemoryID `json:"memory_id"`
		DryRun bool             `json:"dry_run"`
		Force  bool             `json:"force"`
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
	now, share := a.opts.Now(), maintenance.DefaultShare
	if !body.DryRun && before.Sub(now) > pruneSlack && before.Before(memento.EndOfTime) {
		return invalid("before: lies in the future by the server's clock, which says %s; %s is for all versions",
			now.UTC().Format(time.RFC3339), memento.EndOfTime.Format(time.RFC3339))
	}
	if body.Force || body.DryRun {
		share = 0
	}
	done, err := maintenance.Prune(c.context(), store, memento.PruneOptions{
		Before: before.UTC(), Keep: body.Keep, Memory: body.Memory, DryRun: body.DryRun,
	}, now, share)
	if held, ok := errors.AsType[*maintenance.HeldError](err); ok {
		return invalid("this would remove %d of %d versions that were due more than a day ago, which is more than usual; nothing was removed; repeat with \"force\": true to remove them",
			held.Count, held.Of)
	}
	if err != nil {
		return err
	}
	return c.answer(struct {
		Type     string          `json:"type"` // "memory_history_collection"
		Store    memento.StoreID `json:"memory_store_id"`
		Versions int64           `json:"versions"`
		Bytes    int64           `json:"bytes"`
		DryRun   bool            `json:"dry_run"`
	}{"memory_history_collection", id, done.Versions, done.Bytes, body.DryRun})
}
