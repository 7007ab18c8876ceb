package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/internal/strictjson"
)

const (
	maxCalls   = 100      // of one request
	resultCost = 64 << 10 // bytes of memory that the answer to one call takes
)

// runTool executes calls of the memory tool: a tool_use block or a bare input, which
// is answered with a tool_result block; a list of these, which is answered with a
// list; or an object with such a list as calls. A call that the tool refuses is not an
// error of the request: its block says so.
func (a *API) runTool(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	session := q.text("session_id")
	if q.err != nil {
		return q.err
	}
	text, err := c.read()
	if err != nil {
		return err
	}
	request, err := parseToolRequestWithin(text, c.charge)
	if err != nil {
		return err
	}
	if request.Session == "" {
		request.Session = session
	}
	opts := a.opts.Tool
	if opts.Actor, err = c.actor(); err != nil {
		return err
	}
	if request.Session != "" {
		if err := checkActorID(request.Session); err != nil {
			return err
		}
		opts.Actor = c.withRequestKey(memento.Actor{Kind: memento.ActorSession, ID: request.Session})
	}
	opts.ReadOnly = !c.who.Role.Allows(apikey.RoleWrite)
	opts.Logger = a.opts.Logger.With("request_id", c.id)
	tool := memento.NewTool(store, &opts)
	calls, writes := parseCalls(request.Calls)
	if writes > 0 { // the route itself counts as a read
		if err := a.rates.allow(c.who.key(), true, writes, time.Now()); err != nil {
			return err
		}
	}
	if err := c.charge(int64(len(calls)-1) * resultCost); err != nil {
		return err
	}
	var results []memento.ResultBlock
	if key, ok := c.idempotencyKey(session, text, calls); ok && writes > 0 {
		results, err = a.idempotency.do(c.context(), key, text, isRetry(c.r), a.opts.Now(), func(ctx context.Context) []memento.ResultBlock {
			return a.execute(ctx, tool, id, calls)
		})
		if err != nil {
			return err
		}
	} else {
		results = a.execute(c.context(), tool, id, calls)
	}
	if slices.ContainsFunc(results, func(r memento.ResultBlock) bool { return r.IsError }) {
		// A deleted store is an error of the request: it does not concern the agent.
		if _, err := c.info(); errors.Is(err, memento.ErrNoStore) {
			return err
		}
	}
	switch {
	case request.one:
		return c.answer(results[0])
	case request.list:
		return c.answer(results)
	}
	return c.answer(struct {
		Type    string                `json:"type"` // "memory_tool_results"
		Content []memento.ResultBlock `json:"content"`
	}{"memory_tool_results", results})
}

// parseCalls parses the calls of a request, and counts those that may change memories. A
// malformed call is answered with a result that says so.
func parseCalls(raw []json.RawMessage) (calls []memento.Call, writes int) {
	calls = make([]memento.Call, 0, len(raw))
	for _, text := range raw {
		call, _ := memento.ParseCall(text)
		if call.Writes() {
			writes++
		}
		calls = append(calls, call)
	}
	return calls, writes
}

// execute executes calls in their order, and reports each.
func (a *API) execute(ctx context.Context, tool *memento.Tool, store memento.StoreID, calls []memento.Call) []memento.ResultBlock {
	results := make([]memento.ResultBlock, 0, len(calls))
	for _, call := range calls {
		start := time.Now()
		r := tool.RunCall(ctx, call)
		if a.opts.ToolCalled != nil {
			a.opts.ToolCalled(ctx, ToolCall{
				Command: call.Command(), Store: store, Start: start, Took: time.Since(start), Refused: r.IsError, Err: r.Err,
			})
		}
		r.Err = nil // the tool has logged it; nothing else is done with it here
		results = append(results, r)
	}
	return results
}

// A toolRequest is the body of a request: the calls as they were sent, and their form.
type toolRequest struct {
	Session string            `json:"session_id"`
	Calls   []json.RawMessage `json:"calls"`

	one, list bool // neither is an object with calls
}

func parseToolRequest(text []byte) (toolRequest, error) {
	return parseToolRequestWithin(text, func(int64) error { return nil })
}

// parseToolRequestWithin is parseToolRequest; see decodeWithin.
func parseToolRequestWithin(text []byte, charge func(int64) error) (request toolRequest, err error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return request, invalid("the body must be a tool_use block, an input of the memory tool, or an array of these")
	case text[0] == '[':
		request.list = true
		if request.Calls, err = listedCalls(text); err != nil {
			return request, err
		}
	case !bytes.Contains(text, []byte(`"calls"`)) && !bytes.Contains(text, []byte(`"session_id"`)):
		request.one, request.Calls = true, []json.RawMessage{text}
	default:
		list, session, ok := callMembers(text)
		if ok && list != nil {
			if _, err := decodeWithin(text, &request, charge); err != nil {
				return request, err
			}
			break
		}
		// If the call is malformed, the tool's answer reports it.
		request.one, request.Calls = true, []json.RawMessage{text}
		if session != nil && json.Unmarshal(session, &request.Session) != nil {
			return request, invalid("session_id: must be a string")
		}
	}
	if n := len(request.Calls); n > maxCalls {
		return request, tooManyCalls("", n)
	}
	return request, nil
}

func tooManyCalls(more string, n int) error {
	return invalid("the body has %s%d calls; at most %d are executed in one request", more, n, maxCalls)
}

// looseScannerOf returns a scanner that leaves the contents of strings to
// memento.ParseCall, which tells the agent what is wrong with them.
func looseScannerOf(text []byte) strictjson.Scanner {
	s := scannerOf(text)
	s.Loose = true
	return s
}

// listedCalls returns the calls of a list. memento.ParseCall checks their contents.
func listedCalls(text []byte) (calls []json.RawMessage, err error) {
	s := looseScannerOf(text)
	s.At = 1
	for n := 0; ; n++ {
		more, err := s.Next(']', n)
		if err != nil {
			return nil, bodyError(err)
		}
		if !more {
			return calls, bodyError(s.End())
		}
		if n > maxCalls {
			return nil, tooManyCalls("more than ", n)
		}
		s.Items = 0
		call, err := s.Value(1)
		if err != nil {
			return nil, bodyError(err)
		}
		calls = append(calls, call)
	}
}

// callMembers returns the members of an object that determine the form of the calls. ok
// is false if the text is no object, or has more members than any of these forms.
func callMembers(text []byte) (list, session json.RawMessage, ok bool) {
	s := looseScannerOf(text)
	if s.Take('{') != nil {
		return nil, nil, false
	}
	for n := 0; n < maxMembers; n++ {
		more, err := s.Next('}', n)
		if err != nil || !more {
			return list, session, err == nil && s.End() == nil
		}
		key, err := s.Key()
		if err != nil {
			return nil, nil, false
		}
		value, err := s.Value(1)
		if err != nil {
			return nil, nil, false
		}
		switch strictjson.Unquote(key) {
		case "calls":
			list = value
		case "session_id":
			session = value
		}
	}
	return nil, nil, false
}
