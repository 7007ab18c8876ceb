package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

var (
	errCutOff     = errors.New("the answer of the upstream was cut off")
	errLarge      = fmt.Errorf("the answer of the upstream has more than %d bytes", maxAnswer)
	errLargeEvent = fmt.Errorf("an event of the upstream has more than %d bytes", maxAnswer)
)

// A frame is a server-sent event as it arrived, with the blank line that ends it.
type frame struct {
	raw  []byte
	name string // of the event line; "" if there is none
	// The value of the data line is raw[from:to]. That of several such lines is joined.
	from, to int
	joined   []byte
}

func (f frame) data() []byte {
	if f.joined != nil {
		return f.joined
	}
	return f.raw[f.from:f.to]
}

// with returns the frame with other data, which has the end of a line only where that of
// the frame has one.
func (f frame) with(data []byte) []byte {
	if f.joined != nil {
		var raw []byte
		if f.name != "" {
			raw = fmt.Appendf(raw, "event: %s\n", f.name)
		}
		return fmt.Appendf(raw, "data: %s\n\n", bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
	}
	raw := make([]byte, 0, len(f.raw)-(f.to-f.from)+len(data))
	raw = append(raw, f.raw[:f.from]...)
	raw = append(raw, data...)
	return append(raw, f.raw[f.to:]...)
}

// A frameReader reads events. Source: WHATWG HTML, "Server-sent events".
type frameReader struct {
	in  *bufio.Reader
	buf []byte
}

// streamBuffer is how many bytes of a stream are read at once.
const streamBuffer = 16 << 10

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, streamBuffer)}
}

// pending reports whether a whole event has arrived already.
func (r *frameReader) pending() bool {
	ahead, _ := r.in.Peek(r.in.Buffered()) // which never fails
	for {
		if bytes.HasPrefix(ahead, []byte("\n")) || bytes.HasPrefix(ahead, []byte("\r\n")) {
			return true
		}
		end := bytes.IndexByte(ahead, '\n')
		if end < 0 {
			return false
		}
		ahead = ahead[end+1:]
	}
}

// next returns the next event, which is valid until the next call. io.EOF means that the
// stream has ended after a whole event.
func (r *frameReader) next() (frame, error) {
	r.buf = r.buf[:0]
	f := frame{}
	lines := 0
	for {
		start := len(r.buf)
		if err := r.readLine(); err != nil {
			return frame{}, err
		}
		line := bytes.TrimRight(r.buf[start:], "\r\n")
		switch {
		case len(line) == 0:
			f.raw = r.buf
			return f, nil
		case bytes.HasPrefix(line, []byte("event:")):
			f.name = string(bytes.TrimSpace(line[len("event:"):]))
		case bytes.HasPrefix(line, []byte("data:")):
			if lines++; lines == 2 {
				f.joined = bytes.Clone(r.buf[f.from:f.to])
			}
			f.from = start + len("data:")
			if f.from < start+len(line) && r.buf[f.from] == ' ' {
				f.from++
			}
			f.to = start + len(line)
			if lines > 1 {
				f.joined = append(append(f.joined, '\n'), r.buf[f.from:f.to]...)
			}
		}
	}
}

// readLine appends a line to the buffer, with its end: CRLF, LF, or CR alone. After a CR it
// waits for the byte that shows which of them it is, which delays streams that have CR
// alone by an event. None of a Messages API is known to.
func (r *frameReader) readLine() error {
	for {
		if _, err := r.in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.buf)) > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		ahead, _ := r.in.Peek(r.in.Buffered()) // which never fails
		part := ahead
		if i := bytes.IndexByte(part, '\n'); i >= 0 {
			part = part[:i+1]
		}
		if i := bytes.IndexByte(part, '\r'); i >= 0 {
			part = part[:i+1]
		}
		r.buf = append(r.buf, part...)
		r.in.Discard(len(part))
		if len(r.buf) > maxAnswer {
			return errLargeEvent
		}
		switch r.buf[len(r.buf)-1] {
		case '\n':
			return nil
		case '\r':
			if next, err := r.in.Peek(1); err == nil && next[0] == '\n' {
				r.buf = append(r.buf, '\n')
				r.in.Discard(1)
			}
			return nil
		}
	}
}
