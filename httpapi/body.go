package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// largeBodyFactor is how many times Options.MaxBody the JSON of a large endpoint may
	// have: restoring a whole store is one request.
	largeBodyFactor = 32

	// bodyCost is the number of bytes of memory that one byte of JSON takes: for the
	// text, for the values decoded from it, and for their use in a store.
	bodyCost = 4

	// smallBody is the size in bytes up to which bodies are not counted. The number of
	// bodies is limited, which bounds their memory.
	smallBody = 16 << 10

	// maxLinger is the maximum number of bytes that linger reads of an unused body.
	maxLinger = 64 << 20
)

// receive reads the JSON body of a request, if it has one. If the body declares its
// length, its memory is reserved before it is read.
func (c *call) receive() error {
	if !c.hasBody() || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || c.r.Method == http.MethodDelete || !c.sendsJSON() {
		return nil
	}
	most, within := c.api.opts.MaxBody, c.api.opts.Timeout
	if c.route.kind == largeEndpoint {
		most, within = largeBodyFactor*most, bulkTimeFactor*within
	}
	return c.receiveUpTo(most, within)
}

// receiveUpTo reads a body, with limits of its size in bytes and of the time until it has
// arrived.
func (c *call) receiveUpTo(most int64, within time.Duration) error {
	size := c.r.ContentLength // -1 if it is not known
	if size > most {
		return tooManyBytes(most)
	}
	arrival, err := c.acquire(c.api.bodies, 1)
	if err != nil {
		return err
	}
	defer arrival.release()
	if size > smallBody {
		if err := c.reserve(bodyCost * size); err != nil {
			return err
		}
	}
	c.text, err = c.readAll(c.reader(most, within), size)
	return err
}

// readAll reads a body into one buffer. If the size is unknown (-1), the buffer grows,
// and each growth is reserved first.
func (c *call) readAll(r io.Reader, size int64) ([]byte, error) {
	room := size + 1 // to see its end
	if size < 0 {
		room = smallBody
	}
	text := make([]byte, 0, room)
	for {
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF { // not an error that wraps it
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		if len(text) < cap(text) {
			continue
		}
		if err := c.reserve(bodyCost * int64(cap(text))); err != nil {
			return nil, err
		}
		text = append(make([]byte, 0, 2*cap(text)), text...)
	}
}

// read returns the body of a request. A body that is not JSON is an error.
func (c *call) read() ([]byte, error) {
	if !c.sendsJSON() {
		return nil, invalid("Content-Type: must be application/json (with curl, use --json)")
	}
	return c.text, nil
}

// sendsJSON reports whether the Content-Type of a body is JSON, or absent.
func (c *call) sendsJSON() bool {
	kind := c.r.Header.Get("Content-Type")
	return kind == "" || c.r.ContentLength == 0 || isJSON(kind)
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

func tooManyBytes(most int64) *apiError {
	return &apiError{status: http.StatusRequestEntityTooLarge, kind: requestTooLarge, closeConn: true, message: fmt.Sprintf("the request has more than %d bytes", most)}
}

// reader returns a reader of the body, with limits of its size in bytes and of the time
// until it has arrived.
func (c *call) reader(most int64, within time.Duration) io.Reader {
	_ = c.control.SetReadDeadline(time.Now().Add(within))
	return &bodyReader{c, http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, most)}
}

// A bodyReader reads a body, and turns errors into those of the API.
type bodyReader struct {
	c    *call
	body io.Reader
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.c.body += int64(n)
	if err == nil {
		return n, nil
	}
	if err == io.EOF { // not an error that wraps it
		b.c.bodyRead = true
		return n, err
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return n, tooManyBytes(large.Limit)
	}
	f := &apiError{status: http.StatusBadRequest, kind: invalidRequest, closeConn: true, message: "the request body is incomplete"}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f.status, f.message = http.StatusRequestTimeout, "the request did not arrive in time"
	}
	return n, f
}

// linger reads and drops the rest of a body after the answer. If a connection is closed
// while its client is still sending, it is reset, and the client may never read the
// answer.
func (c *call) linger() {
	if c.r.ProtoMajor > 1 || !c.hasBody() || c.bodyRead || c.r.Header.Get("Expect") != "" {
		return
	}
	if c.control.Flush() == nil {
		_ = c.control.SetReadDeadline(time.Now().Add(c.bodyGrace()))
		_, _ = io.CopyN(io.Discard, c.r.Body, maxLinger)
	}
}
