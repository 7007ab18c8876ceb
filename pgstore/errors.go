package pgstore

import (
	"context"
	"errors"
	"fmt"

	"memento"

	"github.com/jackc/pgx/v5/pgconn"
)

// Errors of the database are told apart by their SQLSTATE, and only that is passed on:
// their texts can name hosts, users, and what was written.
// Source: PostgreSQL documentation, appendix A.
const (
	stateUniqueViolation  = "23505"
	stateReadOnly         = "25006" // the transaction, the server's default, or a standby
	stateIdleTooLong      = "25P03"
	stateNoPrivilege      = "42501"
	stateNotText          = "22021" // U+0000, or invalid UTF-8, where text is kept
	stateUntranslatable   = "22P05"
	stateTooLarge         = "54000" // for an index, which is on IDs
	stateDiskFull         = "53100"
	stateSerialization    = "40001"
	stateDeadlock         = "40P01"
	stateLockNotAvailable = "55P03"
	stateCanceled         = "57014"
	stateNoSuchDatabase   = "3D000"
	stateNoSuchTable      = "42P01"
	stateInvalidParameter = "22023"
	stateNoStatement      = "26000" // of those prepared: the session is another
	stateStatementExists  = "42P05"
)

var (
	errSlow    = fmt.Errorf("%w: the database took too long to answer", memento.ErrUnavailable)
	errAborted = fmt.Errorf("%w: the database gave up the transaction", memento.ErrUnavailable)
	errLost    = fmt.Errorf("%w: the connection to the database failed", memento.ErrUnavailable)
	errUnknown = fmt.Errorf("%w: nobody can tell whether the database took the change", memento.ErrUncertain)
)

func invalid(text string) error { return fmt.Errorf("%w: %s", memento.ErrInvalid, text) }

func errNoStore(op string) error { return &memento.Error{Op: op, Err: memento.ErrNoStore} }

func errNotExist(op string, p memento.Path) error {
	return &memento.Error{Op: op, Path: p, Err: memento.ErrNotExist}
}

// translate makes the database's errors the root package's.
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
		return with(memento.ErrReadOnly, "the database takes no writes; it may be a standby")
	case stateNoPrivilege:
		return with(memento.ErrReadOnly, "the database's role lacks a right")
	case stateNotText, stateUntranslatable:
		return with(memento.ErrInvalid, "a name or ID holds what text cannot")
	case stateTooLarge:
		return with(memento.ErrInvalid, "a name or ID is too long")
	case stateNoSuchDatabase:
		return with(memento.ErrUnavailable, "there is no such database; make it with createdb")
	case stateNoSuchTable:
		return with(memento.ErrFormat, "a table of memento is missing")
	case stateNoStatement, stateStatementExists:
		return with(memento.ErrUnavailable, "a pooler stands before the database; set default_query_exec_mode=exec in the connection string")
	case stateSerialization, stateDeadlock, stateLockNotAvailable, stateCanceled, stateIdleTooLong:
		return with(memento.ErrUnavailable, "the database gave up the transaction")
	}
	switch state[:min(2, len(state))] {
	case "08", "53", "57", "58":
		return with(memento.ErrUnavailable, "the database cannot serve at present")
	case "28":
		return with(memento.ErrUnavailable, "the database does not let this user in; check PGUSER and PGPASSWORD, or the pgpass file")
	case "XX":
		return with(memento.ErrFormat, "the database reports damage")
	}
	return fmt.Errorf("the database refused a statement (SQLSTATE %s)", state)
}

// passes reports whether the same may succeed in a moment.
func isTemporary(err error) bool {
	if isTranslated(err) {
		return errors.Is(err, errAborted) || errors.Is(err, errLost)
	}
	at, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true // something is wrong with the connection
	}
	switch at.Code {
	case stateSerialization, stateDeadlock, stateIdleTooLong,
		"57P01", "57P02", "57P03", "57P05": // the server stops, has crashed, starts, or ended the session
		return true
	}
	class := at.Code[:min(2, len(at.Code))]
	return class == "08" || at.Code == "53300" // connections: too many
}

// isOurs reports whether err says all there is to say.
func isTranslated(err error) bool {
	if _, ok := errors.AsType[*memento.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*memento.PathError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*memento.LimitError](err); ok {
		return true
	}
	for _, sentinel := range []error{memento.ErrFormat, memento.ErrClosed, memento.ErrInvalid, memento.ErrUnavailable, memento.ErrUncertain,
		memento.ErrReadOnly, memento.ErrNoSpace, errGone} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

// fail wraps err, if there is one, as the failure of op. An error of the caller's
// context is passed on; one that wraps such is of a connection that took too long.
func fail(op string, err error) error {
	if err == nil || err == context.Canceled || err == context.DeadlineExceeded {
		return err
	}
	err = translate(err)
	if _, ok := errors.AsType[*memento.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*memento.PathError](err); ok {
		return err
	}
	return &memento.Error{Op: op, Err: err}
}
