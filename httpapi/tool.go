package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"memento"
)

const (
	maxCalls   = 100      // of one request
	resultCost = 64 << 10 // bytes of memory that what one is answered takes
)

// runTool executes calls of the memory tool: a tool_use block or a bare input, which
// is answered with a tool_result block; a list of these, which is answered with a
// list; or an object with such a list as calls. What the tool refuses is no error of
// the request: the block says so.
func (a *API) runTool(c *call, store *memento.Store, _ memento.StoreID) error {
	q := c.query()
	session := q.text("session_id")
	if q.err != nil {
		return q.err
	}
	text, err := c.read()
	if err != nil {
		return err
	}
	calls, err := parseCallsWithin(text, c.charge)
	if err != nil {
		return err
	}
	if calls.Session == "" {
		calls.Session = session
	}
	opts := a.opts.Tool
	if opts.Actor, err = c.actor(); err != nil {
		return err
	}
	if calls.Session != "" {
		if err := checkActorID(calls.Session); err != nil {
			return err
		}
		opts.Actor = c.withRequestKey(memento.Actor{Kind: memento.ActorSession, ID: calls.Session})
	}
	opts.ReadOnly = !c.who.Role.Allows(memento.RoleWrite)
	opts.Logger = a.opts.Logger.With("request_id", c.id)
	tool := memento.NewTool(store, &opts)
	var results []memento.ResultBlock
	if mayChange(text) { // the route itself counts as a read
		if err := a.rates.allow(c.who.key(), true, len(calls.Calls), time.Now()); err != nil {
			return err
		}
	}
	if err := c.charge(int64(len(calls.Calls)-1) * resultCost); err != nil {
		return err
	}
	if key, ok := c.idempotencyKey(session, text, calls.Calls); ok {
		results, err = a.idempotency.do(c.context(), key, text, isRetry(c.r), a.opts.Now(), func(ctx context.Context) []memento.ResultBlock {
			return execute(ctx, tool, calls.Calls)
		})
		if err != nil {
			return err
		}
	} else {
		results = execute(c.context(), tool, calls.Calls)
	}
	if slices.ContainsFunc(results, func(r memento.ResultBlock) bool { return r.IsError }) {
		// That there is no store any more is not for the agent to hear.
		if _, err := c.info(); errors.Is(err, memento.ErrNoStore) {
			return err
		}
	}
	switch {
	case calls.one:
		return c.answer(results[0])
	case calls.list:
		return c.answer(results)
	}
	return c.answer(struct {
		Type    string                `json:"type"` // "memory_tool_results"
		Content []memento.ResultBlock `json:"content"`
	}{"memory_tool_results", results})
}

// toolCalls are the calls of one request, and the form they came in.
type toolCalls struct {
	Session string            `json:"session_id"`
	Calls   []json.RawMessage `json:"calls"`

	one, list bool // neither is an object with calls
}

func parseCalls(text []byte) (calls toolCalls, err error) {
	return parseCallsWithin(text, func(int64) error { return nil })
}

// parseCallsWithin is parseCalls; see decodeWithin.
func parseCallsWithin(text []byte, charge func(int64) error) (calls toolCalls, err error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return calls, invalid("the body must be a tool_use block, an input of the memory tool, or a list of these")
	case text[0] == '[':
		calls.list = true
		if calls.Calls, err = listedCalls(text); err != nil {
			return calls, err
		}
	case !bytes.Contains(text, []byte(`"calls"`)) && !bytes.Contains(text, []byte(`"session_id"`)):
		calls.one, calls.Calls = true, []json.RawMessage{text}
	default:
		list, session, ok := callMembers(text)
		if ok && list != nil {
			if _, err := decodeWithin(text, &calls, charge); err != nil {
				return calls, err
			}
			break
		}
		// The tool itself says what is wrong with it.
		calls.one, calls.Calls = true, []json.RawMessage{text}
		if session != nil && json.Unmarshal(session, &calls.Session) != nil {
			return calls, invalid("session_id: must be a string")
		}
	}
	if n := len(calls.Calls); n > maxCalls {
		return calls, tooManyCalls("", n)
	}
	return calls, nil
}

func tooManyCalls(more string, n int) error {
	return invalid("there are %s%d calls; at most %d are executed at once", more, n, maxCalls)
}

// listedCalls returns the calls of a list. What is in them is for the tool to check.
func listedCalls(text []byte) (calls []json.RawMessage, err error) {
	s := scanner{text: text, at: 1, loose: true}
	for n := 0; ; n++ {
		more, err := s.next(']', n)
		if err != nil {
			return nil, err
		}
		if !more {
			return calls, s.end()
		}
		if n > maxCalls {
			return nil, tooManyCalls("more than ", n)
		}
		s.items = 0
		call, err := s.value(1)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
}

// callMembers returns the members of an object that tell in which form calls came; ok
// is false if it is none, or has more members than anything of these forms.
func callMembers(text []byte) (list, session json.RawMessage, ok bool) {
	s := scanner{text: text, loose: true}
	if s.take('{') != nil {
		return nil, nil, false
	}
	for n := 0; n < maxMembers; n++ {
		more, err := s.next('}', n)
		if err != nil || !more {
			return list, session, err == nil && s.end() == nil
		}
		key, err := s.key()
		if err != nil {
			return nil, nil, false
		}
		value, err := s.value(1)
		if err != nil {
			return nil, nil, false
		}
		switch unquote(key) {
		case "calls":
			list = value
		case "session_id":
			session = value
		}
	}
	return nil, nil, false
}
