package httpstore

import (
	"context"
	"io"
	"net/http"
	"time"

	"memento"
)

// StorageTime implements [backend.Clock]. It returns the Date of a response of the
// server.
func (b *Backend) StorageTime(ctx context.Context) (at time.Time, err error) {
	const op = "ask for the time"
	leave, err := b.enter(op)
	if err != nil {
		return at, err
	}
	defer leave()
	err = b.send(ctx, request{op: op, method: http.MethodGet, path: "/v1/whoami", safe: true}, func(resp *http.Response) error {
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxError)) // so that the connection can be reused
		if at, err = http.ParseTime(resp.Header.Get("Date")); err != nil {
			return &memento.Error{Op: op, Err: memento.ErrUnsupported}
		}
		at = at.UTC()
		return nil
	})
	return at, err
}
