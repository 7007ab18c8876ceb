package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"memento"
	"memento/internal/wire"
)

const maxChanges = 100_000 // of one request

// applyChanges makes changes as one.
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
			return fieldFault(fmt.Sprintf("changes[%d]", i), err)
		}
		changes[i] = change
	}
	r, err := store.Apply(c.context(), by, changes...)
	if err != nil {
		return c.occupied(store, "", err)
	}
	answer := wire.Applied{
		Type: "memory_changes", Versions: []wire.Version{}, Usage: wire.Usage(r.Usage), Limits: wire.Limits(r.Limits),
		Settings: r.Settings, Redacted: wire.FromSuspicions(r.Redacted),
	}
	for _, v := range r.Versions {
		answer.Versions = append(answer.Versions, wire.FromVersion(id, v, false))
	}
	return c.answer(answer)
}

// streamChanges sends the versions of a store as they are made, as server-sent
// events whose IDs say where to go on.
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
	news, deaf := a.changes.listen(id)
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
		if !c.admitted() {
			return nil // the next connection hears why
		}
		made, err := some(c.context(), store, after, full)
		if errors.Is(err, memento.ErrNoStore) {
			return s.event("memory_store.deleted", "", wire.Deleted{ID: string(id), Type: "memory_store_deleted"})
		}
		if err != nil {
			return err
		}
		for _, v := range made {
			if err := s.event("memory_version", strconv.FormatInt(v.Seq, 10), wire.FromVersion(id, v, full)); err != nil {
				return nil // the client is gone
			}
			after = v.Seq
		}
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

// some returns the oldest versions behind a place in the order, a few at a time: a
// client that is slow to take them must not have the backend keep an old state for it.
func some(ctx context.Context, store *memento.Store, after int64, full bool) (made []memento.Version, err error) {
	opts := memento.VersionListOptions{OldestFirst: true, After: after, Contents: full, Limit: maxLimit}
	if full {
		opts.Limit = maxFullLimit
	}
	for v, err := range store.Versions(ctx, opts) {
		if err != nil {
			return nil, err
		}
		made = append(made, v)
	}
	return made, nil
}

// since is the Seq behind which a stream begins: what the client says that it has
// seen, or else what there is now.
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
			return 0, invalid("after: must be the ID of an event, or 0 for all that there are")
		}
		return seq, nil
	}
	for v, err := range store.Versions(c.context(), memento.VersionListOptions{Limit: 1}) {
		return v.Seq, err
	}
	return 0, nil
}

// A streaming is an answer that is sent as it comes about.
type streaming struct {
	c     *call
	buf   bytes.Buffer
	until time.Time // when all of it must have been taken; zero for never
}

// stream begins an answer.
func (c *call) stream(contentType string) *streaming {
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(http.StatusOK)
	return &streaming{c: c}
}

// snapshot begins an answer that is of one instant, which the backend keeps until all
// of it was sent: so a client has a time to take it.
func (c *call) snapshot(contentType string) *streaming {
	s := c.stream(contentType)
	s.until = time.Now().Add(bulkTime * c.api.opts.Timeout)
	return s
}

// flush sends what is in the buffer, within the time that a part has.
func (s *streaming) flush() error {
	if !s.until.IsZero() && time.Now().After(s.until) {
		s.c.w.gone = true
		return context.DeadlineExceeded
	}
	s.c.limitWrite()
	// Until the next part there is nothing to be late with.
	defer func() { _ = s.c.control.SetWriteDeadline(time.Time{}) }()
	_, err := s.c.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if err == nil {
		err = s.c.control.Flush()
	}
	if err != nil {
		s.c.w.gone = true
	}
	return err
}

func (s *streaming) encode(v any) error {
	e := json.NewEncoder(&s.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (s *streaming) comment(text string) error {
	s.buf.WriteString(": " + text + "\n\n")
	return s.flush()
}

func (s *streaming) event(name, id string, v any) error {
	fmt.Fprintf(&s.buf, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(&s.buf, "id: %s\n", id)
	}
	s.buf.WriteString("data: ")
	if err := s.encode(v); err != nil { // JSON on one line
		return err
	}
	s.buf.WriteString("\n")
	return s.flush()
}

// line adds a line to a stream of JSON objects, and sends some now and then.
func (s *streaming) line(v any) error {
	const enough = 64 << 10
	if err := s.encode(v); err != nil || s.buf.Len() < enough {
		return err
	}
	return s.flush()
}

// end says that nothing is missing.
func (s *streaming) end() error {
	if err := s.encode(struct {
		Type string `json:"type"`
	}{"end"}); err != nil {
		return err
	}
	return s.flush()
}
