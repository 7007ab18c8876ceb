package httpmessage

import (
	"bytes"
	"net/http"
)

// A Recorder is an http.ResponseWriter that keeps the response. [NewRecorder] makes one.
type Recorder struct {
	Status int // 0 until the header is written
	Body   bytes.Buffer

	header http.Header
}

// NewRecorder returns a Recorder without a response.
func NewRecorder() *Recorder { return &Recorder{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (r *Recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter. As with a connection, the first status stays.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(p)
}

// Flush implements http.Flusher.
func (r *Recorder) Flush() {}

// SendTo writes the response to w. Header fields that w has already are replaced. If a
// handler has written nothing, the response is empty with the status 200, as package http
// would send it.
func (r *Recorder) SendTo(w http.ResponseWriter) {
	r.WriteHeader(http.StatusOK)
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body.Bytes()) // a client that is gone has no use for the error
}
