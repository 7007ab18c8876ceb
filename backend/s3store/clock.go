package s3store

import (
	"context"
	"errors"
	"net/http"
	"time"

	"memento"
)

// The age of an object is measured by the storage's clock, which also dates the objects.
// A wrong clock of this machine must not cause objects in use to be deleted.

// A serverDate is the last Date header of the storage.
type serverDate struct {
	at       time.Time // in whole seconds
	received time.Time // when it came, by the monotonic clock
}

// noteDate remembers the Date header of an answer.
func (t *statsTransport) noteDate(h http.Header) {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		t.date.Store(&serverDate{at.UTC(), time.Now()})
	}
}

// now returns the time by the storage's clock, and false if no answer had a date.
func (t *statsTransport) now() (time.Time, bool) {
	d := t.date.Load()
	if d == nil {
		return time.Time{}, false
	}
	return d.at.Add(time.Since(d.received)), true
}

// isOlder reports whether an object that was written at a time, by the storage's clock,
// is older than the given age. It is false if the storage's time is unknown.
func (b *Backend) isOlder(at time.Time, than time.Duration) bool {
	now, ok := b.transport.now()
	return ok && now.Sub(at) > than
}

// StorageTime implements [backend.Clock], by the dates of the storage's answers.
func (b *Backend) StorageTime(ctx context.Context) (time.Time, error) {
	const op = "ask for the time"
	if err := b.open(ctx); err != nil {
		return time.Time{}, b.failed(op, err)
	}
	began := time.Now()
	if _, _, err := b.s3.get(ctx, noteKey("clock")); err != nil && !errors.Is(err, errNotFound) {
		return time.Time{}, b.failed(op, err)
	}
	d := b.transport.date.Load()
	if d == nil || d.received.Before(began) {
		return time.Time{}, &memento.Error{Op: op, Err: memento.ErrUnsupported}
	}
	return d.at, nil
}
