package faultproxy

import (
	"io"
	"log"
	"net/http"
)

// silent is the log for errors that a proxy causes on purpose.
var silent = log.New(io.Discard, "", 0)

// discarded is a response that nobody receives.
type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(int)             {}

// halved is a body that ends too early.
type halved struct {
	io.ReadCloser
	left int64
}

func (h *halved) Read(b []byte) (int, error) {
	if h.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := h.ReadCloser.Read(b[:min(int64(len(b)), h.left)])
	h.left -= int64(n)
	return n, err
}
