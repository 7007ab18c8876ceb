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

// bulkTime is how many times longer than others an archive or a listing may take to
// arrive, here or there.
const bulkTimeFactor = 20

// streamCost is how many bytes a listing takes while it is sent: what the backend keeps
// for it, and its buffers.
const streamCost = 4 << 20

// A streaming is an answer that is sent as it comes about.
type responseStream struct {
	c     *call
	buf   bytes.Buffer
	until time.Time // when all of it must have been taken; zero for never
}

// stream begins an answer.
func (c *call) stream(contentType string) *responseStream {
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(http.StatusOK)
	return &responseStream{c: c}
}

// snapshot begins an answer that is of one instant, which the backend keeps until all
// of it was sent: so a client has a time to take it.
func (c *call) snapshot(contentType string) *responseStream {
	s := c.stream(contentType)
	s.until = time.Now().Add(bulkTimeFactor * c.api.opts.Timeout)
	return s
}

// flush sends what is in the buffer, within the time that a part has.
func (s *responseStream) flush() error {
	if !s.until.IsZero() && time.Now().After(s.until) {
		s.c.w.gone = true
		return context.DeadlineExceeded
	}
	s.c.setWriteDeadline()
	// Until the next part there is nothing to be late with.
	defer func() { _ = s.c.control.SetWriteDeadline(time.Time{}) }()
	_, err := s.c.w.Write(s.buf.Bytes())
	if s.buf.Reset(); s.buf.Cap() > 2*flushBytes { // a stream may be idle for long
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
	return s.flush()
}

// line adds a line to a stream of JSON objects, and sends some now and then.
func (s *responseStream) line(v any) error {
	if err := s.encode(v); err != nil || s.buf.Len() < flushBytes {
		return err
	}
	runtime.Gosched() // short requests come first
	return s.flush()
}

// enough is how many bytes are sent at once.
const flushBytes = 64 << 10

// end says that nothing is missing.
func (s *responseStream) end() error {
	if err := s.encode(struct {
		Type string `json:"type"`
	}{"end"}); err != nil {
		return err
	}
	return s.flush()
}

// fail ends a stream with an error.
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
