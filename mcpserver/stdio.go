package mcpserver

import (
	"context"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// MaxMessageBytes is the most bytes of one message of a client.
	MaxMessageBytes = 4 << 20

	maxInFlight = 64  // calls of one connection that are executed at once
	maxHeld     = 256 // further calls that are read
	maxBatch    = 100 // messages of one batch
	maxListens  = 32  // subscriptions of one connection

	maxFinish = 10 * time.Second // for calls that are under way when the server ends
)

// Serve answers the messages on in, one JSON-RPC message a line, until in ends or ctx does.
// Then it finishes the calls that it has read. Nothing but messages is written to out.
//
// A read from in that has begun is not interrupted when ctx ends: the goroutine for it
// remains until the read returns.
//
// Errors: those of reading and writing. That the client has closed a stream is none.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newConn(ctx, s, in, out)
	defer c.Close()
	session, err := s.mcp.Connect(ctx, c, nil)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = session.Wait() // failure has the errors of reading and writing
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		_ = session.Close()
		<-ended
	}
	_ = c.Close()
	c.finish()
	c.endListens()
	return c.failure()
}

var _ mcp.Transport = (*conn)(nil)
var _ mcp.Connection = (*conn)(nil)
