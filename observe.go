package memento

import (
	"context"
	"time"
)

// An Observation is one call of a [Store] to its backend about memories or their history.
// Calls that find, create or describe a store, or that record reads, are not observed.
type Observation struct {
	Op      string // "get", "list", "search", "apply", "import", "get version", "list versions", "redact" or "prune"
	Store   StoreID
	Start   time.Time
	Took    time.Duration // of a listing, including the work of its caller between entries
	Err     error         // the error of the backend
	Receipt Receipt       // of a successful apply; of a successful import, what was masked
}

// observe begins an observation, and returns the function to call with the error when
// the call has ended.
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

// observed reports a call that has ended.
func (s *Store) observed(ctx context.Context, o Observation) {
	if s.observer == nil {
		return
	}
	o.Took = time.Since(o.Start)
	if o.Err != nil {
		o.Receipt = Receipt{} // nothing was written
	}
	s.observer(ctx, o)
}
