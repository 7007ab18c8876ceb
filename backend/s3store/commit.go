package s3store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
	"memento/backend/commitqueue"
)

const (
	groupOps   = 64      // maximum number of writes that share a record
	groupBytes = 4 << 20 // bytes of contents from which on a record takes no further write

	// cancelGrace is for how long a caller whose context has ended waits for its write,
	// if that is in progress.
	cancelGrace = 2 * time.Second
)

// An op is one write to a store, which may share a record with others.
type op struct {
	commitqueue.Job
	ctx  context.Context
	plan func(*transaction) error // may be called again, with another transaction
	err  error                    // of plan
}

// submit runs plan in a transaction, and commits it. The caller may use what plan has
// set only if submit returns nil; otherwise plan may still be running.
func (s *store) submit(ctx context.Context, plan func(*transaction) error) error {
	return s.writes.Do(ctx, &op{ctx: ctx, plan: plan}, s.lead)
}

// lead commits the waiting writes in the background, until none is left: they do not
// depend on the context of the caller that leads, and Close waits for them.
func (s *store) lead(context.Context) {
	if s.b.runBackground(func(ctx context.Context) {
		defer s.writes.Unlock()
		for group := s.writes.Take(groupOps); len(group) > 0; group = s.writes.Take(groupOps) {
			s.commitAll(ctx, group)
		}
	}) {
		return
	}
	for _, o := range s.writes.Take(groupOps) {
		o.Finish(memento.ErrClosed)
	}
	s.writes.Unlock()
}

// commitAll commits writes, in as many records as they need.
func (s *store) commitAll(ctx context.Context, group []*op) {
	for len(group) > 0 {
		n, err := s.commit(ctx, group)
		for _, o := range group[:n] {
			if err != nil {
				o.err = err
			}
			o.Finish(o.err)
		}
		group = group[n:]
	}
}

// commit plans and writes the first n ops of a group. If it returns an error, it is the
// error of all n; otherwise each op has its own.
func (s *store) commit(ctx context.Context, group []*op) (n int, err error) {
	refreshed := false // the state was refreshed after all ops of the group were queued
	for {
		s.mu.RLock()
		usable := s.st != nil && !s.partial && age(s.confirmed) < s.b.maxAge
		s.mu.RUnlock()
		if !usable {
			if err := s.catchUp(ctx); err != nil {
				return len(group), err
			}
			refreshed = true
		}
		began := time.Now()
		t, n, at := s.plan(group)
		switch {
		case t == nil:
			continue
		case t.empty() && refreshed:
			return n, nil
		case t.empty():
			if err := s.catchUp(ctx); err != nil {
				return n, err
			}
			s.mu.RLock()
			refreshed = true
			same := s.st != nil && !s.partial && s.st.n == at
			s.mu.RUnlock()
			if same {
				return n, nil
			}
			continue
		}
		won, err := s.writeRecord(ctx, t, began)
		if err != nil || won {
			return n, err
		}
		// Another process was first: plan again on what it wrote.
		if err := s.catchUp(ctx); err != nil {
			return n, err
		}
		refreshed = true
	}
}

// plan plans the first n ops on the present state, and returns that state's number.
func (s *store) plan(group []*op) (t *transaction, n int, at int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.st == nil || s.partial {
		return nil, 0, 0
	}
	t = begin(s.st, s.b.inline)
	for _, o := range group {
		n++
		switch {
		case o.ctx.Err() != nil:
			o.err = o.ctx.Err()
		case s.st.deleted || t.rec.Deleted:
			o.err = memento.ErrNoStore
		default:
			o.err = t.attempt(o.plan)
		}
		if t.size > groupBytes {
			break
		}
	}
	return t, n, s.st.n
}

// writeRecord writes a transaction's record at the next number of the log. It returns
// false if another record has that number.
func (s *store) writeRecord(ctx context.Context, t *transaction, began time.Time) (won bool, err error) {
	r := t.rec
	r.Usage = usageForm{t.info.Usage.Memories, t.info.Usage.Bytes}
	data, err := r.encode()
	if err != nil {
		return false, fmt.Errorf("%w: %w", memento.ErrInvalid, err)
	}
	s.mu.Lock()
	s.lastCommit = r.Commit
	s.mu.Unlock()
	err = parallel(ctx, len(t.blobs), func(ctx context.Context, i int) error {
		return s.b.s3.write(ctx, blobKey(s.id, t.blobs[i].name), []byte(t.blobs[i].content))
	})
	if err != nil {
		return false, err
	}
	_, uncertain, err := s.b.s3.put(ctx, logKey(s.id, r.N), data, ifAbsent)
	switch {
	case err == nil && age(began) < s.b.maxAge:
		won = true
	case err == nil, errors.Is(err, errPrecondition):
		// The request took too long to trust its answer, or it was refused because an
		// earlier attempt of it succeeded.
		if won, err = s.committed(ctx, r.N, r.Commit); err != nil {
			return false, outcomeUnknown(memento.ErrUnavailable)
		}
	case uncertain:
		// If the number is taken now, the record there decides the outcome. If not, an
		// attempt may still be carried out.
		if won, err = s.committed(ctx, r.N, r.Commit); err != nil || !won {
			if err == nil && s.recordExists(ctx, r.N) {
				return false, nil
			}
			return false, outcomeUnknown(memento.ErrUnavailable)
		}
	default:
		s.deleteBlobs(ctx, t)
		return false, err
	}
	if !won {
		s.deleteBlobs(ctx, t)
		return false, nil
	}
	for _, c := range t.blobs {
		s.cacheText(ref{Blob: c.name}, c.content, c.sha256)
	}
	s.mu.Lock()
	s.applyLocked(&r, true)
	if s.st != nil && s.st.n >= r.N {
		s.confirmed = later(s.confirmed, began)
	}
	due := s.st != nil && s.compactionDue()
	s.mu.Unlock()
	if due {
		s.b.runBackground(func(ctx context.Context) { s.compactIfDue(ctx) }) // after an error a later write tries again
	}
	return true, nil
}

// recordExists reports whether the log has an object with number n.
func (s *store) recordExists(ctx context.Context, n int64) bool {
	_, err := s.readLog(ctx, n)
	return err == nil
}

// committed reports whether record n is that of the given commit. It looks in the log and
// in the segments.
func (s *store) committed(ctx context.Context, n int64, commit string) (bool, error) {
	for range 10 {
		m, _, err := s.b.getManifest(ctx, s.id)
		if err != nil {
			return false, err
		}
		if m.Deleted && n <= m.End {
			return false, nil // the records of a deleted store are gone
		}
		if g, compacted := m.segmentOf(n); compacted {
			d, err := s.b.segmentHeader(ctx, g)
			if errors.Is(err, errNotFound) {
				continue
			}
			if err != nil {
				return false, err
			}
			for _, r := range d.Records {
				if r.N == n {
					return r.Commit == commit, nil
				}
			}
			return false, nil
		}
		r, err := s.readLog(ctx, n)
		switch {
		case errors.Is(err, errNotFound):
			return false, nil
		case err != nil:
			return false, err
		case r.Compacted: // after the manifest was read
			continue
		}
		return r.Commit == commit, nil
	}
	return false, memento.ErrUnavailable
}

// deleteBlobs deletes the blobs of a transaction that was not committed. If it fails,
// Prune deletes them later.
func (s *store) deleteBlobs(ctx context.Context, t *transaction) {
	keys := make([]string, len(t.blobs))
	for i, c := range t.blobs {
		keys[i] = blobKey(s.id, c.name)
	}
	s.b.s3.remove(ctx, keys...)
}
