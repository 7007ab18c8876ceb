package pgstore

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5/pgconn"
)

// Errors of the database are distinguished by their SQLSTATE. Only that is passed on: their
// texts can contain host names, users, and the values that were written. Source: PostgreSQL
// documentation, appendix A.
const (
	stateUniqueViolation  = "23505"
	stateReadOnly         = "25006" // the transaction, the server's default, or a standby
	stateIdleTooLong      = "25P03"
	stateNoPrivilege      = "42501"
	stateNotText          = "22021" // U+0000 or invalid UTF-8 in a text column
	stateUntranslatable   = "22P05"
	stateTooLarge         = "54000" // a value is too large for an index
	stateDiskFull         = "53100"
	stateSerialization    = "40001"
	stateDeadlock         = "40P01"
	stateLockNotAvailable = "55P03"
	stateCanceled         = "57014"
	stateNoSuchDatabase   = "3D000"
	stateNoSuchTable      = "42P01"
	stateInvalidParameter = "22023"
	stateNoStatement      = "26000" // the prepared statement is unknown: another session
	stateStatementExists  = "42P05"
)

var (
	errSlow    = fmt.Errorf("%w: the database took too long to answer", memento.ErrUnavailable)
	errAborted = fmt.Errorf("%w: the database aborted the transaction", memento.ErrUnavailable)
	errLost    = fmt.Errorf("%w: the connection to the database failed", memento.ErrUnavailable)
	errUnknown = fmt.Errorf("%w: it cannot be determined whether the database committed the change", memento.ErrUncertain)
)

func invalid(text string) error { return fmt.Errorf("%w: %s", memento.ErrInvalid, text) }

func errNoStore(op string) error { return &memento.Error{Op: op, Err: memento.ErrNoStore} }

func errNotExist(op string, p memento.Path) error {
	return &memento.Error{Op: op, Path: p, Err: memento.ErrNotExist}
}

// translate turns errors of the database into the root package's.
func translate(err error) error {
	if err == nil || isTranslated(err) {
		return err
	}
	if err, ok := errors.AsType[*pgconn.PgError](err); ok {
		return translateState(err.Code)
	}
	return errLost
}

func translateState(state string) error {
	with := func(sentinel error, text string) error {
		return fmt.Errorf("%w: %s (SQLSTATE %s)", sentinel, text, state)
	}
	switch state {
	case stateDiskFull:
		return with(memento.ErrNoSpace, "the database's disk is full")
	case stateReadOnly:
		return with(memento.ErrReadOnly, "the database is read-only; it may be a standby")
	case stateNoPrivilege:
		return with(memento.ErrReadOnly, "the database role lacks a privilege")
	case stateNotText, stateUntranslatable:
		return with(memento.ErrInvalid, "a name or ID contains characters that cannot be stored")
	case stateTooLarge:
		return with(memento.ErrInvalid, "a name or ID is too long")
	case stateNoSuchDatabase:
		return with(memento.ErrUnavailable, "the database does not exist; create it with createdb")
	case stateNoSuchTable:
		return with(memento.ErrFormat, "a table of memento is missing")
	case stateNoStatement, stateStatementExists:
		return with(memento.ErrUnavailable, "a connection pooler in front of the database does not support prepared statements; set default_query_exec_mode=exec in the connection string")
	case stateSerialization, stateDeadlock, stateLockNotAvailable, stateCanceled, stateIdleTooLong:
		return with(memento.ErrUnavailable, "the database aborted the transaction")
	}
	switch state[:min(2, len(state))] {
	case "08", "53", "57", "58":
		return with(memento.ErrUnavailable, "the database is temporarily unavailable")
	case "28":
		return with(memento.ErrUnavailable, "the database rejected the login; check PGUSER and PGPASSWORD, or the pgpass file")
	case "XX":
		return with(memento.ErrFormat, "the database reports damage")
	}
	return fmt.Errorf("the database refused a statement (SQLSTATE %s)", state)
}

// isTemporary reports whether a retry may succeed.
func isTemporary(err error) bool {
	if isTranslated(err) {
		return errors.Is(err, errAborted) || errors.Is(err, errLost)
	}
	at, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true // not from the server: the connection failed
	}
	switch at.Code {
	case stateSerialization, stateDeadlock, stateIdleTooLong,
		"57P01", "57P02", "57P03", "57P05": // server stopping, crashed or starting; session ended
		return true
	}
	class := at.Code[:min(2, len(at.Code))]
	return class == "08" || at.Code == "53300" // class 08: connection errors; 53300: too many connections
}

// isTranslated reports whether err needs no translation: it is the root package's, or this
// package's own.
func isTranslated(err error) bool {
	return backend.IsTranslated(err, memento.ErrInvalid, memento.ErrUnavailable, memento.ErrUncertain, memento.ErrReadOnly, memento.ErrNoSpace, errGone)
}

// fail wraps err as the failure of op; nil stays nil. The error of the caller's context is
// returned as it is. An error that only wraps a context's error comes from a connection
// attempt that took too long.
func fail(op string, err error) error {
	if err == context.Canceled || err == context.DeadlineExceeded {
		return err
	}
	return backend.Failure(op, translate(err))
}
