package httpstore

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"memento"
	"memento/internal/httpmessage"
	"memento/internal/wire"
)

// A StatusError is an error response of the server that corresponds to none of memento's
// errors.
type StatusError struct {
	Status    int    // of HTTP
	Type      string // for example "api_error"; "" if memento did not write the response
	Message   string // of the server
	RequestID string // ID of the request in the server's log; may be ""
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered %d", e.Status)
	if e.Type != "" {
		text += " " + e.Type
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.RequestID != "" {
		text += " (" + e.RequestID + ")"
	}
	return text
}

const statusOverloaded = 529

// refused turns an error response into an error.
func (b *Backend) refused(r request, resp *http.Response) (again bool, wait time.Duration, err error) {
	defer resp.Body.Close()
	text, cut := io.ReadAll(io.LimitReader(resp.Body, maxError))
	var answer wire.ErrorAnswer
	if json.Unmarshal(text, &answer) != nil || answer.Type != "error" {
		answer = wire.ErrorAnswer{}
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, statusOverloaded:
		again = resp.Header.Get("x-should-retry") != "false" // the server has not begun with the request
		wait = httpmessage.RetryAfter(resp.Header)
	}
	if cut != nil && answer.Type == "" && !again { // the message is lost
		cause, permanent := explain(cut)
		if r.safe {
			cause = &unreachable{cause, permanent}
		}
		return r.safe && !r.first && !permanent, 0, r.unsure(cause)
	}
	switch {
	case answer.Type == "" && resp.StatusCode >= http.StatusInternalServerError && !again:
		return false, 0, r.unsure(foreignAnswer(r, resp.StatusCode, string(text)))
	case answer.Type == "":
		return again, wait, &memento.Error{Op: r.op, Err: foreignAnswer(r, resp.StatusCode, string(text))}
	case resp.StatusCode == http.StatusGatewayTimeout: // the server's own timeout
		return false, 0, r.unsure(&StatusError{Status: resp.StatusCode, Type: answer.Error.Type, Message: clip(answer.Error.Message), RequestID: answer.RequestID})
	}
	if answer.RequestID == "" {
		answer.RequestID = resp.Header.Get("request-id")
	}
	return again, wait, asError(r.op, resp.StatusCode, answer)
}

// foreignAnswer returns the error for a response that memento did not write.
func foreignAnswer(r request, status int, text string) error {
	switch {
	case strings.HasPrefix(text, "Client sent an HTTP request to an HTTPS server"):
		return invalid("the server speaks TLS; write https://")
	case status/100 == 3:
		return invalid("the server redirects to another URL; use that one")
	case status == http.StatusProxyAuthRequired:
		return errors.New("the proxy on the way to the server asks for a password")
	case r.first && status < http.StatusInternalServerError:
		return errNoServer
	}
	return &StatusError{Status: status, Message: "what is between here and the server may have written that"}
}

// asError is the inverse of the server's mapping of backend errors to responses.
func asError(op string, status int, answer wire.ErrorAnswer) error {
	e := answer.Error
	message := clip(e.Message)
	if e.Op != "" {
		op = e.Op
	}
	err := wire.Sentinel(e.Code)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		err = fmt.Errorf("%w: %s", memento.ErrDenied, message)
	case err == memento.ErrInvalidPath:
		return &memento.PathError{Path: string(e.Path), Reason: e.Reason}
	case err == memento.ErrTooLarge && e.Limit != nil:
		err = &memento.LimitError{Limit: e.Limit.Name, Max: e.Limit.Max, Used: e.Limit.Used, Want: e.Limit.Want}
	case err == memento.ErrSensitive:
		err = &memento.SensitiveError{Found: wire.ToFindings(e.Findings)}
	case err == memento.ErrDamaged && e.Damage != nil:
		err = e.Damage.Error()
	case err == memento.ErrInvalid && message != err.Error(),
		err == nil && (status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge):
		err = fmt.Errorf("%w: %s", memento.ErrInvalid, message)
	case err == nil:
		err = &StatusError{Status: status, Type: e.Type, Message: message, RequestID: answer.RequestID}
	}
	return &memento.Error{Op: op, Path: e.Path, Err: err}
}

// clip shortens a message of the server.
func clip(message string) string {
	const most = 500
	if len(message) > most {
		message = message[:most] + "…"
	}
	return strings.ToValidUTF8(message, "")
}

// unreachable says that the server did not receive the request, or received one that
// changes nothing. It is memento.ErrUnavailable, unless a retry cannot help.
type unreachable struct {
	cause     error
	permanent bool
}

func (e *unreachable) Error() string { return "the server cannot be reached: " + e.cause.Error() }
func (e *unreachable) Unwrap() error { return e.cause }
func (e *unreachable) Is(target error) bool {
	return target == memento.ErrUnavailable && !e.permanent
}

var (
	errNoTLS       = errors.New("it does not speak TLS; write http://")
	errAuthority   = errors.New("its certificate is not signed by an authority that this system knows; SSL_CERT_FILE can name a file with more of them")
	errOtherName   = errors.New("its certificate is for another name than the URL has")
	errExpired     = errors.New("its certificate has expired, or is not valid yet")
	errCertificate = errors.New("its certificate is not valid")
	errHandshake   = errors.New("it and this program do not agree on how to speak TLS")
	errNoHost      = errors.New("its host is not known")
	errLookup      = errors.New("its host cannot be looked up")
	errRefused     = errors.New(`connection refused; is "memento serve" running there?`)
	errSilent      = errors.New("it does not answer")
	errClosed      = errors.New("the connection was closed")
	errConnection  = errors.New("the connection failed")
)

const refusedOnWindows syscall.Errno = 10061 // WSAECONNREFUSED

// explain says why a connection failed, without the addresses, paths and headers in
// errors of package net. permanent says that a retry cannot help.
func explain(err error) (cause error, permanent bool) {
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](certificate); ok {
			return errAuthority, true
		}
		if _, ok := errors.AsType[x509.HostnameError](certificate); ok {
			return errOtherName, true
		}
		if why, ok := errors.AsType[x509.CertificateInvalidError](certificate); ok && why.Reason == x509.Expired {
			return errExpired, true
		}
		return errCertificate, true
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return errNoTLS, true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errNoTLS, true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return errHandshake, true
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		if lookup.IsNotFound {
			return errNoHost, true
		}
		return errLookup, false
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		if number == syscall.ECONNREFUSED || number == refusedOnWindows {
			return errRefused, false
		}
		return number, false
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errSilent, false
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errClosed, false
	}
	return errConnection, false
}
