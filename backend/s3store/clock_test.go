package s3store

import (
	"net/http"
	"testing"
	"time"
)

// The age of objects is measured by the storage's clock, whatever this machine's clock says.
func TestOldByStorageClock(t *testing.T) {
	b := &Backend{transport: &statsTransport{}}
	written := time.Now().Add(-3 * time.Hour)
	if b.isOlder(written, time.Hour) {
		t.Error("an object is old before the storage has told the time")
	}
	at := func(now time.Time) {
		b.transport.noteDate(http.Header{"Date": {now.UTC().Format(http.TimeFormat)}})
	}
	at(written.Add(30 * time.Minute)) // this machine's clock is two and a half hours ahead
	if b.isOlder(written, time.Hour) {
		t.Error("an object of half an hour is old because this machine's clock is ahead")
	}
	at(written.Add(2 * time.Hour))
	if !b.isOlder(written, time.Hour) {
		t.Error("an object of two hours is not old")
	}
	b.transport.noteDate(http.Header{})
	if !b.isOlder(written, time.Hour) {
		t.Error("an answer without a date has the time forgotten")
	}
}
