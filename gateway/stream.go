package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"memento/internal/strictjson"
)

// stream answers a request that streams.
func (c *conversation) stream(w http.ResponseWriter) {
	response, err := c.next()
	if err != nil {
		c.finishFailed(err)
		c.g.unreachable(w, c.in, err)
		return
	}
	if !isStream(response) {
		c.finish("upstream_error")
		c.relay(w, response, response.Body)
		response.Body.Close()
		return
	}
	c.copyHeaders(w, response)
	w.WriteHeader(response.StatusCode)
	out := newEventWriter(w, c.g.c.Ping)
	defer out.end()
	s := &streaming{conversation: c, out: out}
	for {
		a, err := s.round(response.Body)
		response.Body.Close()
		if err != nil {
			c.usage = sum(c.usage, a.usage) // what it has taken until now
			s.fail(err)
			return
		}
		more, err := c.add(a)
		if err != nil {
			s.fail(err)
			return
		}
		if !more {
			s.finishWith(a)
			return
		}
		if block := c.compactAgain(); block != nil {
			s.showSummaries(block)
		}
		if response, err = c.next(); err != nil {
			s.fail(err)
			return
		}
		if !isStream(response) {
			s.failWith(response)
			return
		}
	}
}

func isStream(r *http.Response) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.StatusCode == http.StatusOK && err == nil && kind == "text/event-stream"
}

// streaming passes the events of all rounds on as those of one message.
type streaming struct {
	*conversation
	out   *eventWriter
	shown int // blocks that the application has seen begin

	last [][]byte // the frames that end the present round
	end  int      // the one of them that has the usage; -1 if there is none
}

var (
	// errSent means that the stream has ended with an error that the application has got.
	errSent = errors.New("the upstream has sent an error")
	// errUnread means that the application is gone, or does not read.
	errUnread = errors.New("the application does not read")
)

// A shownBlock is a block of the present round.
type shownBlock struct {
	*builder
	index  int // for the application
	hidden bool
}

// perPart is about how many bytes a part of an answer takes besides its text.
const perPart = 64

// round passes one round on. What ends it is held back, since it depends on what the
// round has called.
func (s *streaming) round(body io.Reader) (answer, error) {
	in := newFrameReader(body)
	var a answer
	var order []*shownBlock
	blocks := map[string]*shownBlock{} // by the upstream's index
	s.last, s.end = nil, -1
	kept := 0 // bytes
	keep := func(part []byte) error {
		n := len(part) + perPart
		if kept += n; kept > maxAnswer {
			return errLarge
		}
		return s.held.use(int64(n))
	}
	for {
		if !in.pending() {
			if s.out.flush() != nil {
				return a, errUnread
			}
		}
		began := time.Now()
		f, err := in.next()
		s.waited += time.Since(began)
		if err != nil {
			if err != errTimeout && err != errLargeEvent {
				err = fmt.Errorf("%w: %w", errCutOff, err)
			}
			return a, err
		}
		o, err := parseObject(f.data())
		if err != nil {
			s.out.write(f.raw) // not an event of the API: it means nothing here
			continue
		}
		kind := f.name
		if kind == "" {
			kind = o.str("type")
		}
		switch kind {
		case "message_start":
			message, err := parseObject(o.get("message"))
			if err != nil {
				return a, errCutOff
			}
			if err := keep(message.get("usage")); err != nil {
				return a, err
			}
			a.usage = bytes.Clone(message.get("usage"))
			if s.rounds == 0 {
				s.out.write(f.raw)
				s.showSummaries(s.lead...)
			}
			continue
		case "message_delta":
			if err := keep(f.raw); err != nil {
				return a, err
			}
			delta, err := parseObject(o.get("delta"))
			if stop := delta.str("stop_reason"); err == nil && stop != "" {
				a.stop = stop
			}
			if usage := o.get("usage"); usage != nil {
				a.usage = overlay(a.usage, bytes.Clone(usage))
			}
			if managed := o.get("context_management"); managed != nil {
				a.managed = bytes.Clone(managed)
			}
			s.end = len(s.last)
			s.last = append(s.last, bytes.Clone(f.raw))
			continue
		case "message_stop":
			s.last = append(s.last, bytes.Clone(f.raw))
			for _, b := range order {
				a.blocks = append(a.blocks, b.whole())
			}
			return a, nil
		case "error":
			s.out.write(f.raw)
			return a, errSent
		case "content_block_start":
			if err := keep(o.get("content_block")); err != nil {
				return a, err
			}
			start, err := parseObject(bytes.Clone(o.get("content_block")))
			if err != nil {
				return a, errCutOff
			}
			b := &shownBlock{builder: newBuilder(start), index: s.shown}
			if b.hidden = s.hides(b.block); !b.hidden {
				s.shown++
			}
			blocks[string(o.get("index"))] = b
			order = append(order, b)
		case "content_block_delta":
			if err := keep(o.get("delta")); err != nil {
				return a, err
			}
			if b := blocks[string(o.get("index"))]; b != nil {
				if delta, err := parseObject(o.get("delta")); err == nil {
					b.add(delta)
				}
			}
		}
		s.pass(f, o, blocks)
	}
}

// showSummaries sends compaction blocks.
func (s *streaming) showSummaries(blocks ...[]byte) {
	for _, b := range blocks {
		for _, event := range compactionEvents(s.shown, b) {
			s.out.write(event)
		}
		s.shown++
	}
}

// pass passes an event on, with the index that its block has for the application.
func (s *streaming) pass(f frame, o object, blocks map[string]*shownBlock) {
	index := o.get("index")
	b := blocks[string(index)]
	switch {
	case b != nil && b.hidden:
	case b == nil || string(index) == strconv.Itoa(b.index):
		s.out.write(f.raw)
	default:
		s.out.write(f.with(o.set("index", strconv.AppendInt(nil, int64(b.index), 10)).text))
	}
}

// finishWith ends the stream with the end of the last round, which has the usage of all.
func (s *streaming) finishWith(a answer) {
	if s.end >= 0 {
		s.last[s.end] = s.total(s.last[s.end], a)
	}
	for _, raw := range s.last {
		s.out.write(raw)
	}
	outcome := s.outcome(a)
	if s.out.flush() != nil {
		outcome = "canceled"
	}
	s.finish(outcome)
}

// inDelta are the members of usage that a message_delta has. The first four are always
// there when there were several rounds.
var inDelta = []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens", "server_tool_use", "iterations"}

// total returns the last message_delta, as it ends the whole message.
func (s *streaming) total(raw []byte, a answer) []byte {
	f, err := newFrameReader(bytes.NewReader(raw)).next()
	if err != nil {
		return raw
	}
	o, err := parseObject(f.data())
	if err != nil {
		return raw
	}
	stop, changed := s.stop(a)
	managed := s.editing.managed()
	if s.rounds == 1 && !changed && managed == nil && len(s.lead) == 0 {
		return raw
	}
	if managed != nil {
		o = o.set("context_management", managed)
	}
	if delta, err := parseObject(o.get("delta")); err == nil && changed {
		o = o.set("delta", delta.set("stop_reason", strictjson.Quote(stop)).text)
	}
	if s.rounds > 1 {
		usage, err := parseObject(o.get("usage"))
		if err != nil {
			usage = object{text: []byte("{}")}
		}
		all, err := parseObject(s.usage)
		if err != nil {
			all = object{text: []byte("{}")}
		}
		for _, m := range all.members {
			if value := all.get(m.name); value != nil && (usage.index(m.name) >= 0 || slices.Contains(inDelta, m.name)) {
				usage = usage.set(m.name, value)
			}
		}
		o = o.set("usage", usage.text)
	}
	if usage := o.get("usage"); usage != nil {
		o = o.set("usage", s.iterated(usage))
	}
	return f.with(o.text)
}

// fail ends a stream that has begun.
func (s *streaming) fail(err error) {
	if s.in.Context().Err() != nil || errors.Is(err, errUnread) {
		s.finish("canceled")
		s.sendError(errGone.body("")) // to one that has only closed its sending side
		_ = s.out.flush()
		return
	}
	s.finishFailed(err)
	s.g.c.Logger.WarnContext(s.in.Context(), "gateway: a stream broke off", "error", withoutURL(err), "round", s.rounds+1)
	if !errors.Is(err, errSent) {
		s.sendError(upstreamError(err).body(""))
	}
	_ = s.out.flush() // there is nobody else to tell
}

// failWith ends a stream with the error that the upstream answered a later round with.
func (s *streaming) failWith(response *http.Response) {
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	response.Body.Close()
	status := fmt.Sprintf("the upstream of the gateway answered with the HTTP status %d", response.StatusCode)
	if o, bad := parseObject(data); err != nil || bad != nil || o.str("type") != "error" {
		data = (&Error{Type: "api_error", Message: status}).body(response.Header.Get("Request-Id"))
	}
	s.g.c.Logger.WarnContext(s.in.Context(), "gateway: a stream broke off", "error", status, "round", s.rounds+1)
	s.finish("upstream_error")
	s.sendError(data)
	_ = s.out.flush() // there is nobody else to tell
}

func (s *streaming) sendError(body []byte) {
	// A line of an event cannot contain the end of a line.
	body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r"), []byte(" ")), []byte("\n"), []byte(" "))
	s.out.write(append(append([]byte("event: error\ndata: "), body...), "\n\n"...))
}
