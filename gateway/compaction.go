package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"memento/claude/contextedit"
	"memento/internal/httpmessage"
)

// compact replaces the conversation by a summary, if the request asks for that or has
// grown as large as it says. With a summary alone as the answer it returns that message.
func (c *conversation) compact() (paused []byte, err error) {
	e := c.editing
	if e == nil || !c.g.c.Emulate.Compaction || !e.onDemand && e.config.Compact == nil {
		return nil, nil
	}
	rule := contextedit.Compact{}
	if !e.onDemand {
		rule = *e.config.Compact
	}
	done, messages, err := c.summary(rule)
	if err != nil {
		if !e.onDemand {
			return nil, nil // it goes on as it is
		}
		var refused *refusedError
		switch {
		case errors.As(err, &refused):
			return nil, &Error{Status: refused.status, Type: refused.kind, Message: refused.message, Retry: refused.retry, After: refused.after}
		case errors.Is(err, contextedit.ErrCompaction):
			return nil, invalid(err.Error())
		}
		return nil, upstreamError(err)
	}
	if done == nil {
		return nil, nil
	}
	if e.onDemand || rule.PauseAfterCompaction {
		return done.Paused("msg_"+rand.Text(), c.request.model), nil
	}
	c.replaceBy(*done, messages)
	c.lead = [][]byte{done.Block}
	return nil, nil
}

// compactAgain is compact between two rounds. It returns the block that the application
// gets between theirs; nil if nothing was summarized. A summary after which the application
// wants to go on itself waits for the next request.
func (c *conversation) compactAgain() []byte {
	e := c.editing
	if c.rounds == 0 || e == nil || !c.g.c.Emulate.Compaction || e.config.Compact == nil || e.config.Compact.PauseAfterCompaction {
		return nil
	}
	done, messages, err := c.summary(*e.config.Compact)
	if err != nil || done == nil {
		return nil // it goes on as it is
	}
	c.replaceBy(*done, messages)
	return done.Block
}

// summary summarizes the messages of the next round, and returns these as well. It returns
// nil if they have not grown as large as the rule says, or are not understood.
func (c *conversation) summary(rule contextedit.Compact) (done *contextedit.Compaction, messages []json.RawMessage, err error) {
	list, err := elements(c.messages)
	if err != nil {
		return nil, nil, nil // the upstream says what is wrong
	}
	for _, m := range list {
		messages = append(messages, m)
	}
	if e := c.editing; !e.onDemand {
		prompt := contextedit.Prompt{Model: c.request.model, System: c.base.get("system"), Tools: c.base.get("tools"), Messages: messages}
		if edited, err := e.config.Edit(prompt, nil); err != nil || !rule.Due(edited.InputTokens) {
			return nil, nil, nil
		}
	}
	made, err := rule.Run(c.in.Context(), c.base.set("messages", c.messages).text, c.summarize)
	if err != nil {
		c.g.c.Logger.WarnContext(c.in.Context(), "gateway: the conversation was not summarized", "error", withoutURL(err))
		return nil, nil, err
	}
	c.compactions++
	return &made, messages, nil
}

// replaceBy lets the next round begin with a summary of the messages.
func (c *conversation) replaceBy(done contextedit.Compaction, messages []json.RawMessage) {
	e := c.editing
	if c.rounds > 0 {
		e.iterations = append(e.iterations, c.iteration())
	}
	e.iterations = append(e.iterations, done.Usage)
	c.sinceSummary = nil
	rest := done.Continue(messages)
	all := make([][]byte, len(rest))
	for i, m := range rest {
		all[i] = m
	}
	c.messages = listOf(all)
	c.prefix = [][]byte{done.Block}
	if block, err := parseObject(done.Block); err == nil {
		c.chain.begin("assistant")
		c.chain.add(block)
	}
}

// iteration returns the usage of the rounds since the last summary.
func (c *conversation) iteration() (i contextedit.Iteration) {
	_ = json.Unmarshal(c.sinceSummary, &i) // what is not understood counts as 0
	i.Type, i.Model = "message", c.request.model
	return i
}

// A refusedError is an error that the upstream has answered the request for a summary with.
type refusedError struct {
	status        int
	kind, message string
	retry         bool
	after         time.Duration // 0 if the upstream has not said
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the upstream answered %d %s", e.status, e.kind)
}

// summarize is the contextedit.Sender of a conversation.
func (c *conversation) summarize(_ context.Context, body []byte) ([]byte, error) {
	response, err := c.sendAgain(body)
	if err != nil {
		return nil, err
	}
	data, err := c.readAnswer(response)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		refused := &refusedError{
			status: response.StatusCode, kind: "api_error", message: "the upstream did not summarize the conversation",
			retry: shouldRetry(response), after: httpmessage.RetryAfter(response.Header),
		}
		if o, err := parseObject(data); err == nil {
			if e, err := parseObject(o.get("error")); err == nil {
				refused.kind, refused.message = e.str("type"), e.str("message")
			}
		}
		return nil, refused
	}
	return data, nil
}

// iterated returns the usage with its iterations, if the conversation was summarized: the
// usage itself leaves the summaries out.
func (c *conversation) iterated(usage []byte) []byte {
	if c.editing == nil || len(c.editing.iterations) == 0 {
		return usage
	}
	o, err := parseObject(usage)
	if err != nil {
		return usage
	}
	list, err := json.Marshal(append(c.editing.iterations[:len(c.editing.iterations):len(c.editing.iterations)], c.iteration()))
	if err != nil {
		return usage
	}
	return o.set("iterations", list).text
}

// compactionEvents are the events of a compaction block with an index.
func compactionEvents(index int, raw []byte) (events [][]byte) {
	block, err := parseObject(raw)
	if err != nil {
		return nil // the gateway has made it
	}
	return [][]byte{
		fmt.Appendf(nil, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"compaction\",\"content\":null}}\n\n", index),
		fmt.Appendf(nil, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"compaction_delta\",\"content\":%s}}\n\n", index, block.get("content")),
		fmt.Appendf(nil, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", index),
	}
}

// sendPaused answers with a summary alone.
func (c *conversation) sendPaused(w http.ResponseWriter, message []byte) {
	c.finish("ok")
	addTiming(w.Header(), c.own())
	if !c.request.stream {
		w.Header().Set("Content-Type", "application/json")
		w.Write(message)
		return
	}
	o, err := parseObject(message)
	if err != nil {
		c.g.refuse(w, c.in, err)
		return
	}
	if c.lead, err = elements(o.get("content")); err != nil {
		c.g.refuse(w, c.in, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	start := o.set("content", []byte("[]")).set("stop_reason", []byte("null"))
	fmt.Fprintf(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":%s}\n\n", start.text)
	for i, block := range c.lead {
		for _, event := range compactionEvents(i, block) {
			w.Write(event)
		}
	}
	fmt.Fprintf(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"compaction\",\"stop_sequence\":null},\"usage\":%s}\n\n", o.get("usage"))
	fmt.Fprint(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}
