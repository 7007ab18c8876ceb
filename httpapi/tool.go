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

const maxCalls = 100 // of one request

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
	calls, err := parseCalls(text)
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
		opts.Actor = c.signed(memento.Actor{Kind: memento.ActorSession, ID: calls.Session})
	}
	opts.ReadOnly = !c.who.Role.Allows(memento.RoleWrite)
	opts.Logger = a.opts.Logger.With("request_id", c.id)
	tool := memento.NewTool(store, &opts)
	var results []memento.ResultBlock
	if mayChange(text) { // the route itself counts as a read
		if err := a.rates.take(c.who.key(), true, len(calls.Calls), time.Now()); err != nil {
			return err
		}
	}
	if key, ok := c.repeatKey(session, text, calls.Calls); ok {
		results, err = a.repeats.once(c.context(), key, isRepetition(c.r), a.opts.Now(), func(ctx context.Context) []memento.ResultBlock {
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
	text = bytes.TrimSpace(text)
	fields := map[string]json.RawMessage{}
	switch {
	case len(text) == 0:
		return calls, invalid("the body must be a tool_use block, an input of the memory tool, or a list of these")
	case text[0] == '[':
		calls.list = true
		if err := json.Unmarshal(text, &calls.Calls); err != nil {
			return calls, invalid("the body is not valid JSON")
		}
	case !bytes.Contains(text, []byte(`"calls"`)) && !bytes.Contains(text, []byte(`"session_id"`)):
		calls.one, calls.Calls = true, []json.RawMessage{text}
	case json.Unmarshal(text, &fields) == nil && fields["calls"] != nil:
		if _, err := decode(text, &calls); err != nil {
			return calls, err
		}
	default: // the tool itself says what is wrong with it
		calls.one, calls.Calls = true, []json.RawMessage{text}
		if session, ok := fields["session_id"]; ok && json.Unmarshal(session, &calls.Session) != nil {
			return calls, invalid("session_id: must be a string")
		}
	}
	if n := len(calls.Calls); n > maxCalls {
		return calls, invalid("there are %d calls; at most %d are executed at once", n, maxCalls)
	}
	return calls, nil
}
