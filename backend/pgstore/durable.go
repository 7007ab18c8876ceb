package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// What makes a write durable. The promise: a write that was reported as done is as durable
// as PostgreSQL makes a COMMIT that it has answered, and what has failed is not there.
//
//  1. Open asks the server how it flushes: newServer.
//  2. Each transaction that writes turns synchronous_commit on if it is off: queueDurable.
//     So PostgreSQL flushes its log, and waits for synchronous standbys, before it answers.
//     The writes of optimistic.go, which are one statement, are made only if it is on.
//  3. commit sends COMMIT, and returns nil only for the answer that it was carried out.
//  4. If the answer is lost, commitOutcome in outcome.go finds out from the database
//     whether the transaction was committed.

// A server is what Open has found out about the database server.
type server struct {
	unsafe       bool // fsync or full_page_writes is off
	asynchronous bool // synchronous_commit is off by default
}

// newServer asks a server how it flushes.
func newServer(ctx context.Context, c *pgx.Conn) (server, error) {
	var synchronous, fsync, fullPages string
	err := c.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), coalesce(current_setting('fsync', true), ''), coalesce(current_setting('full_page_writes', true), '')`).
		Scan(&synchronous, &fsync, &fullPages)
	return server{unsafe: fsync == "off" || fullPages == "off", asynchronous: synchronous == "off"}, err
}

// queueDurable adds a statement, if one is needed, so that COMMIT is answered when the
// transaction has been flushed.
func (t *tx) queueDurable(batch *pgx.Batch) {
	if t.b.server.asynchronous {
		batch.Queue(`SET LOCAL synchronous_commit = on`)
	}
}

// commit sends the remaining statements and COMMIT. It returns nil if the transaction was
// committed, and errUnknown if it may have been.
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
	case err == nil: // COMMIT of a failed transaction answers ROLLBACK
		return t.release(errAborted)
	}
	if at, ok := errors.AsType[*pgError](err); ok && at.SeverityUnlocalized == "ERROR" {
		return t.rollBack(ctx, err)
	}
	_ = t.release(nil) // the connection is closed
	return t.b.commitOutcome(ctx, t.xid, t.proof)
}
