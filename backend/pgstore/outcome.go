package pgstore

import (
	"context"
	"fmt"
	"time"

	"memento"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// setUp prepares a new connection. A process that stops during a write must not block the
// store for others, and JIT compilation takes longer than running these statements.
func setUp(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, false), set_config('jit', 'off', false)`,
		fmt.Sprint(idleTime.Milliseconds()))
	return err
}

// idleTime is how long the server waits for its client within a transaction.
const idleTime = 10 * time.Second

// A proof finds out whether a transaction was committed, from the rows that it would have
// written. It returns nil if it was, errAborted if not, and errUnknown if that cannot be
// determined.
type proof func(context.Context, *pgxpool.Conn) error

// commitOutcome finds out what happened to a transaction whose COMMIT was not answered: nil
// if it was committed, errAborted if it was not and never will be, errUnknown if that
// cannot be determined.
//
// The transaction ID only says whether the transaction is still running. After a crash or a
// failover the server may give the same ID to another transaction.
func (b *Backend) commitOutcome(ctx context.Context, xid string, prove proof) error {
	start := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		limit := 3 * b.retryTimeout // a late answer is better than an uncertain one
		conn, err := b.pool.Acquire(ctx)
		if err == nil {
			g := b.watch(conn.Conn())
			var busy bool
			busy, err = isRunning(ctx, conn, xid)
			switch {
			case err != nil:
			case busy:
				limit = idleTime + b.retryTimeout // by then the server has ended the idle transaction
			case prove == nil:
				err = errAborted // it can be repeated
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

// isRunning reports whether the server is still executing a transaction.
func isRunning(ctx context.Context, c *pgxpool.Conn, xid string) (bool, error) {
	var status string
	err := c.QueryRow(ctx, `SELECT coalesce(pg_xact_status($1::text::xid8), '')`, xid).Scan(&status)
	if isState(err, stateInvalidParameter) { // the ID is in the future: the server has lost it
		return false, nil
	}
	return status == "in progress", err
}

// ofXID is true for rows last written by transaction $1.
const ofXID = `xmin::text::bigint = $1::text::bigint & 4294967295`

// proveVersion returns the proof of a transaction that has appended a version.
func (b *Backend) proveVersion(store, seq int64, id memento.VersionID) proof {
	return func(ctx context.Context, c *pgxpool.Conn) error {
		var last int64
		var found string
		err := c.QueryRow(ctx, b.sql(`SELECT c.last_seq, coalesce(v.id, '') FROM memento.counters c
			LEFT JOIN memento.versions v ON v.store = c.store AND v.seq = $2 WHERE c.store = $1`), store, seq).Scan(&last, &found)
		switch {
		case noRows(err): // the store has been deleted
			return errUnknown
		case err != nil:
			return err
		case found == string(id):
			return nil
		case found != "", last < seq:
			return errAborted
		}
		return errUnknown // the version was pruned
	}
}

// proveDescription returns the proof of a transaction that changed a store's description
// and increased its revision from before. resolveLostAnswer also increases the revision.
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

// proveRow returns the proof of a transaction that has added a row. The query selects
// whether this transaction wrote the row.
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

// proveGone returns the proof of a transaction that has deleted a store. It does not matter
// which transaction deleted it.
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
