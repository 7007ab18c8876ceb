package sqlitestore

import (
	"context"
	"iter"
)

// read runs do, which must not call the user's code, on a connection for reading.
func read[T any](ctx context.Context, b *Backend, op string, do func(*conn) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	select {
	case b.readers.short <- struct{}{}:
		defer func() { <-b.readers.short }()
	case <-ctx.Done():
		return result, ctx.Err()
	}
	return onConn(b, op, do)
}

func onConn[T any](b *Backend, op string, do func(*conn) (T, error)) (result T, err error) {
	c, err := b.readers.get()
	if err != nil {
		return result, fail(op, err)
	}
	defer b.readers.put(c)
	if result, err = do(c); b.outdated(err) {
		result, err = do(c)
	}
	return result, fail(op, err)
}

// rows makes an iterator of a function that passes rows to yield, in one
// statement or transaction, until that returns false. The connection is the
// iteration's own while it lasts.
func rows[T any](ctx context.Context, b *Backend, op string, do func(c *conn, yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := ctx.Err(); err != nil {
			yield(none, err)
			return
		}
		var ended error // the context's, if that ended the iteration
		n, more := 0, true
		_, err := onConn(b, op, func(c *conn) (struct{}, error) {
			return struct{}{}, do(c, func(row T) bool {
				if n++; n%256 == 0 {
					if ended = ctx.Err(); ended != nil {
						return false
					}
				}
				more = yield(row, nil)
				return more
			})
		})
		if err == nil {
			err = ended
		}
		if err != nil && more {
			yield(none, err)
		}
	}
}
