package s3store

import (
	"context"
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
