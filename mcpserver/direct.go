package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memento/internal/strictjson"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Nearly all messages of a client are calls of the six commands. The SDK decodes each four
// times, with a new buffer of 32 KB each, and encodes each answer three times, which takes
// longer than the command. So a connection executes those calls itself. Everything that a
// call depends on besides its arguments, the SDK has checked before: only a call that is
// like one that the SDK has answered is executed directly. Whatever is unusual about a
// message, such as a member that is not known here, the SDK gets it.

const methodCall = "tools/call"

// A directCall is a call of one of the six commands that needs nothing of the SDK.
type directCall struct {
	id    jsonrpc.ID
	input []byte // of the memory tool

	// protocol has the members of _meta that the protocol defines for requests, in JSON: the
	// version, and what 2026-07-28 wants to know in each request.
	protocol string
	// added is what the SDK adds to the answers of requests with these members.
	added []byte
}

// protocolMember begins the names of these members.
const protocolMember = "io.modelcontextprotocol/"

const (
	maxMembers     = 16 // of a message and its params
	maxMetaMembers = 64
	maxDirectDepth = 64 // lists and objects around each other
)

// parseDirect returns the direct call that a message is; ok is false if it is something
// else, or has something that only the SDK knows.
func (s *Server) parseDirect(raw []byte) (call directCall, ok bool) {
	message, err := object(raw, maxMembers)
	if err != nil || len(message) != 4 || string(message["jsonrpc"]) != `"2.0"` || string(message["method"]) != `"`+methodCall+`"` {
		return call, false
	}
	if call.id, ok = directID(message["id"]); !ok {
		return call, false
	}
	params, err := object(message["params"], maxMembers)
	if err != nil {
		return call, false
	}
	known := 2
	if meta, has := params["_meta"]; has {
		if call.protocol, ok = protocolOf(meta); !ok {
			return call, false
		}
		known++
	}
	name, arguments := params["name"], params["arguments"]
	if len(params) != known || len(name) == 0 || name[0] != '"' || len(arguments) == 0 || arguments[0] != '{' {
		return call, false
	}
	command, ok := s.direct[strictjson.Unquote(name)]
	call.input = arguments
	if command != "" {
		call.input = withCommand(command, arguments)
	}
	return call, ok
}

func object(raw []byte, max int) (map[string]json.RawMessage, error) {
	scanner := strictjson.Scanner{Text: raw, MaxDepth: maxDirectDepth}
	return scanner.Object(max)
}

// directID returns the ID of a request as the SDK has it. A number that is not written as
// an integer, or is a large one, is left to the SDK.
func directID(raw []byte) (id jsonrpc.ID, ok bool) {
	switch {
	case len(raw) == 0 || len(raw) > maxID:
		return id, false
	case raw[0] == '"':
		id, err := jsonrpc.MakeID(strictjson.Unquote(raw))
		return id, err == nil
	}
	const exact = 1 << 53 // greater numbers are not exact in every program
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n <= -exact || n >= exact {
		return id, false
	}
	id, err = jsonrpc.MakeID(float64(n))
	return id, err == nil
}

// protocolOf returns the members of a _meta that the protocol defines for requests. The
// others are the client's own, and a progress token, which no command uses.
func protocolOf(meta []byte) (protocol string, ok bool) {
	members, err := object(meta, maxMetaMembers)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if strings.HasPrefix(name, protocolMember) {
			b.WriteString(name)
			b.WriteByte(' ')
			b.Write(members[name])
			b.WriteByte('\n')
		}
	}
	return b.String(), true
}

// learned is what a connection knows about calls that the SDK has answered.
type learned struct {
	protocol string // of the calls
	added    []byte // what the SDK has added to the answers: members, each after a comma
}

// learn notes that the SDK has answered a call.
func (c *conn) learn(protocol string, answer json.RawMessage) {
	members, err := object(answer, maxMembers)
	if err != nil {
		return
	}
	l := learned{protocol: protocol}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch name {
		case "content", "isError":
		case "_meta", "resultType":
			l.added = append(l.added, `,"`+name+`":`...)
			l.added = append(l.added, members[name]...)
		default: // what else there is may differ from call to call
			return
		}
	}
	c.mu.Lock()
	c.learned = &l
	c.mu.Unlock()
}

// isDirect reports whether a call is like the one that the SDK has answered.
func (c *conn) isDirect(call *directCall) bool {
	if c.server.opened.Load() == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.learned == nil || c.learned.protocol != call.protocol {
		return false
	}
	call.added = c.learned.added
	return true
}

// maxIdle is how many goroutines of a connection wait for direct calls. One that has
// executed a call has a stack that is large enough for the next.
const maxIdle = 16

// start executes a direct call in a goroutine of its own.
func (c *conn) start(ctx context.Context, call *directCall) {
	select {
	case c.direct <- started{ctx, call}:
	default:
		c.workers.Go(func() { c.work(started{ctx, call}) })
	}
}

// A started call is executed until its context ends.
type started struct {
	ctx  context.Context
	call *directCall
}

func (c *conn) work(next started) {
	for {
		c.execute(next.ctx, next.call)
		select {
		case c.idle <- struct{}{}:
		default:
			return
		}
		select {
		case next = <-c.direct:
			<-c.idle
		case <-c.closed:
			return
		}
	}
}

func (c *conn) execute(ctx context.Context, call *directCall) {
	r := c.server.execute(ctx, c.server.opened.Load(), call.input)
	c.answered(call.id).cancel()                   // releases what the context has
	_ = c.write(call.answer(r.Content, r.IsError)) // fail has the error
	c.release()
}

// answer is the message with the text that answers the call.
func (d *directCall) answer(text string, isError bool) []byte {
	end := `}]`
	if isError {
		end = `}],"isError":true`
	}
	return answer(d.id, []byte(`{"content":[{"type":"text","text":`), strictjson.Quote(text), []byte(end), d.added, []byte("}"))
}

// cancelDirect cancels a direct call. It reports whether there was one with the ID.
func (c *conn) cancelDirect(id jsonrpc.ID) bool {
	c.mu.Lock()
	cancel := c.underWay[id].cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}
