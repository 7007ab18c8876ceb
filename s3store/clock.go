package s3store

import (
	"context"
	"errors"
	"net/http"
	"time"

	"memento"
)

// Objects are old by the storage's clock, which has said when they were written. This
// machine's may be wrong, and must not have what is still in use removed.

// A dated is what the storage's clock said last.
type serverDate struct {
	at       time.Time // to the second
	received time.Time // when, by a clock that cannot be set
}

// noteDate keeps the date of an answer.
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

// StorageTime implements [memento.Clock], by the dates of the storage's answers.
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
