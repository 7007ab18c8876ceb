package httpstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"memento"
	"memento/internal/wire"
)

// A control has the fields of the lines of a stream that are not items.
type control struct {
	Error     *wire.Error `json:"error"`
	RequestID string      `json:"request_id"`
}

// each makes a request whose response is a stream of JSON lines, and calls yield with
// each of them until it returns false. A stream without a line of type end is an error.
// kind returns the type of a line.
func each[L any](ctx context.Context, b *Backend, r request, kind func(*L) (string, *control), yield func(*L) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := b.open(ctx, r)
	if err != nil {
		return err
	}
	defer body.Close()
	defer context.AfterFunc(b.streams, cancel)()
	in := bufio.NewReaderSize(body, 64<<10)
	for {
		if b.streams.Err() != nil {
			return &memento.Error{Op: r.op, Err: memento.ErrClosed}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := b.line(r.op, in)
		switch {
		case errors.Is(err, errCutOff) && b.streams.Err() != nil:
			continue
		case errors.Is(err, errCutOff) && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		l := new(L)
		if json.Unmarshal(text, l) != nil {
			return &memento.Error{Op: r.op, Err: errNotUnderstood}
		}
		switch what, c := kind(l); {
		case what == "end":
			_, _ = io.CopyN(io.Discard, in, maxError) // read the end, so that the connection can be reused
			return nil
		case what == "error" && c.Error != nil:
			return asError(r.op, http.StatusInternalServerError, wire.ErrorAnswer{Error: *c.Error, RequestID: c.RequestID})
		}
		if !yield(l) {
			return nil
		}
	}
}

// open makes a request and returns the body of the response, which is valid as long as
// the context.
func (b *Backend) open(ctx context.Context, r request) (body io.ReadCloser, err error) {
	leave, err := b.enter(r.op)
	if err != nil {
		return nil, err
	}
	defer leave()
	err = b.send(ctx, r, func(resp *http.Response) error {
		body = resp.Body
		return nil
	})
	return body, err
}

var errCutOff = errors.New("the answer was cut off before its end; try again")

// line reads a line, of at most MaxAnswer bytes.
func (b *Backend) line(op string, in *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			return part, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, &memento.Error{Op: op, Err: errCutOff}
		}
		long = append(long, part...)
		switch {
		case err == nil:
			return long, nil
		case int64(len(long)) > b.opts.MaxAnswer:
			return nil, &memento.Error{Op: op, Err: tooLarge(b.opts.MaxAnswer)}
		}
	}
}
