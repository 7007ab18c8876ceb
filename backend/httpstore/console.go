package httpstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"memento"
	"memento/internal/wire"
)

// consoleLink is the form of the path that a server answers with, so that no answer leads a
// browser elsewhere.
var consoleLink = regexp.MustCompile(`^/console/#code=[A-Za-z0-9_-]+$`)

// ConsoleLink returns a URL of the server's web console that signs a browser in with the key
// of this backend. It works once, until the returned time.
//
// Errors: memento.ErrUnsupported if the server has no console.
func (b *Backend) ConsoleLink(ctx context.Context) (link string, ends time.Time, err error) {
	const op = "sign in to the console"
	if u, err := url.Parse(b.base); err != nil || u.Path != "" {
		return "", time.Time{}, &memento.Error{Op: op, Err: fmt.Errorf("%w: the console works at the top of a host, and the URL of this server has a path", memento.ErrUnsupported)}
	}
	var made wire.ConsoleLink
	err = b.call(ctx, request{op: op, method: http.MethodPost, path: wire.ConsoleLinks}, &made)
	status, ok := errors.AsType[*StatusError](err)
	switch {
	case ok && status.Status == http.StatusNotFound:
		return "", time.Time{}, &memento.Error{Op: op, Err: fmt.Errorf("%w: the server has no console: it is turned off there, or the server is older", memento.ErrUnsupported)}
	case err != nil:
		return "", time.Time{}, err
	case !consoleLink.MatchString(made.Path):
		return "", time.Time{}, &memento.Error{Op: op, Err: errNotUnderstood}
	}
	return b.base + made.Path, made.ExpiresAt, nil
}
