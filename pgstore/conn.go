package pgstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"memento"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	firstPause = 5 * time.Millisecond // before what failed is tried again
	maxPause   = 500 * time.Millisecond
)

// try calls do until it succeeds or fails for good, at the latest when the retry
// timeout is over. Its error is the context's, or the last one of do.
func (b *Backend) retry(ctx context.Context, do func(context.Context) error) error {
	var failing time.Time // since when
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.closed.Load() {
			return memento.ErrClosed
		}
		err := do(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case b.closed.Load() && !isTranslated(err):
			return memento.ErrClosed
		case !isTemporary(err):
			return err
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		if time.Since(failing)+pause > b.retryTimeout || !sleep(ctx, pause/2+rand.N(pause)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
}

// A guard ends the connection whose server does not answer in time. A context
// with a deadline would do, but costs each statement a goroutine.
type watchdog struct {
	timer  *time.Timer
	closed chan struct{} // closed when the connection is
}

func (b *Backend) watch(c *pgx.Conn) *watchdog {
	g := &watchdog{closed: make(chan struct{})}
	g.timer = time.AfterFunc(b.timeout, func() {
		defer close(g.closed)
		ctx, cancel := context.WithTimeout(context.Background(), rollBackTime)
		defer cancel()
		_ = c.PgConn().CancelRequest(ctx) // what the server still does is in vain
		_ = c.PgConn().Conn().Close()
	})
	return g
}

// end ends the watch, before the connection is given back, and returns err or
// what is behind it. It is called once.
func (g *watchdog) stop(err error) error {
	if g.timer.Stop() {
		return err
	}
	<-g.closed // nobody else must get the connection before
	if err != nil && !isTranslated(err) {
		return errSlow
	}
	return err
}

// sleep returns false if ctx ends before the time is over.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read runs do, which may run several times, on a connection for reading.
func read[T any](ctx context.Context, b *Backend, op string, do func(ctx context.Context, c *pgxpool.Conn) (T, error)) (result T, err error) {
	err = b.retry(ctx, func(ctx context.Context) (err error) {
		conn, err := b.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		g := b.watch(conn.Conn())
		result, err = do(ctx, conn)
		return g.stop(err)
	})
	return result, fail(op, err)
}

// A tx is a transaction that writes. Its first statements go to the server in one
// batch, its last with COMMIT in another.
type tx struct {
	b        *Backend
	conn     *pgxpool.Conn
	watchdog *watchdog

	xid  string // by which the server can tell whether it is still at it
	now  int64  // by the server's clock, in microseconds
	last *pgx.Batch

	// proof tells what became of it. Without one, it can be done again, and is.
	proof proof
}

// stamp is the columns of xid and now.
const stamp = `pg_current_xact_id()::text, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// clock returns the time of a change that follows one made at last.
func (t *tx) clock(last time.Time) time.Time { return memento.NextTime(timeOf(t.now), last) }

// begin returns a batch that begins the transaction, for send. The caller adds a
// statement that has stamp.
func (t *tx) begin() *pgx.Batch {
	batch := new(pgx.Batch)
	batch.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	if t.b.server.asynchronous {
		batch.Queue(`SET LOCAL synchronous_commit = on`)
	}
	return batch
}

// queueStamp adds a statement that has nothing but stamp.
func (t *tx) queueStamp(batch *pgx.Batch) {
	batch.Queue(`SELECT ` + stamp).QueryRow(func(row pgx.Row) error { return row.Scan(&t.xid, &t.now) })
}

// queueLock adds the statement that waits for a store, and has it until the
// transaction ends; errGone if it is not there any more.
func (t *tx) queueLock(batch *pgx.Batch, store int64) {
	batch.Queue(t.b.sql(`SELECT `+stamp+` FROM memento.counters WHERE store = $1 FOR UPDATE`), store).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&t.xid, &t.now); !noRows(err) {
			return err
		}
		return errGone
	})
}

// send sends a batch, and runs the functions that wait for its results.
func (t *tx) send(ctx context.Context, batch *pgx.Batch) error {
	return t.conn.SendBatch(ctx, batch).Close()
}

// do adds a statement to those that are sent with COMMIT. Without any, there is
// nothing to commit.
func (t *tx) do(text string, args ...any) {
	if t.last == nil {
		t.last = new(pgx.Batch)
	}
	t.last.Queue(t.b.sql(text), args...)
}

// transact runs do, which may run several times, in a transaction, and commits
// what it has left in last. The error is the context's, or not yet wrapped.
func (b *Backend) transact(ctx context.Context, do func(context.Context, *tx) error) error {
	return b.retry(ctx, func(ctx context.Context) error {
		conn, err := b.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		t := &tx{b: b, conn: conn, watchdog: b.watch(conn.Conn())}
		if err = do(ctx, t); err == nil && t.last != nil {
			return t.commit(ctx)
		}
		return t.rollBack(ctx, err)
	})
}

// rollBackTime is how long the end of a transaction is waited for that is of no
// use any more.
const rollBackTime = time.Second

// release gives the connection back.
func (t *tx) release(err error) error {
	err = t.watchdog.stop(err)
	t.conn.Release()
	return err
}

// rollBack ends a transaction because of err, or because it has nothing to do.
func (t *tx) rollBack(ctx context.Context, err error) error {
	c := t.conn.Conn()
	if !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
		defer cancel()
		_, _ = c.Exec(ctx, `ROLLBACK`) // else Release closes the connection
	}
	return t.release(err)
}

// commit sends what is left to do, and COMMIT. It returns nil if that has happened,
// and errUnknown if it may have.
func (t *tx) commit(ctx context.Context) error {
	committed := false
	t.last.Queue(`COMMIT`).Exec(func(tag tag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	err := t.send(ctx, t.last)
	switch {
	case committed:
		return t.release(nil)
	case err == nil: // it was rolled back, which only a failed transaction is
		return t.release(errAborted)
	}
	if at, ok := errors.AsType[*pgError](err); ok && at.SeverityUnlocalized == "ERROR" {
		return t.rollBack(ctx, err)
	}
	_ = t.release(nil) // it is closed
	return t.b.commitOutcome(ctx, t.xid, t.proof)
}
