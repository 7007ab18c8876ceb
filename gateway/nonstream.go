package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"memento/internal/strictjson"
)

// maxAnswer is the most bytes of an answer that is not streamed, and of an event of a
// stream. A longer one is an error of the upstream.
const maxAnswer = 64 << 20

// whole answers a request that does not stream.
func (c *conversation) whole(w http.ResponseWriter) {
	var first object
	visible := append([][]byte(nil), c.lead...)
	for {
		response, err := c.next()
		if err != nil {
			c.finishFailed(err)
			c.g.unreachable(w, c.in, err)
			return
		}
		began := time.Now()
		data, err := c.readAnswer(response)
		c.waited += time.Since(began)
		if err != nil {
			c.finishFailed(err)
			c.g.unreachable(w, c.in, err)
			return
		}
		message, err := parseObject(data)
		var a answer
		if err == nil {
			a, err = parseAnswer(message)
		}
		if response.StatusCode != http.StatusOK || err != nil || message.str("type") != "message" {
			c.finish("upstream_error")
			c.relay(w, response, bytes.NewReader(data))
			return
		}
		if c.rounds == 0 {
			first = message
		}
		visible = append(visible, c.visible(a)...)
		more, err := c.add(a)
		if err != nil {
			c.finishFailed(err)
			c.g.refuse(w, c.in, err)
			return
		}
		if more {
			if block := c.compactAgain(); block != nil {
				visible = append(visible, block)
			}
			continue
		}
		message = c.merge(first, message, a, visible)
		c.copyHeaders(w, response)
		w.Header().Set("Content-Length", strconv.Itoa(len(message.text)))
		c.finish(c.outcome(a))
		w.Write(message.text)
		return
	}
}

// readAnswer reads an answer that is not streamed, and closes it.
//
// Errors: errCutOff, errLarge, errTimeout; an [*Error] of the budget.
func (c *conversation) readAnswer(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	data, err := c.held.readAll(io.LimitReader(response.Body, maxAnswer+1), response.ContentLength)
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return nil, err
	case len(data) > maxAnswer:
		return nil, errLarge
	case err == errTimeout:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errCutOff, err)
	}
	return data, nil
}

// next sends the next round.
func (c *conversation) next() (*http.Response, error) {
	if c.rounds == 0 {
		return c.send(c.body())
	}
	return c.sendAgain(c.body())
}

// ofLast are the members of a message that say how it ended: the others are those of the
// first round, as in a stream.
var ofLast = []string{"stop_reason", "stop_sequence", "stop_details", "container", "context_management"}

// merge returns the message that the application gets for all rounds.
func (c *conversation) merge(first, last object, a answer, visible [][]byte) object {
	if c.rounds > 1 {
		for _, name := range ofLast {
			if i := last.index(name); i >= 0 {
				first = first.set(name, last.text[last.members[i].from:last.members[i].to])
			}
		}
		first = first.set("usage", c.usage)
	}
	if usage := first.get("usage"); usage != nil {
		if iterated := c.iterated(usage); len(iterated) != len(usage) {
			first = first.set("usage", iterated)
		}
	}
	if c.rounds > 1 || len(visible) != len(a.blocks) {
		first = first.set("content", listOf(visible))
	}
	if stop, ok := c.stop(a); ok {
		first = first.set("stop_reason", strictjson.Quote(stop))
	}
	if managed := c.editing.managed(); managed != nil {
		first = first.set("context_management", managed)
	}
	return first
}

// outcome names how the last round ended.
func (c *conversation) outcome(a answer) string {
	if memory, others := a.calls(); others && len(memory) > 0 {
		return "mixed"
	}
	return "ok"
}
