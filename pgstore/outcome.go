package pgstore

import (
	"context"
	"fmt"
	"time"

	"memento"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// setUp prepares a new connection: a process that stops in the middle of a write
// must not keep the others from the store, and compiling statements takes longer
// than running them does.
func setUp(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, false), set_config('jit', 'off', false)`,
		fmt.Sprint(idleTime.Milliseconds()))
	return err
}

// idleTime is how long the server waits in a transaction for its client.
const idleTime = 10 * time.Second

// A proof finds out whether a transaction that has ended was committed, from what
// it would have written: errAborted if it was not, errUnknown if that cannot be told.
type proof func(context.Context, *pgxpool.Conn) error

// outcome finds out what became of a transaction whose COMMIT was not answered:
// nil if it was committed, errAborted if it never will be, errUnknown if nobody
// can tell.
//
// The number of the transaction tells whether the server is still at it, and no
// more: after a crash or a failover, the server may give the number to another.
func (b *Backend) commitOutcome(ctx context.Context, xid string, prove proof) error {
	start := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		limit := 3 * b.retryTimeout // to be uncertain is worse than to be late
		conn, err := b.pool.Acquire(ctx)
		if err == nil {
			g := b.watch(conn.Conn())
			var busy bool
			busy, err = isRunning(ctx, conn, xid)
			switch {
			case err != nil:
			case busy:
				limit = idleTime + b.retryTimeout // by then the server has given up waiting
			case prove == nil:
				err = errAborted // to do it again does no harm
			default:
				err = prove(ctx, conn)
			}
			g.stop(nil)
			conn.Release()
			if !busy && (err == nil || isTranslated(err)) {
				return err
			}
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		if time.Since(start) > limit || b.closed.Load() {
			return errUnknown
		}
	}
}

// runs reports whether the server is still at a transaction.
func isRunning(ctx context.Context, c *pgxpool.Conn, xid string) (bool, error) {
	var status string
	err := c.QueryRow(ctx, `SELECT coalesce(pg_xact_status($1::text::xid8), '')`, xid).Scan(&status)
	if isState(err, stateInvalidParameter) { // the number is in the future: it was forgotten
		return false, nil
	}
	return status == "in progress", err
}

// ofXID holds for rows that the transaction $1 wrote, and nobody since.
const ofXID = `xmin::text::bigint = $1::text::bigint & 4294967295`

// proveVersion is the proof of a transaction that has appended a version.
func (b *Backend) proveVersion(store, seq int64, id memento.VersionID) proof {
	return func(ctx context.Context, c *pgxpool.Conn) error {
		var last int64
		var found string
		err := c.QueryRow(ctx, b.sql(`SELECT c.last_seq, coalesce(v.id, '') FROM memento.counters c
			LEFT JOIN memento.versions v ON v.store = c.store AND v.seq = $2 WHERE c.store = $1`), store, seq).Scan(&last, &found)
		switch {
		case noRows(err): // the store was deleted meanwhile
			return errUnknown
		case err != nil:
			return err
		case found == string(id):
			return nil
		case found != "", last < seq:
			return errAborted
		}
		return errUnknown // a version was there, and was pruned
	}
}

// proveDescription is the proof of a transaction that has changed a store's
// description, whose revision was then the next; settle moves it as well.
func (b *Backend) proveDescription(xid string, store, before int64) proof {
	return func(ctx context.Context, c *pgxpool.Conn) error {
		var revision int64
		var ours bool
		err := c.QueryRow(ctx, b.sql(`SELECT c.revision, s.`+ofXID+` FROM memento.counters c JOIN memento.stores s ON s.num = c.store WHERE c.store = $2`),
			xid, store).Scan(&revision, &ours)
		switch {
		case noRows(err):
			return errUnknown
		case err != nil:
			return err
		case revision <= before:
			return errAborted
		case revision == before+1 && ours:
			return nil
		}
		return errUnknown
	}
}

// proveRow is the proof of a transaction that has added the row which a query
// selects, with whether it was this transaction that did.
func (b *Backend) proveRow(query string, args ...any) proof {
	return func(ctx context.Context, c *pgxpool.Conn) error {
		var ours bool
		switch err := c.QueryRow(ctx, b.sql(query), args...).Scan(&ours); {
		case noRows(err):
			return errAborted
		case err != nil:
			return err
		case !ours:
			return errUnknown
		}
		return nil
	}
}

// proveGone is the proof of a transaction that has deleted a store: if it is gone,
// no matter by whom.
func (b *Backend) proveGone(store int64) proof {
	return func(ctx context.Context, c *pgxpool.Conn) error {
		var there bool
		err := c.QueryRow(ctx, b.sql(`SELECT EXISTS (SELECT 1 FROM memento.stores WHERE num = $1)`), store).Scan(&there)
		if err == nil && there {
			err = errAborted
		}
		return err
	}
}
