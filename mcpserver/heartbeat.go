package mcpserver

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// A beating is the answer to a request that is a stream of events. While nothing else is sent
// it sends comments, which clients pass over: proxies end a connection that is silent, and
// the server notices that the client is gone.
//
// The SDK writes each event with one Write, so a comment is never inside of one.
type beating struct {
	http.ResponseWriter
	ended chan struct{}
	done  sync.WaitGroup

	mu     sync.Mutex
	stream bool // whether the answer has begun, and is a stream
	idle   bool // whether nothing was sent since the last beat
}

func newBeating(w http.ResponseWriter, every time.Duration) *beating {
	b := &beating{ResponseWriter: w, ended: make(chan struct{})}
	b.done.Go(func() {
		beat := time.NewTicker(every)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				b.beat()
			case <-b.ended:
				return
			}
		}
	})
	return b
}

// end ends the beats. Nothing is written after it has returned.
func (b *beating) end() {
	close(b.ended)
	b.done.Wait()
}

func (b *beating) beat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream && b.idle {
		// The request ends if the client is gone.
		_, _ = b.ResponseWriter.Write([]byte(": still here\n\n"))
		_ = http.NewResponseController(b.ResponseWriter).Flush()
	}
	b.idle = true
}

// begin notes that the answer begins or goes on. The caller holds the lock.
func (b *beating) begin() {
	b.stream = strings.HasPrefix(b.Header().Get("Content-Type"), "text/event-stream")
	b.idle = false
}

func (b *beating) WriteHeader(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
	b.ResponseWriter.WriteHeader(status)
}

func (b *beating) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
	return b.ResponseWriter.Write(p)
}

// FlushError is how http.ResponseController flushes.
func (b *beating) FlushError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return http.NewResponseController(b.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (b *beating) Unwrap() http.ResponseWriter { return b.ResponseWriter }
