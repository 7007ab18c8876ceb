package claudetest

import (
	"fmt"
	"net/http"
	"time"
)

// An event is one server-sent event; data has the event's name as its type.
type event struct {
	name string
	data map[string]any
}

func newEvent(name string, members map[string]any) event {
	data := map[string]any{"type": name}
	for k, v := range members {
		data[k] = v
	}
	return event{name, data}
}

// An output is a message in the shape of the API.
type output struct {
	request *request
	answer  *answer
	managed managed
	tokens  int            // of the answer
	cut     map[int]string // the incomplete JSON of a tool_use at max_tokens, by block
}

func newOutput(r *request, a *answer, m managed) output {
	o := output{request: r, answer: a, managed: m}
	o.limit()
	for _, b := range o.answer.blocks {
		if b["type"] != "compaction" {
			o.tokens += countBlock(b)
		}
	}
	return o
}

// limit cuts the answer at max_tokens.
func (o *output) limit() {
	limit, ok := number(o.request.fields["max_tokens"])
	left := int(limit)
	for i, b := range o.answer.blocks {
		if !ok || b["type"] == "compaction" {
			continue
		}
		n := countBlock(b)
		if left -= n; left >= 0 {
			continue
		}
		share := max(0, float64(n+left)/float64(n))
		o.answer = &answer{id: o.answer.id, blocks: append([]map[string]any(nil), o.answer.blocks[:i+1]...), stopReason: "max_tokens"}
		short := map[string]any{"type": "text", "text": "…"}
		switch b["type"] {
		case "text":
			runes := []rune(text(b, "text"))
			short["text"] = string(runes[:max(1, int(share*float64(len(runes))))])
		case "tool_use":
			input := string(encode(b["input"]))
			o.cut = map[int]string{i: input[:int(share*float64(len(input)))]}
			short = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
		}
		o.answer.blocks[i] = short
		return
	}
}

// usage returns the tokens; a compaction alone is billed in iterations only.
func (o output) usage(output int) map[string]any {
	input := o.managed.tokens
	if o.managed.paused {
		input = 0
	}
	usage := map[string]any{
		"input_tokens": input, "output_tokens": output,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
	if o.managed.compaction != nil {
		iteration := func(kind string, in, out int) map[string]any {
			return map[string]any{"type": kind, "input_tokens": in, "output_tokens": out, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
		}
		iterations := []any{iteration("compaction", o.managed.original, countBlock(o.managed.compaction))}
		if !o.managed.paused {
			last := iteration("message", input, output)
			last["model"] = o.request.model
			iterations = append(iterations, last)
		}
		usage["iterations"] = iterations
	}
	return usage
}

// envelope returns the message without its content.
func (o output) envelope() map[string]any {
	m := map[string]any{
		"id": o.answer.id, "type": "message", "role": roleAssistant, "model": o.request.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": o.usage(1),
	}
	if list := o.managed.transformations; len(list) > 0 {
		m["input_transformations"] = list
	}
	return m
}

// message returns the whole message.
func (o output) message() map[string]any {
	m := o.envelope()
	m["content"] = o.answer.blocks
	m["stop_reason"] = o.answer.stopReason
	m["usage"] = o.usage(o.outputTokens())
	if cm := o.managed.response(); cm != nil {
		m["context_management"] = cm
	}
	return m
}

// outputTokens leaves the compaction out.
func (o output) outputTokens() int {
	if o.managed.paused {
		return 0
	}
	return o.tokens
}

// events returns the message as a stream, with deltas of chunk characters.
func (o output) events(chunk int) []event {
	list := []event{newEvent("message_start", map[string]any{"message": o.envelope()}), newEvent("ping", nil)}
	for i, b := range o.answer.blocks {
		list = append(list, o.blockEvents(i, b, chunk)...)
	}
	end := map[string]any{
		"delta": map[string]any{"stop_reason": o.answer.stopReason, "stop_sequence": nil},
		"usage": o.usage(o.outputTokens()),
	}
	if cm := o.managed.response(); cm != nil {
		end["context_management"] = cm
	}
	return append(list, newEvent("message_delta", end), newEvent("message_stop", nil))
}

// blockEvents returns the events of content block i.
func (o output) blockEvents(i int, b map[string]any, chunk int) []event {
	start := map[string]any{"type": b["type"]}
	var deltas []map[string]any
	pieces := func(kind, member, s string) {
		for _, piece := range split(s, chunk) {
			deltas = append(deltas, map[string]any{"type": kind, member: piece})
		}
	}
	switch b["type"] {
	case "text":
		start["text"] = ""
		pieces("text_delta", "text", text(b, "text"))
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		pieces("thinking_delta", "thinking", text(b, "thinking"))
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": b["signature"]})
	case "tool_use":
		start["id"], start["name"], start["input"] = b["id"], b["name"], map[string]any{}
		input, short := o.cut[i]
		if !short {
			input = string(encode(b["input"]))
		}
		deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": ""})
		pieces("input_json_delta", "partial_json", input)
	case "compaction":
		start["content"] = nil
		deltas = append(deltas, compactionDelta(b))
	default:
		start = b // such as redacted_thinking, which comes whole
	}
	list := []event{newEvent("content_block_start", map[string]any{"index": i, "content_block": start})}
	for _, d := range deltas {
		list = append(list, newEvent("content_block_delta", map[string]any{"index": i, "delta": d}))
	}
	return append(list, newEvent("content_block_stop", map[string]any{"index": i}))
}

func compactionDelta(b map[string]any) map[string]any {
	d := map[string]any{"type": "compaction_delta"}
	for _, name := range []string{"content", "encrypted_content", "signature"} {
		if v, ok := b[name]; ok {
			d[name] = v
		}
	}
	return d
}

// split cuts s into pieces of n characters.
func split(s string, n int) (pieces []string) {
	runes := []rune(s)
	for len(runes) > n {
		pieces = append(pieces, string(runes[:n]))
		runes = runes[n:]
	}
	return append(pieces, string(runes))
}

// writeTimeout bounds the time to write one event.
const writeTimeout = 30 * time.Second

// stream writes events, each flushed by itself.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, events []event, request int) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	control := http.NewResponseController(w)
	for i, e := range events {
		if s.opts.Cut != nil && s.opts.Cut(request, i) {
			_ = control.Flush()
			panic(http.ErrAbortHandler) // net/http breaks the connection
		}
		// Errors of the client's connection end the stream; there is nobody to tell.
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, encode(e.data)); err != nil || r.Context().Err() != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
	}
}
