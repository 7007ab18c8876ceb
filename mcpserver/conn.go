package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"memento/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A conn is a connection over a pair of streams. The SDK's own ends at the first line
// that is not a message; this one answers it with an error and reads on.
type conn struct {
	ctx    context.Context
	server *Server

	lines   <-chan line
	queue   []json.RawMessage // of a batch, not yet read
	held    []heldCall        // read, and waiting for a slot
	size    int               // bytes of held
	ended   bool              // whether the input has
	slots   chan struct{}     // one element for each call under way
	drained chan struct{}     // receives a value when no call is under way any more
	closed  chan struct{}
	once    sync.Once

	outMu sync.Mutex
	out   io.Writer

	ctxOfCalls context.Context // of direct calls; endCalls ends it
	endCalls   context.CancelFunc
	direct     chan started  // to the workers that wait
	idle       chan struct{} // one element for each of them
	workers    sync.WaitGroup

	mu       sync.Mutex
	calls    int // under way, without subscriptions, until their answers are written
	underWay map[jsonrpc.ID]underWay
	learned  *learned           // nil until the SDK has answered a call of a command
	listens  map[string]*listen // by the ID of the request
	sessions sync.WaitGroup     // of listens
	err      error              // the first of reading and writing
}

// underWay is what is known of a call until it is answered.
type underWay struct {
	cancel context.CancelFunc // of a direct call
	learn  *directCall        // what the call would be, if its answer tells how to execute others directly
}

func newConn(ctx context.Context, s *Server, in io.Reader, out io.Writer) *conn {
	c := &conn{
		ctx: ctx, server: s, out: out,
		slots: make(chan struct{}, maxInFlight), drained: make(chan struct{}, 1), closed: make(chan struct{}),
		direct: make(chan started), idle: make(chan struct{}, maxIdle),
		underWay: map[jsonrpc.ID]underWay{}, listens: map[string]*listen{},
	}
	c.ctxOfCalls, c.endCalls = context.WithCancel(context.WithoutCancel(ctx))
	c.lines = readLines(in, MaxMessageBytes, c.closed)
	return c
}

// Connect implements mcp.Transport.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements mcp.Connection.
func (c *conn) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// A heldCall is a call that waits for a slot: one for the SDK, or a direct call.
type heldCall struct {
	id     jsonrpc.ID
	req    *jsonrpc.Request // nil if the call is direct
	direct *directCall      // for the SDK's, what the call would be if it were direct; nil if it could not be
	size   int              // in bytes
}

// errSlot is what next returns if a held call has got its slot.
var errSlot = errors.New("a slot is free")

// Read returns the next message. Calls wait for a slot; answers and cancellations, which
// calls under way may need, do not wait behind them. At the end of the input it waits for
// the calls under way, whose answers the client may still read.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		raw, err := c.next(ctx)
		if errors.Is(err, errSlot) {
			first := c.held[0]
			c.held, c.size = c.held[1:], c.size-first.size
			if c.begin(&first) && first.req != nil {
				return first.req, nil
			}
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil, c.drain(ctx)
		}
		if err != nil {
			return nil, err
		}
		candidate, isCandidate := c.server.parseDirect(raw)
		if isCandidate && c.isDirect(&candidate) {
			c.hold(heldCall{candidate.id, nil, &candidate, len(raw)})
			continue
		}
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			c.refuse(idOf(raw), jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message")
			continue
		}
		req, ok := msg.(*jsonrpc.Request)
		if !ok {
			return msg, nil
		}
		if !req.IsCall() {
			if id, ok := cancelled(req); ok && (c.cancelListen(id, req) || c.cancelHeld(id) || c.cancelDirect(id)) {
				continue
			}
			return msg, nil
		}
		if req.Method == methodListen {
			c.listen(req)
			continue
		}
		held := heldCall{id: req.ID, req: req, size: len(raw)}
		if isCandidate {
			held.direct = &candidate
		}
		c.hold(held)
	}
}

func (c *conn) hold(call heldCall) {
	c.held, c.size = append(c.held, call), c.size+call.size
}

// begin notes that a call is under way, which has a slot, and starts a direct one. It
// refuses a call whose ID another one has, and reports false.
func (c *conn) begin(call *heldCall) bool {
	var (
		u   underWay
		ctx context.Context
	)
	if call.req == nil {
		ctx, u.cancel = context.WithCancel(c.ctxOfCalls)
	} else {
		u.learn = call.direct
	}
	c.mu.Lock()
	_, twice := c.underWay[call.id]
	if !twice {
		c.underWay[call.id] = u
		c.calls++
	}
	c.mu.Unlock()
	switch {
	case twice:
		if u.cancel != nil {
			u.cancel()
		}
		c.refuse([]byte(idKey(call.id)), jsonrpc.CodeInvalidRequest, "the ID is that of another request")
		<-c.slots
	case call.req == nil:
		c.start(ctx, call.direct)
	}
	return !twice
}

// answered forgets a call before its answer is written, upon which the client may use the ID
// again.
func (c *conn) answered(id jsonrpc.ID) underWay {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.underWay[id]
	delete(c.underWay, id)
	return u
}

// release frees the slot of a call whose answer is written.
func (c *conn) release() {
	c.mu.Lock()
	c.calls--
	c.mu.Unlock()
	select {
	case c.drained <- struct{}{}:
	default:
	}
	select {
	case <-c.slots:
	default:
	}
}

// cancelHeld drops a call that waits for a slot, which is not answered then: the
// specification wants that. It reports whether there was such a call.
func (c *conn) cancelHeld(id jsonrpc.ID) bool {
	i := slices.IndexFunc(c.held, func(h heldCall) bool { return h.id == id })
	if i < 0 {
		return false
	}
	c.size -= c.held[i].size
	c.held = slices.Delete(c.held, i, i+1)
	return true
}

// next returns the next line that is JSON, or the next message of a batch, or errSlot. While
// too much is held it reads nothing.
func (c *conn) next(ctx context.Context) (json.RawMessage, error) {
	for {
		full := len(c.held) >= maxHeld || c.size > MaxMessageBytes
		if len(c.held) > 0 {
			select {
			case c.slots <- struct{}{}:
				return nil, errSlot
			default:
			}
		}
		if len(c.queue) > 0 && !full {
			raw := c.queue[0]
			c.queue = c.queue[1:]
			return raw, nil
		}
		lines, slots := c.lines, c.slots
		if full || c.ended {
			lines = nil
		}
		if len(c.held) == 0 {
			if slots = nil; c.ended {
				return nil, io.EOF
			}
		}
		var l line
		select {
		case l = <-lines:
		case slots <- struct{}{}:
			return nil, errSlot
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		}
		switch {
		case l.err != nil:
			if !errors.Is(l.err, io.EOF) {
				c.fail(fmt.Errorf("read messages: %w", l.err))
			}
			c.ended = true // what is held is still executed
		case l.tooLong:
			c.refuse(l.id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes", MaxMessageBytes))
		case len(l.text) == 0:
		case !json.Valid(l.text):
			c.refuse(nil, jsonrpc.CodeParseError, "the line is not valid JSON; a message is one line")
		case l.text[0] == '[':
			c.split(l.text)
		default:
			return l.text, nil
		}
	}
}

// split queues the messages of a batch. Each is answered on its own.
func (c *conn) split(batch []byte) {
	s := strictjson.Scanner{Text: batch, MaxDepth: 100, Loose: true}
	s.At = 1
	var queue []json.RawMessage
	for n := 0; ; n++ {
		more, err := s.Next(']', n)
		switch {
		case err != nil:
			c.refuse(nil, jsonrpc.CodeParseError, "the batch is not valid JSON, or nested too deeply")
			return
		case !more && n == 0:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
			return
		case !more:
			c.queue = queue
			return
		case n == maxBatch:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the batch has more than %d messages", maxBatch))
			return
		}
		raw, err := s.Value(1)
		if err != nil {
			c.refuse(nil, jsonrpc.CodeParseError, "the batch is not valid JSON, or nested too deeply")
			return
		}
		queue = append(queue, raw)
	}
}

// finish waits for the direct calls that are under way, for some time.
func (c *conn) finish() {
	late := time.AfterFunc(maxFinish, c.endCalls)
	c.workers.Wait()
	late.Stop()
	c.endCalls()
}

// drain waits until no call is under way, and returns io.EOF.
func (c *conn) drain(ctx context.Context) error {
	for {
		c.mu.Lock()
		calls := c.calls
		c.mu.Unlock()
		if calls == 0 {
			return io.EOF
		}
		select {
		case <-c.drained:
		case <-ctx.Done():
			return io.EOF
		case <-c.closed:
			return io.EOF
		}
	}
}

// Write implements mcp.Connection.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.send(msg)
	}
	if u := c.answered(r.ID); u.learn != nil && r.Error == nil {
		c.learn(u.learn.protocol, r.Result)
	}
	defer c.release()
	return c.send(msg)
}

// send writes a message with one call of the writer, so that messages do not mix.
func (c *conn) send(msg jsonrpc.Message) error {
	if r, ok := msg.(*jsonrpc.Response); ok && r.Error == nil && len(r.Result) > 0 {
		return c.write(answer(r.ID, r.Result))
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.write(data)
}

// answer encodes the answer to a request. Its result, given in parts, is encoded already,
// and is large if it has a text: it is copied as it is, where the SDK's encoder would read it
// once more.
func answer(id jsonrpc.ID, result ...[]byte) []byte {
	key := idKey(id)
	size := len(key) + 40
	for _, part := range result {
		size += len(part)
	}
	data := make([]byte, 0, size)
	data = append(data, `{"jsonrpc":"2.0","id":`...)
	data = append(data, key...)
	data = append(data, `,"result":`...)
	for _, part := range result {
		data = append(data, part...)
	}
	return append(data, '}')
}

func (c *conn) write(data []byte) error {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		err = fmt.Errorf("write messages: %w", err)
		if !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, syscall.EPIPE) { // the client has not just ended
			c.fail(err)
		}
		_ = c.Close() // nobody reads the answers
		c.endCalls()
		return err
	}
	return nil
}

// refuse answers what is no message. id is that of the request, if it could be read.
func (c *conn) refuse(id json.RawMessage, code int, why string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: int64(code), Message: why}})
	if err == nil {
		_ = c.write(data) // fail has the error
	}
}

func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// idOf returns the ID of a message that is valid JSON; nil if it has none.
func idOf(raw []byte) json.RawMessage {
	var finder idFinder
	finder.Write(raw)
	return finder.id()
}
