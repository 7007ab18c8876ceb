package strictjson

import (
	"bytes"
	"encoding/json"
)

// Quote returns s as it is written in JSON, for [Unquote] to read. It has no escapes that
// JSON does not need, and what is not UTF-8 becomes U+FFFD.
func Quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // no string fails
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
