package sqlitestore

import (
	"context"
	"iter"
)

// read runs do on a connection for reading. do must not call functions of the user.
func read[T any](ctx context.Context, b *Backend, op string, do func(*conn) (T, error)) (result T, err error) {
	return readAtFirst(ctx, b, op, func(c *conn, _ func()) (T, error) { return do(c) })
}

// readAtFirst is read for what is a short read until do calls long, if it does. Afterwards
// it does not keep short reads waiting, like an iteration.
func readAtFirst[T any](ctx context.Context, b *Backend, op string, do func(c *conn, long func()) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	select {
	case b.readers.short <- struct{}{}:
	case <-ctx.Done():
		return result, ctx.Err()
	}
	isShort := true
	long := func() {
		if isShort {
			<-b.readers.short
			isShort = false
		}
	}
	defer long()
	return onConn(b, op, func(c *conn) (T, error) { return do(c, long) })
}

// readQuick is read for operations of a few microseconds. It prefers the connection that
// writes, if that is free: its cache has the pages of the process's last write, while the
// others must read them again.
func readQuick[T any](ctx context.Context, b *Backend, op string, do func(*conn) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	result, done, err := onWriter(b, do)
	if done {
		return result, failRead(op, err)
	}
	return read(ctx, b, op, do)
}

// onWriter runs do on the connection that writes. done is false if that is in use, would
// have to wait for another process, or reports damage, which another connection has to
// confirm.
func onWriter[T any](b *Backend, do func(*conn) (T, error)) (result T, done bool, err error) {
	c := b.writer.borrow()
	if c == nil {
		return result, false, nil
	}
	defer b.writer.giveBack(c)
	result, err = retryOnce(b, c, do)
	if seemsDamaged(err) {
		b.writer.doubtful.Store(true)
		return result, false, err
	}
	return result, !isBusy(err), err
}

func onConn[T any](b *Backend, op string, do func(*conn) (T, error)) (result T, err error) {
	c, err := b.readers.get()
	if err != nil {
		return result, failRead(op, err)
	}
	defer func() { b.readers.put(c) }()
	result, err = retryOnce(b, c, do)
	if seemsDamaged(err) {
		result, err = confirm(b, &c, do)
	}
	return result, failRead(op, err)
}

// retryOnce runs do, and once more if the cached number of the store was outdated.
func retryOnce[T any](b *Backend, c *conn, do func(*conn) (T, error)) (T, error) {
	result, err := do(c)
	if b.clearStoreNums(err) {
		result, err = do(c)
	}
	return result, err
}

// rowsBuffered is rows for few rows: it reads all before it yields the first.
func rowsBuffered[T any](ctx context.Context, b *Backend, op string, do func(c *conn, yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		found, err := readQuick(ctx, b, op, func(c *conn) (found []T, err error) {
			err = do(c, func(row T) bool {
				found = append(found, row)
				return true
			})
			return found, err
		})
		for _, row := range found {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// rows makes an iterator of a function that passes rows to yield, in one statement or
// transaction, until yield returns false. The iteration has a connection of its own.
func rows[T any](ctx context.Context, b *Backend, op string, do func(c *conn, yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := ctx.Err(); err != nil {
			yield(none, err)
			return
		}
		var ended error // the context's error, if that ended the iteration
		n, more := 0, true
		_, err := onConn(b, op, func(c *conn) (struct{}, error) {
			if n > 0 { // rows must not be yielded twice
				return struct{}{}, confirmRows(ctx, c, do)
			}
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
