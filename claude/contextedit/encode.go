package contextedit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"memento/internal/strictjson"
)

// Package json would compact and escape a [json.RawMessage]; what is not edited has to
// stay as it is. So lists and objects are put together here.

// encodeList returns a JSON list.
func encodeList(items []json.RawMessage) json.RawMessage {
	data := json.RawMessage{'['}
	for i, item := range items {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, item...)
	}
	return append(data, ']')
}

// encodeObject returns a JSON object with its members in order of name.
func encodeObject(members map[string]json.RawMessage) json.RawMessage {
	data := json.RawMessage{'{'}
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(append(data, strictjson.Quote(name)...), ':')
		data = append(data, members[name]...)
	}
	return append(data, '}')
}

// marshal returns v as JSON. v is made of plain values and of JSON that was parsed
// before, so it cannot fail.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("contextedit: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
