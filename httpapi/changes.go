package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"memento"
	"memento/history"
	"memento/internal/wire"
)

const maxChanges = 100_000 // of one request

// applyChanges executes several changes atomically.
func (a *API) applyChanges(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	var body struct {
		Changes []wire.Change `json:"changes"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	if n := len(body.Changes); n > maxChanges {
		return invalid("changes: has %d entries; at most %d are allowed", n, maxChanges)
	}
	changes := make([]memento.Change, len(body.Changes))
	for i := range body.Changes {
		change, err := body.Changes[i].Change()
		if err != nil {
			return invalidField(fmt.Sprintf("changes[%d]", i), err)
		}
		changes[i] = change
	}
	r, err := store.Apply(c.context(), by, changes...)
	if err != nil {
		return c.addConflict(store, "", err)
	}
	answer := wire.Applied{
		Type: "memory_changes", Versions: []wire.Version{}, Usage: wire.Usage(r.Usage), Limits: wire.Limits(r.Limits),
		Settings: r.Settings, Masked: wire.FromFindings(r.Masked), Marked: wire.FromFindings(r.Marked),
	}
	for _, v := range r.Versions {
		answer.Versions = append(answer.Versions, wire.FromVersion(id, v, false))
	}
	return c.answer(answer)
}

// streamChanges sends new versions of a store as server-sent events. The ID of an event
// is the position from which a client can continue.
func (a *API) streamChanges(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	full := q.full(false)
	after, err := c.since(q, store)
	if err != nil {
		return err
	}
	if _, err := c.info(); err != nil { // while an error can still be answered
		return err
	}
	news, deaf := a.changes.subscribe(id)
	defer deaf()
	s := c.stream("text/event-stream")
	if c.r.Method == http.MethodHead {
		return s.flush()
	}
	poll, beat := time.NewTicker(a.opts.Poll), time.NewTicker(a.opts.Heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	if err := s.comment("connected"); err != nil {
		return nil
	}
	for {
		if !c.stillAuthorized() {
			return nil // the answer to the next connection says why
		}
		made, err := nextVersions(c.context(), store, after, full)
		if errors.Is(err, memento.ErrNoStore) {
			return s.event("memory_store.deleted", "", wire.Deleted{ID: string(id), Type: "memory_store_deleted"})
		}
		if err != nil {
			return err
		}
		renamed, err := history.RenamedFrom(c.context(), store, memento.VersionListOptions{}, made)
		if err != nil && !errors.Is(err, memento.ErrNoStore) {
			return err
		}
		var held *permit
		if n := memoryOf(made); n > flushBytes {
			if held, err = c.acquire(a.memory, n); err != nil {
				return nil // the client reconnects, and continues after the last event
			}
		}
		for _, v := range made {
			event := wire.FromVersion(id, v, full)
			event.RenamedFrom = renamed[v.ID]
			if err := s.event("memory_version", strconv.FormatInt(v.Seq, 10), event); err != nil {
				held.release()
				return nil // the client is gone
			}
			after = v.Seq
		}
		held.release()
		for wait := len(made) == 0; wait; {
			select {
			case <-news:
				wait = false
			case <-poll.C:
				wait = false
			case <-beat.C:
				if err := s.comment("still here"); err != nil {
					return nil
				}
			case <-c.context().Done():
				return nil
			case <-a.closed.Done():
				return nil
			}
		}
	}
}

// nextVersions returns the oldest versions after a position, a few at a time: a slow
// client must not make the backend keep an old state for it.
func nextVersions(ctx context.Context, store *memento.Store, after int64, full bool) (made []memento.Version, err error) {
	opts := memento.VersionListOptions{OldestFirst: true, After: after, Contents: full, Limit: maxLimit}
	if full {
		opts.Limit = maxFullLimit
	}
	bytes := 0
	for v, err := range store.Versions(ctx, opts) {
		if err != nil {
			return nil, err
		}
		made = append(made, v)
		if bytes += len(v.Content); bytes > 4*flushBytes {
			break
		}
	}
	return made, nil
}

// memoryOf returns the number of bytes of memory that versions take until they are sent.
func memoryOf(versions []memento.Version) (bytes int64) {
	for i := range versions {
		bytes += sizeInMemory(int64(len(versions[i].Content)))
	}
	return bytes
}

// since returns the Seq after which a stream begins: the client's Last-Event-ID or
// parameter after, or else the newest Seq of the store.
func (c *call) since(q *query, store *memento.Store) (int64, error) {
	seen := c.r.Header.Get("Last-Event-ID")
	if seen == "" {
		seen = q.text("after")
	}
	if q.err != nil {
		return 0, q.err
	}
	if seen != "" {
		seq, err := strconv.ParseInt(seen, 10, 64)
		if err != nil || seq < 0 {
			return 0, invalid("after: must be the ID of an event, or 0 for all events")
		}
		return seq, nil
	}
	for v, err := range store.Versions(c.context(), memento.VersionListOptions{Limit: 1}) {
		return v.Seq, err
	}
	return 0, nil
}

// sizeInMemory returns how many bytes a version with contents of the given size takes until
// it is sent.
func sizeInMemory(contents int64) int64 { return 1024 + 3*contents }
