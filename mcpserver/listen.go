package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodListen    = "subscriptions/listen"
	methodCancelled = "notifications/cancelled"
)

// A listen is the connection of one subscriptions/listen request. The SDK remembers one
// such request for each session, and forgets all when one ends; so each has a session of
// its own, and all write to the same stream.
type listen struct {
	of      *conn
	request chan *jsonrpc.Request // the one that it was made for, then a cancellation
	closed  chan struct{}
	once    sync.Once
}

// listen starts the subscription of a request.
func (c *conn) listen(req *jsonrpc.Request) {
	id := idKey(req.ID)
	c.mu.Lock()
	_, twice := c.listens[id]
	full := len(c.listens) >= maxListens
	if twice || full {
		c.mu.Unlock()
		why := "the connection has too many subscriptions"
		if twice {
			why = "the ID is that of another request"
		}
		_ = c.send(&jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}})
		return
	}
	l := &listen{of: c, request: make(chan *jsonrpc.Request, 2), closed: make(chan struct{})}
	c.listens[id] = l
	c.sessions.Add(1)
	c.mu.Unlock()
	l.request <- req
	session, err := c.server.mcp.Connect(c.ctx, l, nil)
	if err != nil {
		c.forget(id)
		return
	}
	go func() {
		_ = session.Wait()
		c.forget(id)
	}()
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	delete(c.listens, id)
	c.mu.Unlock()
	c.sessions.Done()
}

// cancelled returns the ID of the request that a notification cancels; ok is false if it
// cancels none.
func cancelled(note *jsonrpc.Request) (id jsonrpc.ID, ok bool) {
	if note.Method != methodCancelled {
		return id, false
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(note.Params, &params) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	return id, err == nil
}

// cancelListen passes the cancellation of a subscription to its session. It reports whether
// that is what the notification was.
func (c *conn) cancelListen(id jsonrpc.ID, note *jsonrpc.Request) bool {
	c.mu.Lock()
	l := c.listens[idKey(id)]
	c.mu.Unlock()
	if l == nil {
		return false
	}
	select {
	case l.request <- note:
	default: // it was cancelled before
	}
	return true
}

// endListens ends all subscriptions, and waits for their sessions.
func (c *conn) endListens() {
	c.mu.Lock()
	for _, l := range c.listens {
		l.end()
	}
	c.mu.Unlock()
	c.sessions.Wait()
}

func idKey(id jsonrpc.ID) string {
	text, _ := json.Marshal(id.Raw()) // a number or a string
	return string(text)
}

func (l *listen) end() { l.once.Do(func() { close(l.closed) }) }

// Connect implements mcp.Transport.
func (l *listen) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// SessionID implements mcp.Connection.
func (l *listen) SessionID() string { return "" }

// Close implements mcp.Connection.
func (l *listen) Close() error {
	l.end()
	return nil
}

// Read implements mcp.Connection.
func (l *listen) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case req := <-l.request:
		return req, nil
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection. The session ends with the answer to its request.
func (l *listen) Write(_ context.Context, msg jsonrpc.Message) error {
	err := l.of.send(msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		l.end()
	}
	return err
}
