package sqlitestore

import (
	"context"
	"iter"
)

// read runs do on a connection for reading.
func read[T any](ctx context.Context, b *Backend, op string, do func(*conn) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	c, err := b.readers.get()
	if err != nil {
		return result, fail(op, err)
	}
	defer b.readers.put(c)
	result, err = do(c)
	return result, fail(op, err)
}

// rows makes an iterator of a function that passes rows to yield, in one
// statement or transaction, until that returns false. The connection is the
// iteration's own while it lasts.
func rows[T any](ctx context.Context, b *Backend, op string, do func(c *conn, yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		more := true
		n := 0
		_, err := read(ctx, b, op, func(c *conn) (none struct{}, err error) {
			stop := false
			err = do(c, func(row T) bool {
				if n++; n%256 == 0 && ctx.Err() != nil {
					stop = true
					return false
				}
				more = yield(row, nil)
				return more
			})
			if err == nil && stop {
				err = ctx.Err()
			}
			return none, err
		})
		if err != nil && more {
			var none T
			yield(none, err)
		}
	}
}
