package gateway

import (
	"net/http"
	"time"
)

const (
	writeTimeout = 30 * time.Second
	writePart    = 256 << 10 // bytes
)

// A boundedWriter bounds the time in which the application takes a part of an answer: who
// has stopped reading would otherwise hold the answer in memory for ever. While nothing is
// sent, there is no limit.
type boundedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func newBoundedWriter(w http.ResponseWriter, timeout time.Duration) *boundedWriter {
	return &boundedWriter{w, http.NewResponseController(w), timeout}
}

// limit sets the deadline until lift is called. Not every writer supports one.
func (w *boundedWriter) limit() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
func (w *boundedWriter) lift()  { _ = w.control.SetWriteDeadline(time.Time{}) }

// Write implements io.Writer.
func (w *boundedWriter) Write(p []byte) (written int, err error) {
	defer w.lift()
	for {
		w.limit()
		n, err := w.ResponseWriter.Write(p[written:min(len(p), written+writePart)])
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError is what [http.ResponseController] calls.
func (w *boundedWriter) FlushError() error {
	defer w.lift()
	w.limit()
	return w.control.Flush()
}

// Unwrap returns the inner writer, for [http.ResponseController].
func (w *boundedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
