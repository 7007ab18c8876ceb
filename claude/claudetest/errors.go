package claudetest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// An Error is an answer of the API that is not 200.
type Error struct {
	Status  int    // HTTP status
	Type    string // error.type, such as "invalid_request_error"
	Message string // error.message
	// Code is error.details.error_code, or "" for an error without details.
	Code string
	// Unsupported lists what a thread cannot be combined with, in error.details.
	Unsupported []string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Type, e.Message) }

// invalid returns the 400 of a request that breaks a rule.
func invalid(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Type: "not_found_error", Message: fmt.Sprintf(format, args...)}
}

// body returns the error's JSON in the shape of the API.
func (e *Error) body(requestID string) []byte {
	inner := map[string]any{"type": e.Type, "message": e.Message}
	if e.Code != "" {
		details := map[string]any{"error_code": e.Code}
		if len(e.Unsupported) > 0 {
			details["unsupported"] = e.Unsupported
		}
		inner["details"] = details
	}
	return encode(map[string]any{"type": "error", "error": inner, "request_id": requestID})
}

// encode returns v as JSON. v is made of plain values, so it cannot fail.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("claudetest: " + err.Error())
	}
	return data
}
