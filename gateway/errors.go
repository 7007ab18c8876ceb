package gateway

import (
	"crypto/rand"
	"math"
	"net/http"
	"strconv"
	"time"

	"memento/internal/strictjson"
)

// An Error is an answer of the gateway in the shape of the API's errors.
type Error struct {
	Status  int    // of HTTP
	Type    string // such as "invalid_request_error"
	Message string
	// Details are the member details of the error, as JSON; nil means none.
	Details []byte
	// Retry is whether clients should repeat the request, and After the time after which
	// they should; 0 means one second.
	Retry bool
	After time.Duration

	limit bool // a limit of the gateway was reached: the upstream is not to blame
}

// Error implements error.
func (e *Error) Error() string { return e.Type + ": " + e.Message }

var errInternal = &Error{Status: http.StatusInternalServerError, Type: "api_error", Message: "internal error of the gateway"}

// errGone is for the log, and for an application that has only closed its sending side: an
// answer without words would be a success. The status is the one that proxies use for it.
var errGone = &Error{Status: 499, Type: "api_error", Message: "the application has closed its connection before the answer"}

func invalid(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: message}
}

// body returns the error as it is sent, in an answer and in a stream.
func (e *Error) body(requestID string) []byte {
	text := append([]byte(`{"type":"error","error":{"type":`), strictjson.Quote(e.Type)...)
	text = append(append(text, `,"message":`...), strictjson.Quote(e.Message)...)
	if e.Details != nil {
		text = append(append(text, `,"details":`...), e.Details...)
	}
	text = append(text, '}')
	if requestID != "" {
		text = append(append(text, `,"request_id":`...), strictjson.Quote(requestID)...)
	}
	return append(text, '}')
}

// Write answers a request with the error. The ID of the request is that of the header
// Request-Id, if w has one already.
func (e *Error) Write(w http.ResponseWriter) {
	h := w.Header()
	id := h.Get("Request-Id")
	if id == "" {
		id = "req_" + rand.Text()
	}
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", id)
	if e.Retry {
		h.Set("X-Should-Retry", "true")
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.After.Seconds())))))
	} else {
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(e.Status)
	w.Write(e.body(id))
}
