package gateway

import (
	"bytes"
	"net/http"
	"strconv"
)

// count answers a POST /v1/messages/count_tokens. The upstream counts what it would get:
// with the memory tool and the hidden rounds, and after the edits. With edits that are
// emulated it also counts the prompt before them.
func (c *conversation) count(w http.ResponseWriter) {
	body := c.body()
	if c.editing.managed() == nil {
		c.g.pass(w, c.in, c.caller, body, c.start)
		return
	}
	response, answer, err := c.counted(body)
	if err != nil {
		c.g.unreachable(w, c.in, err)
		return
	}
	tokens, err := strconv.ParseInt(string(answer.get("input_tokens")), 10, 64)
	if err == nil && len(c.editing.applied) > 0 {
		var before object
		if response, before, err = c.counted(c.base.set("messages", c.messages).text); err != nil {
			c.g.unreachable(w, c.in, err)
			return
		}
		if tokens, err = strconv.ParseInt(string(before.get("input_tokens")), 10, 64); err != nil {
			answer = before // an error: both counts are needed
		}
	}
	if err == nil {
		answer = answer.set("context_management", counted(tokens))
	}
	response.ContentLength = int64(len(answer.text))
	c.relay(w, response, bytes.NewReader(answer.text))
}

// counted sends a body, and reads the answer.
func (c *conversation) counted(body []byte) (*http.Response, object, error) {
	response, err := c.send(body)
	if err != nil {
		return nil, object{}, err
	}
	data, err := c.readAnswer(response)
	if err != nil {
		return nil, object{}, err
	}
	return response, parsedOr(data), nil
}
