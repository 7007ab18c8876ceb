package memento

import (
	"context"
	"time"
)

// An Observation is one call of a [Store] to its backend, about memories or their
// history. What looks a store up, makes it or describes it is not told, nor is
// noting reads.
type Observation struct {
	Op      string // "get", "list", "search", "apply", "import", "get version", "list versions", "redact" or "prune"
	Store   StoreID
	Start   time.Time
	Took    time.Duration // of a listing, with what its caller did meanwhile
	Err     error         // what the backend answered
	Receipt Receipt       // of an apply that succeeded; of such an import, what was redacted
}

// observe begins an observation, and returns what is to be called, with its
// error, when the call has ended.
func (s *Store) observe(ctx context.Context, op string, id StoreID) func(*error) {
	if s.observer == nil {
		return func(*error) {}
	}
	o := Observation{Op: op, Store: id, Start: time.Now()}
	return func(err *error) {
		o.Err = *err
		s.observed(ctx, o)
	}
}

// observed tells of a call that has ended.
func (s *Store) observed(ctx context.Context, o Observation) {
	if s.observer == nil {
		return
	}
	o.Took = time.Since(o.Start)
	if o.Err != nil {
		o.Receipt = Receipt{} // what was replaced was not written
	}
	s.observer(ctx, o)
}
