package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/exchange/archive"
	"memento/internal/wire"
)

// The values of error.type in the API.
const (
	invalidRequest     = "invalid_request_error"
	authenticationFail = "authentication_error"
	permissionError    = "permission_error"
	notFound           = "not_found_error"
	conflictError      = "conflict_error"
	preconditionFailed = "memory_precondition_failed_error"
	pathConflict       = "memory_path_conflict_error"
	requestTooLarge    = "request_too_large"
	rateLimited        = "rate_limit_error"
	internalErr        = "api_error"
	timeoutError       = "timeout_error"
	overloaded         = "overloaded_error"
)

const statusOverloaded = 529

// An apiError is an error with the answer that reports it.
type apiError struct {
	status      int
	kind        string
	message     string
	extra       wire.Error
	shouldRetry string        // x-should-retry; "" means that the status decides
	retryAfter  time.Duration // 0 for none
	allow       string        // the supported methods; set for an unsupported method only
	closeConn   bool          // whether to close the connection
}

func (f *apiError) Error() string { return f.kind + ": " + f.message }

var (
	errInternal = &apiError{status: http.StatusInternalServerError, kind: internalErr, message: "internal error; the server's log has the cause under this request_id"}
	errNoRoute  = &apiError{status: http.StatusNotFound, kind: notFound, message: "unknown endpoint; GET /openapi.json describes all endpoints"}
	errBusy     = &apiError{status: statusOverloaded, kind: overloaded, message: "too many concurrent requests", shouldRetry: "true", retryAfter: time.Second}
	errMemory   = &apiError{status: statusOverloaded, kind: overloaded, message: "too many concurrent requests that need much memory", shouldRetry: "true", retryAfter: time.Second}
	errClosing  = &apiError{status: statusOverloaded, kind: overloaded, message: "the server is shutting down", shouldRetry: "true", retryAfter: time.Second, closeConn: true}
)

func invalid(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: invalidRequest, message: fmt.Sprintf(format, args...)}
}

func notFoundErr(what string) *apiError {
	f := &apiError{status: http.StatusNotFound, kind: notFound, message: what + " not found"}
	f.extra.Code = wire.Code(memento.ErrNotExist)
	if what == theStore {
		f.extra.Code = wire.Code(memento.ErrNoStore)
	}
	return f
}

const theStore = "memory store"

func needsRole(role apikey.Role) *apiError {
	return &apiError{status: http.StatusForbidden, kind: permissionError, message: fmt.Sprintf("this key's role does not allow this; the role %s is required", role)}
}

// errorTable maps the errors of stores to answers. The first row whose error matches
// applies. An empty message means clientMessage, the error's own text without what only
// operators understand.
var errorTable = []struct {
	err     error
	status  int
	kind    string
	message string
	retry   string
}{
	{memento.ErrUnavailable, http.StatusServiceUnavailable, overloaded, "the server's storage is unavailable; nothing was changed", "true"},
	// Repeating a write that did happen could execute it twice.
	{memento.ErrUncertain, http.StatusInternalServerError, internalErr, "the outcome is unknown: the server's storage did not confirm the change; read the current state before you repeat it", "false"},
	{memento.ErrDecrypt, http.StatusInternalServerError, internalErr, "the server cannot decrypt its storage: the encryption key differs, or the storage was tampered with", "false"},
	{memento.ErrDamaged, http.StatusInternalServerError, internalErr, "the content is damaged in the server's storage and is not returned; damage.whole_memory_version_id names the newest version of the memory that can be read and restored, if there is one", "false"},
	{memento.ErrNoStore, http.StatusNotFound, notFound, "memory store not found", ""},
	{memento.ErrNotExist, http.StatusNotFound, notFound, "not found", ""},
	{memento.ErrInvalidPath, http.StatusBadRequest, invalidRequest, "", ""},
	{memento.ErrTooLarge, http.StatusBadRequest, invalidRequest, "", ""},
	{memento.ErrSensitive, http.StatusBadRequest, invalidRequest, "", ""},
	{memento.ErrArchived, http.StatusBadRequest, invalidRequest, "the memory store is archived and cannot be changed", ""},
	{memento.ErrHead, http.StatusBadRequest, invalidRequest, "this is the newest version of a memory that exists; update or delete the memory first", ""},
	{memento.ErrProtected, http.StatusBadRequest, invalidRequest, "read-only by the settings of the memory store", ""},
	{memento.ErrUnsupported, http.StatusBadRequest, invalidRequest, "the server's storage does not support this", ""},
	{archive.ErrNotEmpty, http.StatusConflict, conflictError, "the memory store already has history; import into an empty store, or with contents_only=true", "false"},
	{archive.ErrNoHistory, http.StatusBadRequest, invalidRequest, "the archive has no history; import it with contents_only=true", ""},
	{archive.ErrTooLarge, http.StatusRequestEntityTooLarge, requestTooLarge, "the archive exceeds the server's limits", ""},
	{memento.ErrForeign, http.StatusConflict, conflictError, "the path is taken by something that is not a memory", "false"},
	{memento.ErrConflict, http.StatusConflict, preconditionFailed, "precondition failed: the memory was changed since it was read", "false"},
	{memento.ErrExist, http.StatusConflict, pathConflict, "this path already exists", "false"},
	{memento.ErrIsDir, http.StatusConflict, pathConflict, "there are memories below this path", "false"},
	{memento.ErrNotDir, http.StatusConflict, pathConflict, "part of this path is a memory, not a directory", "false"},
	// The SDKs repeat every answer with status 500 or above, unless it tells them not
	// to. A full disk is still full a second later. With 503, proxies would take the
	// whole server for unavailable.
	{memento.ErrNoSpace, http.StatusInsufficientStorage, internalErr, "the server's storage is full; nothing was changed; until space is freed, only reads and deletions work", "false"},
	{memento.ErrReadOnly, http.StatusInternalServerError, internalErr, "the server's storage is read-only; nothing was changed", "false"},
	{memento.ErrNoDetector, http.StatusInternalServerError, internalErr, "the server has no detector of sensitive information, which the memory store's settings require", "false"},
	{memento.ErrInvalid, http.StatusBadRequest, invalidRequest, "", ""},
}

// unavailableRetry is the Retry-After of an answer when the storage is unavailable.
const unavailableRetry = 2 * time.Second

// toAPIError returns the answer to any error. An error that is the server's fault is
// logged in full, and answered without its cause.
func (c *call) toAPIError(err error) *apiError {
	if f, ok := errors.AsType[*apiError](err); ok {
		return f
	}
	switch {
	case errors.Is(err, memento.ErrClosed):
		return errClosing
	case errors.Is(err, context.Canceled):
		return &apiError{status: 499, kind: timeoutError, message: "the client closed the request", closeConn: true}
	case errors.Is(err, context.DeadlineExceeded):
		return &apiError{status: http.StatusGatewayTimeout, kind: timeoutError, message: "the request timed out"}
	}
	for _, m := range errorTable {
		if errors.Is(err, m.err) {
			f := &apiError{status: m.status, kind: m.kind, message: m.message, shouldRetry: m.retry, extra: errorDetails(err)}
			if f.message == "" {
				f.message = clientMessage(err)
			}
			if m.status < http.StatusInternalServerError {
				return f
			}
			if m.status == http.StatusServiceUnavailable {
				f.retryAfter = unavailableRetry
			}
			c.logError(err)
			return f
		}
	}
	c.logError(err)
	return errInternal
}

func (c *call) logError(err error) {
	// The text of a memento.Error contains the path, which may be sensitive.
	if at, ok := errors.AsType[*memento.Error](err); ok {
		err = fmt.Errorf("%s: %w", at.Op, at.Err)
	}
	pattern := ""
	if c.route != nil {
		pattern = c.route.method + " " + c.route.pattern
	}
	c.api.opts.Logger.ErrorContext(c.context(), "request failed", "request_id", c.id, "route", pattern, "error", err.Error())
}

// clientMessage returns the text of an error about the request itself: without the
// operation, and for an invalid path with the reason.
func clientMessage(err error) string {
	if path, ok := errors.AsType[*memento.PathError](err); ok {
		return "path: " + path.Reason
	}
	if at, ok := errors.AsType[*memento.Error](err); ok {
		err = at.Err
	}
	return strings.TrimPrefix(err.Error(), memento.ErrInvalid.Error()+": ")
}

// errorDetails returns the machine-readable part of an error's answer. From it, clients
// written for memento build the same error that a local backend returns.
func errorDetails(err error) wire.Error {
	e := wire.Error{Code: wire.Code(err)}
	if at, ok := errors.AsType[*memento.Error](err); ok {
		e.Path, e.Op = at.Path, at.Op
	}
	if path, ok := errors.AsType[*memento.PathError](err); ok {
		e.Path, e.Reason = memento.Path(path.Path), path.Reason
	}
	if limit, ok := errors.AsType[*memento.LimitError](err); ok {
		e.Limit = &wire.Limit{Name: limit.Limit, Max: limit.Max, Used: limit.Used, Want: limit.Want}
	}
	if d, ok := errors.AsType[*memento.DamageError](err); ok {
		e.Damage = (*wire.Damage)(d)
	}
	if s, ok := errors.AsType[*memento.SensitiveError](err); ok {
		e.Findings = wire.FromFindings(s.Found)
	}
	return e
}

// printable returns untrusted text in a form that is safe to log: at most 40 bytes, with
// other characters than printable ASCII replaced by "?".
func printable(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
