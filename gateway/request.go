package gateway

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"memento"
)

// A request is the body of a POST /v1/messages.
type request struct {
	object
	model    string
	userID   string // metadata.user_id
	stream   bool
	messages [][]byte
}

// parseRequest reads a body. An error means that the gateway does not understand it, so
// that the upstream answers.
func parseRequest(body []byte) (*request, error) {
	o, err := parseObject(body)
	if err != nil {
		return nil, err
	}
	r := &request{object: o, model: o.str("model"), stream: string(o.get("stream")) == "true"}
	if r.messages, err = elements(o.get("messages")); err != nil {
		return nil, err
	}
	if metadata, err := parseObject(o.get("metadata")); err == nil {
		r.userID = metadata.str("user_id")
	}
	return r, nil
}

// declaresMemory reports whether the application has the memory tool, or another tool of
// that name. Then the gateway takes nothing from it.
func (r *request) declaresMemory() (bool, error) {
	tools := r.get("tools")
	if tools == nil {
		return false, nil
	}
	list, err := elements(tools)
	if err != nil {
		return false, err
	}
	for _, raw := range list {
		t, err := parseObject(raw)
		if err != nil {
			return false, err
		}
		if t.str("name") == memento.ToolName || strings.HasPrefix(t.str("type"), "memory_") {
			return true, nil
		}
	}
	return false, nil
}

// nativeTool is the declaration of the memory tool.
var nativeTool = []byte(`{"type":"` + memento.ToolType + `","name":"` + memento.ToolName + `"}`)

// withTool returns the body with one more tool, at the end of the list: so a cache
// breakpoint on the application's last tool keeps its prefix.
func (o object) withTool(tool []byte) object {
	list := o.get("tools")
	if list == nil {
		list = []byte("[]")
	}
	return o.set("tools", appended(list, tool))
}

// withChoice returns the body for a later round. A forced choice counts for the first
// round only, because the model would call the same tool for ever.
func (o object) withChoice(round int, last bool) object {
	choice, err := parseObject(o.get("tool_choice"))
	switch kind := choice.str("type"); {
	case last:
		return o.set("tool_choice", []byte(`{"type":"none"}`))
	case err != nil || round == 1 || kind != "any" && kind != "tool":
		return o
	}
	return o.set("tool_choice", choice.set("type", []byte(`"auto"`)).without("name").text)
}

// oneCallAtATime returns the body with disable_parallel_tool_use.
func (o object) oneCallAtATime() object {
	choice, err := parseObject(o.get("tool_choice"))
	switch {
	case err != nil:
		choice = object{text: []byte(`{"type":"auto","disable_parallel_tool_use":true}`)}
	case choice.str("type") == "none":
	default:
		choice = choice.set("disable_parallel_tool_use", []byte("true"))
	}
	return o.set("tool_choice", choice.text)
}

// bodyTimeout is the most time in which the body of a request arrives.
const bodyTimeout = 2 * time.Minute

// read returns the body of a request, bounded by itself and together with what the others
// hold.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request, held *hold) (body []byte, err error) {
	tooLarge := &Error{Status: http.StatusRequestEntityTooLarge, Type: "request_too_large", Message: "Request exceeds the maximum size"}
	if r.ContentLength > g.c.MaxBody {
		return nil, tooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // not supported by every writer
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err = held.readAll(http.MaxBytesReader(w, r.Body, g.c.MaxBody), r.ContentLength)
	var large *http.MaxBytesError
	var refused *Error
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &large):
		return nil, tooLarge
	case errors.As(err, &refused):
		return nil, err
	}
	return nil, invalid("the body of the request did not arrive")
}
