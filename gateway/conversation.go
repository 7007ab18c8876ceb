package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"memento"
	"memento/internal/models"
)

// A conversation is one request of the application, with its rounds.
type conversation struct {
	g        *Gateway
	in       *http.Request
	caller   Caller
	request  *request
	held     *hold
	tool     *memento.Tool // nil if the request has no memory
	store    string
	editing  *editing // nil if there is nothing to emulate
	keeps    bool     // whether hidden rounds are kept
	restored bool     // whether messages has some that the application has not sent
	passed   bool     // whether it is only counted

	base     object // the body, with the tool
	messages []byte // the list that the next round sends
	hidden   turnState
	lead     [][]byte // blocks of the answer before those of the first round
	prefix   [][]byte // blocks of the last message, if the answer continues it
	chain    chain
	sealer   sealer
	rounds   int
	usage    []byte // of the rounds so far, together
	told     int64  // bytes of the results of memory calls

	sinceSummary []byte // usage of the rounds since the last summary

	start                  time.Time
	waited                 time.Duration // for the upstream
	calls, refused, failed int
	cleared                int64 // tokens
	compactions            int
}

// begin returns the conversation of a request; nil if the request has no memory and is to
// be passed on as it is.
func (g *Gateway) begin(r *http.Request, caller Caller, body []byte, held *hold, start time.Time) (*conversation, error) {
	counts := g.c.CountAll && r.URL.Path == messagesPath
	request, err := parseRequest(body)
	switch {
	case err != nil && counts:
		return nil, invalid("the body of the request is not understood, so that its tokens cannot be counted: " + err.Error())
	case err != nil:
		return nil, nil // the upstream says what is wrong
	}
	c := &conversation{g: g, in: r, caller: caller, request: request, held: held, start: start, base: request.object, messages: request.get("messages")}
	if added, err := c.addMemory(); added || err != nil {
		return c, err
	}
	if c.passed = true; counts {
		return c, nil
	}
	return nil, nil
}

// addMemory prepares the conversation for what the gateway does in it. It returns false if
// that is nothing.
func (c *conversation) addMemory() (added bool, err error) {
	g, r, caller, request := c.g, c.in, c.caller, c.request
	declared, err := request.declaresMemory()
	if err != nil {
		return false, nil // the upstream says what is wrong
	}
	editing, err := g.newEditing(request)
	if err != nil {
		return false, err
	}
	if declared {
		var swapped bool
		if g.c.Emulate.Memory {
			c.base, swapped = c.base.withOrdinaryTool()
		}
		if !swapped && editing == nil {
			return false, nil
		}
	} else if g.c.Emulate.Memory || models.SupportOf(request.model).Memory {
		if c.store, err = g.selectStore(r.Header, caller, request.userID); err != nil {
			return false, err
		}
	}
	if c.store == "" && editing == nil && !declared {
		return false, nil
	}
	if request.get("thread") != nil {
		return false, &Error{
			Status: http.StatusBadRequest, Type: "invalid_request_error",
			Message: "thread: message threads cannot be used with the memory of this gateway; send the whole conversation",
			Details: []byte(`{"error_code":"thread_unsupported_request","unsupported":["thread"]}`),
		}
	}
	if c.editing = editing; editing != nil {
		c.base = c.base.without("context_management").without("compaction")
	}
	if c.store == "" {
		return true, nil
	}
	if c.tool, err = g.tool(caller, c.store); err != nil {
		return false, err
	}
	if g.c.Emulate.Memory {
		c.base = c.base.withEmulatedTool()
	} else {
		c.base = c.base.withTool(nativeTool)
	}
	if c.tool.Searches() {
		c.base = c.base.withGuidance(memento.SearchGuidance)
	}
	if c.keeps = g.c.State != nil && secret(r, caller) != ""; c.keeps {
		if c.messages, err = c.restore(); err != nil {
			return false, err
		}
	} else {
		c.base = c.base.oneCallAtATime()
	}
	return true, nil
}

// key identifies the stores of the conversation.
func (c *conversation) key() string { return string(c.caller.Workspace) + "\x00" + c.store + "\x00" }

// body returns the body of the next round.
func (c *conversation) body() []byte {
	o := c.base
	switch {
	case c.editing != nil:
		o = o.set("messages", c.edited(o, c.messages))
	case c.rounds > 0 || c.restored:
		o = o.set("messages", c.messages)
	}
	round := c.rounds + 1
	return o.withChoice(round, round == c.g.c.MaxRounds && round > 1).text
}

// add takes in the answer of a round, and executes its memory calls. It reports whether
// there is another round. An error means that the caller is gone, or is an [*Error]: that
// of the budget, or errTooMuch.
func (c *conversation) add(a answer) (more bool, err error) {
	c.rounds++
	c.usage, c.sinceSummary = sum(c.usage, a.usage), sum(c.sinceSummary, a.usage)
	c.cleared += a.cleared()
	if c.tool == nil {
		return false, nil
	}
	calls, mixed := a.calls()
	last := c.rounds >= c.g.c.MaxRounds
	if len(calls) == 0 || last || mixed && !c.keeps {
		c.keep(a, nil)
		return false, nil
	}
	var results [][]byte
	said := c.said()
	for _, call := range calls {
		if err := c.in.Context().Err(); err != nil {
			return false, err
		}
		result := c.run(said, call)
		if c.told += int64(len(result)); c.told > c.g.c.MaxBody {
			return false, errTooMuch
		}
		if err := c.held.use(int64(len(result)) + perPart); err != nil {
			return false, err
		}
		results = append(results, result)
	}
	if mixed {
		c.keep(a, results)
		return false, nil
	}
	c.hide(a, results)
	return true, nil
}

// stop returns the stop reason that the application gets for that of the last round:
// without calls of its own it has nothing to answer.
func (c *conversation) stop(a answer) (changed string, ok bool) {
	if _, others := a.calls(); c.tool != nil && a.stop == "tool_use" && !others {
		for _, b := range a.blocks {
			if b.isMemory() {
				return "end_turn", true
			}
		}
	}
	return "", false
}

// finishFailed reports a turn that err has ended.
func (c *conversation) finishFailed(err error) {
	outcome := "upstream_error"
	if own := (*Error)(nil); errors.As(err, &own) && own.limit {
		outcome = "refused"
	}
	c.finish(outcome)
}

// own returns the time that the gateway itself has taken so far.
func (c *conversation) own() time.Duration { return time.Since(c.start) - c.waited }

// finish reports the end of the conversation.
func (c *conversation) finish(outcome string) {
	if c.in.Context().Err() != nil {
		outcome = "canceled"
	}
	if c.g.c.Observe == nil {
		return
	}
	usage, _ := parseObject(c.usage) // the zero object has no members
	c.g.c.Observe(context.WithoutCancel(c.in.Context()), Turn{
		Model: c.request.model, Stream: c.request.stream, Outcome: outcome, Rounds: c.rounds,
		MemoryCalls: c.calls, RefusedCalls: c.refused, FailedCalls: c.failed, ClearedTokens: c.cleared, Compactions: c.compactions,
		Passed: c.passed, InputTokens: number(usage.get("input_tokens")), OutputTokens: number(usage.get("output_tokens")),
		CacheCreationTokens: number(usage.get("cache_creation_input_tokens")), CacheReadTokens: number(usage.get("cache_read_input_tokens")),
		Duration: time.Since(c.start), Own: c.own(),
	})
}
