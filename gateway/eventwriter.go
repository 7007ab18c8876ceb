package gateway

import (
	"net/http"
	"sync"
	"time"
)

// An eventWriter writes whole events to the application, and a ping when there were none
// for some time. It is safe for concurrent use.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration

	mu    sync.Mutex
	timer *time.Timer
	begun bool
	ended bool
	err   error
}

func newEventWriter(w http.ResponseWriter, idle time.Duration) *eventWriter {
	e := &eventWriter{w: w, control: http.NewResponseController(w), idle: idle}
	// ping, which sets the timer again, may run before AfterFunc has returned.
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(idle, e.ping)
	return e
}

// write writes an event. It is sent with the next flush.
func (e *eventWriter) write(event []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writeLocked(event)
}

func (e *eventWriter) writeLocked(event []byte) {
	if e.err != nil || e.ended {
		return
	}
	e.begun = true
	_, e.err = e.w.Write(event)
}

// flush sends what was written.
func (e *eventWriter) flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.flushLocked()
}

func (e *eventWriter) flushLocked() error {
	if e.err == nil && !e.ended {
		e.err = e.control.Flush()
		e.timer.Reset(e.idle)
	}
	return e.err
}

var pingEvent = []byte("event: ping\ndata: {\"type\":\"ping\"}\n\n")

// ping keeps proxies from closing a silent connection. The first event is never a ping.
func (e *eventWriter) ping() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	if e.begun {
		e.writeLocked(pingEvent)
	}
	_ = e.flushLocked() // the next write has the error
	e.timer.Reset(e.idle)
}

// end stops the pings. Nothing is written afterwards.
func (e *eventWriter) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.timer.Stop()
}
