package pgstore

import (
	"context"
	"math/rand/v2"
	"time"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	firstPause = 5 * time.Millisecond // the first pause before a retry
	maxPause   = 500 * time.Millisecond
)

// retry calls do until it succeeds, fails permanently, or the retry timeout is over. It
// returns the error of the context, or the last one of do.
func (b *Backend) retry(ctx context.Context, do func(context.Context) error) error {
	var failing time.Time // time of the first failure
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

// A watchdog closes a connection if the server does not answer in time. A context with a
// deadline would do the same, but costs a goroutine for each statement.
type watchdog struct {
	timer  *time.Timer
	closed chan struct{} // closed when the connection has been closed
}

func (b *Backend) watch(c *pgx.Conn) *watchdog {
	g := &watchdog{closed: make(chan struct{})}
	g.timer = time.AfterFunc(b.timeout, func() {
		defer close(g.closed)
		ctx, cancel := context.WithTimeout(context.Background(), rollBackTime)
		defer cancel()
		_ = c.PgConn().CancelRequest(ctx) // nobody waits for the result
		_ = c.PgConn().Conn().Close()
	})
	return g
}

// stop ends the watch. It must be called once, before the connection is released. It
// returns err, or errSlow if the watchdog caused err.
func (g *watchdog) stop(err error) error {
	if g.timer.Stop() {
		return err
	}
	<-g.closed // wait until the connection is closed, so that nobody else gets it
	if err != nil && !isTranslated(err) {
		return errSlow
	}
	return err
}

// sleep waits for d. It returns false if ctx ends first.
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

// read runs do on a connection of the pool. do may be called several times.
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

// A tx is a transaction that writes. Its first statements are sent to the server in one
// batch, its last ones in another, together with COMMIT.
type tx struct {
	b        *Backend
	conn     *pgxpool.Conn
	watchdog *watchdog

	xid  string // transaction ID, with which the server can say whether the transaction is still running
	now  int64  // the server's time, in microseconds since 1970
	last *pgx.Batch

	// proof finds out whether the transaction was committed, if the answer to COMMIT is
	// lost. If it is nil, the transaction is simply repeated.
	proof proof
}

// stamp selects the columns for xid and now.
const stamp = `pg_current_xact_id()::text, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// clock returns the time of a change that follows one made at last.
func (t *tx) clock(last time.Time) time.Time { return backend.NextTime(timeOf(t.now), last) }

// begin returns a batch that begins the transaction, for send. The caller adds a statement
// that selects stamp.
func (t *tx) begin() *pgx.Batch {
	batch := new(pgx.Batch)
	batch.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	t.queueDurable(batch)
	return batch
}

// queueStamp adds a statement that selects only stamp.
func (t *tx) queueStamp(batch *pgx.Batch) {
	batch.Queue(`SELECT ` + stamp).QueryRow(func(row pgx.Row) error { return row.Scan(&t.xid, &t.now) })
}

// queueLock adds a statement that locks a store until the transaction ends. Its error is
// errGone if the store no longer exists.
func (t *tx) queueLock(batch *pgx.Batch, store int64) {
	batch.Queue(t.b.sql(`SELECT `+stamp+` FROM memento.counters WHERE store = $1 FOR UPDATE`), store).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(&t.xid, &t.now); !noRows(err) {
			return err
		}
		return errGone
	})
}

// send sends a batch, and calls the functions that receive its results.
func (t *tx) send(ctx context.Context, batch *pgx.Batch) error {
	return t.conn.SendBatch(ctx, batch).Close()
}

// do adds a statement to the batch that is sent with COMMIT. Without any, nothing is
// committed.
func (t *tx) do(text string, args ...any) {
	if t.last == nil {
		t.last = new(pgx.Batch)
	}
	t.last.Queue(t.b.sql(text), args...)
}

// transact runs do in a transaction and commits the statements in last. do may be called
// several times. The error is the context's, or one that is not yet wrapped.
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

// rollBackTime limits how long to wait for a rollback or a cancellation, whose result
// nobody needs.
const rollBackTime = time.Second

// release gives the connection back.
func (t *tx) release(err error) error {
	err = t.watchdog.stop(err)
	t.conn.Release()
	return err
}

// rollBack ends a transaction because of err, or because it has nothing to commit.
func (t *tx) rollBack(ctx context.Context, err error) error {
	c := t.conn.Conn()
	if !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
		defer cancel()
		_, _ = c.Exec(ctx, `ROLLBACK`) // if this fails, Release closes the connection
	}
	return t.release(err)
}
