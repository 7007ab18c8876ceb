package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"memento"
)

// An answer is an HTTP response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request to the server at an address. If there is an error, sent says
// whether the server may have received the request.
func (c *cluster) ask(ctx context.Context, address, method, path string, header http.Header, body any) (a answer, sent bool, err error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return a, false, err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, text)
	if err != nil {
		return a, false, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("x-api-key", c.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		op, ok := errors.AsType[*net.OpError](err)
		return a, !ok || op.Op != "dial", err
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, header: resp.Header}
	a.body, err = io.ReadAll(resp.Body)
	return a, true, err
}

func (c *cluster) path(below string) string { return "/v1/memory_stores/" + string(c.store) + below }

// address returns the address at which the client reaches the server that it calls.
func (c *client) address(o op) string {
	if c.direct {
		return c.c.servers[o.Server].address
	}
	return c.c.fronts[o.Server].Addr()
}

// callTool calls the memory tool.
func (c *client) callTool(ctx context.Context, r *record) {
	path := c.c.path("/tool?session_id=" + url.QueryEscape(r.Op.session().ID))
	a, sent, err := c.c.ask(ctx, c.address(r.Op), "POST", path, nil, r.Op.toolInput())
	if c.unanswered(r, a, sent, err) {
		return
	}
	var block memento.ResultBlock
	if err := json.Unmarshal(a.body, &block); err != nil || a.status != http.StatusOK {
		r.Fate, r.Error = unknown, fmt.Sprintf("%d %s", a.status, a.body)
		c.h.complain("%v: %s", r.Op, r.Error)
		return
	}
	text := block.Content
	switch {
	case !block.IsError:
		r.Fate = done
		if r.Op.Kind == "view" {
			r.Result.Cells[0] = c.firstLine(r, text)
		}
	case strings.Contains(text, "Nothing was changed"):
		r.Fate, r.Error = failed, text
	case strings.Contains(text, "to see whether"):
		r.Fate, r.Error = unknown, text
	case strings.Contains(text, "already exists"):
		r.refused("exist")
	case strings.Contains(text, "did not appear verbatim"):
		r.refused("no match")
	case strings.Contains(text, "does not exist") && r.Op.Kind == "view":
		r.Fate = done
	case strings.Contains(text, "does not exist"):
		r.refused("missing")
	default:
		r.Fate, r.Error = unknown, text
		c.h.complain("%v: the agent reads %q", r.Op, text)
	}
}

// firstLine returns the requested line from the text that view shows.
func (c *client) firstLine(r *record, text string) string {
	header, rest, _ := strings.Cut(text, "\n")
	if number, line, ok := strings.Cut(rest, "\t"); ok && strings.TrimSpace(number) == "1" && strings.HasPrefix(header, "Here's the content of") {
		line, _, _ = strings.Cut(line, "\n")
		return line
	}
	c.h.complain("%v: the agent reads %q", r.Op, text)
	return "nonsense"
}

// callSDK sends the requests of the official SDKs.
func (c *client) callSDK(ctx context.Context, r *record) {
	o := r.Op
	at := string(cellPath(o.Arena, o.From))
	header := http.Header{"Memento-Actor": {"session/" + o.session().ID}}
	var a answer
	var sent bool
	var err error
	if o.Kind == "get" {
		a, sent, err = c.c.ask(ctx, c.address(o), "GET", c.c.path("/memories/by-path?view=full&path="+url.QueryEscape(at)), nil, nil)
	} else {
		a, sent, err = c.c.ask(ctx, c.address(o), "POST", c.c.path("/memories"), header, map[string]any{"path": at, "content": lengthen(value(o.ID))})
	}
	if c.unanswered(r, a, sent, err) {
		return
	}
	var m struct {
		Content string
		Version string `json:"memory_version_id"`
		Error   struct{ Type, Code string }
	}
	err = json.Unmarshal(a.body, &m)
	switch {
	case err == nil && a.status == http.StatusOK && o.Kind == "get":
		r.Fate, r.Result.Cells[0] = done, shorten(m.Content)
	case err == nil && a.status == http.StatusOK:
		r.Fate, r.Versions = done, []string{m.Version}
	case a.status == http.StatusNotFound && m.Error.Code == "not_exist" && o.Kind == "get":
		r.Fate = done
	case a.status == http.StatusConflict && m.Error.Type == "memory_path_conflict_error" && o.Kind == "create":
		r.refused("exist")
	default:
		r.Fate, r.Error = unknown, fmt.Sprintf("%d %s", a.status, a.body)
		c.h.complain("%v: %s", o, r.Error)
	}
}

// unanswered sets the outcome of a request that did not get the expected response, and
// reports whether that is so.
func (c *client) unanswered(r *record, a answer, sent bool, err error) bool {
	switch {
	case err != nil:
		r.Fate, r.Error = unknown, "no answer: "+err.Error()
		if !sent {
			r.Fate = failed
		}
	case a.status < http.StatusInternalServerError && a.status != http.StatusTooManyRequests:
		return false
	default:
		r.Error = fmt.Sprintf("%d %s", a.status, a.body)
		var why string
		if r.Fate, why = a.meaning(); why != "" {
			c.h.complain("%v: %s: %s", r.Op, why, r.Error)
		}
	}
	return true
}

// meaning returns what an error response of the server means for the request. If the
// response is wrong in itself, why says how.
func (a answer) meaning() (f fate, why string) {
	var e struct{ Error struct{ Type, Code string } }
	if err := json.Unmarshal(a.body, &e); err != nil || e.Error.Type == "" {
		return unknown, "it is not in the form of errors"
	}
	again := a.header.Get("x-should-retry") != "false"
	switch a.status {
	case http.StatusServiceUnavailable, 529:
		if a.header.Get("retry-after") == "" {
			return failed, "it does not say when to come back"
		}
		if !again {
			return unknown, "to be tried again, and not"
		}
		return failed, ""
	case http.StatusGatewayTimeout:
		return unknown, ""
	}
	if e.Error.Code == "uncertain" {
		return unknown, ""
	}
	return unknown, "a fault below the server that it does not know"
}
