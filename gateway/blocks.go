package gateway

import (
	"bytes"
	"encoding/json"

	"memento/internal/strictjson"
)

// A builder puts a content block together from the events of a stream, as the upstream
// would have sent it whole.
type builder struct {
	block
	start object
	texts []text        // of members that grow
	input *bytes.Buffer // the inside of a JSON string with the input of a call
	cites [][]byte
}

// A text is the inside of a JSON string that grows. It is never decoded, so that it stays
// as it was sent.
type text struct {
	name string
	raw  bytes.Buffer
}

func newBuilder(start object) *builder {
	return &builder{block: block{kind: start.str("type"), name: start.str("name"), id: start.str("id")}, start: start}
}

// add takes in a delta.
func (b *builder) add(delta object) {
	for _, m := range delta.members {
		value := delta.text[m.from:m.to]
		isString := len(value) >= 2 && value[0] == '"'
		switch {
		case m.name == "type":
		case m.name == "partial_json" && isString:
			if b.input == nil {
				b.input = &bytes.Buffer{}
			}
			b.input.Write(value[1 : len(value)-1])
		case m.name == "citation" && delta.str("type") == "citations_delta":
			b.cites = append(b.cites, bytes.Clone(value))
		case isString:
			b.grow(m.name, value)
		default:
			b.start = b.start.set(m.name, value)
		}
	}
}

// grow appends a JSON string to a member.
func (b *builder) grow(name string, value []byte) {
	for i := range b.texts {
		if b.texts[i].name == name {
			b.texts[i].raw.Write(value[1 : len(value)-1])
			return
		}
	}
	b.texts = append(b.texts, text{name: name})
	t := &b.texts[len(b.texts)-1]
	if before := b.start.get(name); len(before) >= 2 && before[0] == '"' {
		t.raw.Write(before[1 : len(before)-1])
	}
	t.raw.Write(value[1 : len(value)-1])
}

// whole returns the block.
func (b *builder) whole() block {
	o := b.start
	for i := range b.texts {
		t := &b.texts[i]
		quoted := make([]byte, 0, t.raw.Len()+2)
		quoted = append(append(append(quoted, '"'), t.raw.Bytes()...), '"')
		o = o.set(t.name, quoted)
	}
	if b.input != nil && b.input.Len() > 0 {
		// The whole is decoded at once, since a pair of escapes may be in two deltas.
		quoted := make([]byte, 0, b.input.Len()+2)
		quoted = append(append(append(quoted, '"'), b.input.Bytes()...), '"')
		o = o.set("input", inputOf(strictjson.Unquote(quoted)))
	}
	if len(b.cites) > 0 {
		list := o.get("citations")
		if list == nil {
			list = []byte("[]")
		}
		o = o.set("citations", appended(list, b.cites...))
	}
	whole := b.block
	whole.raw = o.text
	return whole
}

// inputOf returns the input of a call. One that is no JSON object, since it was cut off or
// the model has made a mistake, would make a request to the upstream invalid: it becomes
// an object in the way that the documentation of fine-grained tool streaming recommends.
func inputOf(text string) []byte {
	if input := []byte(text); len(bytes.TrimSpace(input)) > 0 && bytes.TrimSpace(input)[0] == '{' && json.Valid(input) {
		return input
	}
	return append(append([]byte(`{"INVALID_JSON":`), strictjson.Quote(text)...), '}')
}
