// Package mcpsession holds what clients of the Model Context Protocol and a server have sent
// each other, as it was recorded. test/conformance records it, and mcpserver plays the
// clients' side again.
package mcpsession

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
)

// A Session is what one client did, from the first message to the last.
type Session struct {
	Client    string     `json:"client"`
	Transport string     `json:"transport"` // "stdio" or "http"
	Exchanges []Exchange `json:"exchanges"`
}

// An Exchange is what a client sent, and what it got before it sent something else. Over
// HTTP it is a request and its whole answer.
type Exchange struct {
	Method  string            `json:"method,omitempty"`  // of an HTTP request
	Headers map[string]string `json:"headers,omitempty"` // of it, those that concern the protocol
	Send    json.RawMessage   `json:"send,omitempty"`

	Status  int               `json:"status,omitempty"` // of an HTTP answer
	Type    string            `json:"type,omitempty"`   // of its contents
	Receive []json.RawMessage `json:"receive,omitempty"`
}

// SessionHeader is the header that names a session of HTTP. In a recording its value is
// SessionID.
const (
	SessionHeader = "Mcp-Session-Id"
	SessionID     = "SESSION"
)

// IsStream reports whether the answer goes on until the client ends it.
func (e *Exchange) IsStream() bool { return e.Type == "text/event-stream" }

// Load reads a recording.
func Load(file string) (*Session, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &Session{}
	return s, json.Unmarshal(text, s)
}

// Save writes a recording.
func (s *Session) Save(file string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// Normal returns a server's message without what differs from run to run: the version of
// the program, and when files were changed. Its members are in alphabetical order.
func Normal(message []byte) (json.RawMessage, error) {
	var value any
	if err := json.Unmarshal(message, &value); err != nil {
		return nil, err
	}
	var clean func(value any)
	clean = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if _, ok := value["version"]; ok && value["name"] == "memento" {
				value["version"] = "VERSION"
			}
			if _, ok := value["lastModified"]; ok {
				value["lastModified"] = "TIME"
			}
			for _, each := range value {
				clean(each)
			}
		case []any:
			for _, each := range value {
				clean(each)
			}
		}
	}
	clean(value)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Sort puts the messages of an exchange in an order that does not depend on which of them
// was faster: a notification may come before or after an answer.
func (e *Exchange) Sort() {
	slices.SortFunc(e.Receive, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
}
