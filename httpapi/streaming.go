package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"memento/internal/wire"
)

// bulkTimeFactor is how many times Options.Timeout an archive or a listing may take to
// be sent or received.
const bulkTimeFactor = 20

// streamCost is the number of bytes of memory that sending a listing takes: the state in
// the backend, and buffers.
const streamCost = 4 << 20

// A responseStream is an answer that is sent in parts.
type responseStream struct {
	c     *call
	buf   bytes.Buffer
	until time.Time // when the client must have received all of it; zero means no deadline
	hold  bool      // whether events are sent together, when the buffer is full or with the next comment
}

// stream begins an answer without a deadline for the whole.
func (c *call) stream(contentType string) *responseStream {
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(http.StatusOK)
	return &responseStream{c: c}
}

// snapshot begins an answer whose contents are of one instant. The backend keeps that
// state until the answer is sent, so the client must receive it before a deadline.
func (c *call) snapshot(contentType string) *responseStream {
	s := c.stream(contentType)
	s.until = time.Now().Add(bulkTimeFactor * c.api.opts.Timeout)
	return s
}

// listing begins the answer to a listing of a store, as a snapshot. What is wrong with the
// query, the store or the memory in use is an error, while one can still be answered.
func (c *call) listing(q *query) (*responseStream, error) {
	if q.err != nil {
		return nil, q.err
	}
	if _, err := c.info(); err != nil {
		return nil, err
	}
	if err := c.reserve(streamCost); err != nil {
		return nil, err
	}
	return c.snapshot("application/x-ndjson"), nil
}

// flush sends the buffer, within the time for one part.
func (s *responseStream) flush() error {
	if !s.until.IsZero() && time.Now().After(s.until) {
		s.c.w.gone = true
		return context.DeadlineExceeded
	}
	s.c.setWriteDeadline()
	// No deadline applies until the next part.
	defer func() { _ = s.c.control.SetWriteDeadline(time.Time{}) }()
	_, err := s.c.w.Write(s.buf.Bytes())
	if s.buf.Reset(); s.buf.Cap() > 2*flushBytes { // an idle stream keeps no large buffer
		s.buf = bytes.Buffer{}
	}
	if err == nil {
		err = s.c.control.Flush()
	}
	if err != nil {
		s.c.w.gone = true
	}
	return err
}

func (s *responseStream) encode(v any) error {
	e := json.NewEncoder(&s.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (s *responseStream) comment(text string) error {
	s.buf.WriteString(": " + text + "\n\n")
	return s.flush()
}

func (s *responseStream) event(name, id string, v any) error {
	fmt.Fprintf(&s.buf, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(&s.buf, "id: %s\n", id)
	}
	s.buf.WriteString("data: ")
	if err := s.encode(v); err != nil { // JSON on one line
		return err
	}
	s.buf.WriteString("\n")
	if s.hold && s.buf.Len() < flushBytes {
		return nil
	}
	return s.flush()
}

// line adds a line to a stream of JSON objects, and sends the buffer when it is full.
func (s *responseStream) line(v any) error {
	if err := s.encode(v); err != nil || s.buf.Len() < flushBytes {
		return err
	}
	runtime.Gosched() // short requests come first
	return s.flush()
}

// flushBytes is the number of buffered bytes from which on the buffer is sent.
const flushBytes = 64 << 10

// end sends the last line, by which the client knows that the stream is complete.
func (s *responseStream) end() error {
	if err := s.encode(struct {
		Type string `json:"type"`
	}{"end"}); err != nil {
		return err
	}
	return s.flush()
}

// fail ends a stream with a line that reports an error.
func (s *responseStream) fail(err error) error {
	f := s.c.toAPIError(err)
	s.c.errorType = f.kind
	body := f.extra
	body.Type, body.Message = f.kind, f.message
	if err := s.encode(wire.ErrorAnswer{Type: "error", Error: body, RequestID: s.c.id}); err != nil {
		return err
	}
	return s.flush()
}
