package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"memento/claude/contextedit"
)

// compact replaces the conversation by a summary, if the request asks for that or has
// grown as large as it says. With a summary alone as the answer it returns that message.
func (c *conversation) compact() (paused []byte, err error) {
	e := c.editing
	if e == nil || !c.g.c.Emulate.Compaction || !e.onDemand && e.config.Compact == nil {
		return nil, nil
	}
	list, err := elements(c.messages)
	if err != nil {
		return nil, nil // the upstream says what is wrong
	}
	messages := make([]json.RawMessage, len(list))
	for i, m := range list {
		messages[i] = m
	}
	rule := contextedit.Compact{}
	if !e.onDemand {
		rule = *e.config.Compact
		prompt := contextedit.Prompt{Model: c.request.model, System: c.base.get("system"), Tools: c.base.get("tools"), Messages: messages}
		if edited, err := e.config.Edit(prompt, nil); err != nil || !rule.Due(edited.InputTokens) {
			return nil, nil
		}
	}
	done, err := rule.Run(c.in.Context(), c.base.set("messages", c.messages).text, c.summarize)
	if err != nil {
		c.g.c.Logger.WarnContext(c.in.Context(), "gateway: the conversation was not summarized", "error", withoutURL(err))
		if !e.onDemand {
			return nil, nil // it goes on as it is
		}
		var refused *refusedError
		switch {
		case errors.As(err, &refused):
			return nil, &Error{Status: refused.status, Type: refused.kind, Message: refused.message}
		case errors.Is(err, contextedit.ErrCompaction):
			return nil, invalid(err.Error())
		}
		return nil, upstreamError(err)
	}
	if e.onDemand || rule.PauseAfterCompaction {
		return done.Paused("msg_"+rand.Text(), c.request.model), nil
	}
	e.compaction = &done
	rest := done.Continue(messages)
	all := make([][]byte, len(rest))
	for i, m := range rest {
		all[i] = m
	}
	c.messages = listOf(all)
	c.lead = [][]byte{done.Block}
	c.prefix = c.lead
	if block, err := parseObject(done.Block); err == nil {
		c.chain.begin("assistant")
		c.chain.add(block)
	}
	return nil, nil
}

// A refusedError is an error that the upstream has answered the request for a summary with.
type refusedError struct {
	status        int
	kind, message string
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
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, errCutOff
	}
	if response.StatusCode != http.StatusOK {
		refused := &refusedError{response.StatusCode, "api_error", "the upstream did not summarize the conversation"}
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
// usage itself leaves the summary out.
func (c *conversation) iterated(usage []byte) []byte {
	if c.editing == nil || c.editing.compaction == nil {
		return usage
	}
	o, err := parseObject(usage)
	var rest contextedit.Iteration
	if err != nil || json.Unmarshal(c.usage, &rest) != nil {
		return usage
	}
	rest.Type, rest.Model = "message", c.request.model
	list, err := json.Marshal([]contextedit.Iteration{c.editing.compaction.Usage, rest})
	if err != nil {
		return usage
	}
	return o.set("iterations", list).text
}

// leadEvents are the events of the blocks before those of the first round.
func (c *conversation) leadEvents() (events [][]byte) {
	for i, raw := range c.lead {
		block, err := parseObject(raw)
		if err != nil {
			continue
		}
		events = append(events,
			fmt.Appendf(nil, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"compaction\",\"content\":null}}\n\n", i),
			fmt.Appendf(nil, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"compaction_delta\",\"content\":%s}}\n\n", i, block.get("content")),
			fmt.Appendf(nil, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i))
	}
	return events
}

// sendPaused answers with a summary alone.
func (c *conversation) sendPaused(w http.ResponseWriter, message []byte) {
	c.finish("ok")
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
	for _, event := range c.leadEvents() {
		w.Write(event)
	}
	fmt.Fprintf(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"compaction\",\"stop_sequence\":null},\"usage\":%s}\n\n", o.get("usage"))
	fmt.Fprint(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}
