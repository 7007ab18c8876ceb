// Package pgstore keeps stores in PostgreSQL, for deployments on more than one machine: any
// number of servers share one database. All servers are equal, and each may fail at any
// time. Start with [Open].
//
// Everything is in one PostgreSQL schema, "memento" unless [Options] says otherwise. Open
// creates it and applies migrations; servers that start at the same time wait for each
// other. A schema written by a newer memento, or by another program, is refused.
//
// # Durability
//
// A write returns after PostgreSQL has committed it, and is as durable as
// synchronous_commit makes it. If that is off for memento's role, memento turns it on for
// its own transactions. fsync and full_page_writes, which only the server's administrator
// can change, must be on: see [Stats].
//
// If an operation fails before COMMIT for a temporary reason (a restart, a failover, a
// deadlock), it is retried for a few seconds, with pauses. After that the error is
// memento.ErrUnavailable, and nothing was changed. If the answer to COMMIT is lost, pgstore
// checks the database, as soon as it can be reached, for what the transaction wrote. It
// returns memento.ErrUncertain only if the result cannot be determined: the database stays
// unreachable, or others have since pruned or deleted what the write would have left.
//
// # Concurrency
//
// Writers of one store wait for each other at its row in the table counters; writers that
// wait in one process share a transaction. Writers of different stores, and all readers,
// run in parallel. A read returns the state at one instant, on the server that Open was
// given: use a primary, since a standby may lag. With several hosts in the connection
// string, target_session_attrs=read-write finds it.
//
// Connection poolers in transaction mode work if the connection string has
// default_query_exec_mode=exec or simple_protocol, so that statements are not prepared.
//
// # Permanent removal
//
// What is redacted, pruned or deleted is removed from all tables and from the search index.
// Its bytes stay on the server's disk until VACUUM, which PostgreSQL runs by itself, has
// freed their space and new rows have overwritten it. They stay in the write-ahead log and
// in backups for as long as these are kept.
//
// PostgreSQL 13 or newer is required, with UTF8 as the database's encoding. The tests run
// against PostgreSQL 15, also through pgbouncer and across a failover to a synchronous
// standby. Other databases that speak its protocol were not tested.
package pgstore

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/readnotes"
	"memento/backend/textindex"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.ReadMarker      = (*Backend)(nil)
	_ apikey.Keeper           = (*Backend)(nil)
	_ backend.WorkspaceLister = (*Backend)(nil)
	_ backend.Leaser          = (*Backend)(nil)
	_ backend.Verifier        = (*Backend)(nil)
	_ backend.Clock           = (*Backend)(nil)
	_ backend.NoteKeeper      = (*Backend)(nil)
	_ backend.PositionLister  = (*Backend)(nil)
)

// A Backend keeps stores in a PostgreSQL database. See [Open].
type Backend struct {
	pool         *pgxpool.Pool
	schema       string
	timeout      time.Duration // timeout of a round trip
	retryTimeout time.Duration // how long temporary failures are retried

	server server // what Open found out about the server
	holder string // name of this handle as the holder of leases

	texts  sync.Map // statements as written in this package → with the schema's name
	stores storeCache
	recent recentMemories
	queues *commitQueues
	reads  *readnotes.Notes
	index  *textindex.Live

	closing sync.Once
	closed  atomic.Bool
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Schema is the PostgreSQL schema that holds everything. Default "memento".
	Schema string

	// MaxConns is the maximum number of open connections. A listing of more than 8 MB has
	// one more while it runs. Default: pool_max_conns of the connection string, or 16.
	MaxConns int

	// ConnectTimeout is the timeout for connecting. Default: connect_timeout of the
	// connection string, or 5 seconds.
	ConnectTimeout time.Duration

	// StatementTimeout is the timeout for an answer of the database, including the time to
	// wait for other writers of the store. Default 30 seconds.
	StatementTimeout time.Duration

	// RetryTimeout is how long an operation that failed for a temporary reason is
	// retried. Default 5 seconds; negative: no retries.
	RetryTimeout time.Duration

	// Existing makes Open fail with memento.ErrNotExist if the schema does not exist,
	// instead of creating it.
	Existing bool
}

const (
	defaultSchema           = "memento"
	defaultMaxConns         = 16
	defaultConnectTimeout   = 5 * time.Second
	defaultStatementTimeout = 30 * time.Second
	defaultRetryTimeout     = 5 * time.Second
)

// Open connects to the database that connString names, a URL or a list of settings as libpq
// and pgx accept it, and creates or updates the schema if necessary. Missing settings are
// taken from PGHOST, PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICEFILE and similar variables.
// The caller must close the Backend.
//
// A role with read-only access can open a schema that is up to date.
//
// Errors: memento.ErrInvalid if connString or opts are invalid; memento.ErrUnavailable;
// memento.ErrFormat if the schema belongs to another program or was written by a newer
// memento, or if the server is too old or the database is not in UTF8; memento.ErrReadOnly
// if the schema must be created, and the role may not.
func Open(ctx context.Context, connString string, opts *Options) (*Backend, error) {
	const op = "open database"
	var o Options
	if opts != nil {
		o = *opts
	}
	config, err := configure(connString, &o)
	if err != nil {
		return nil, &memento.Error{Op: op, Err: err}
	}
	b := &Backend{schema: o.Schema, timeout: o.StatementTimeout, retryTimeout: o.RetryTimeout, holder: newLeaseHolder(), queues: newCommitQueues()}
	b.reads = readnotes.New(readTiming, b.writeReads)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fail(op, err)
	}
	b.pool = pool
	if err := b.prepare(ctx, o.Existing); err != nil {
		pool.Close()
		return nil, fail(op, err)
	}
	b.index = textindex.NewLive(indexStorage{b})
	if err := b.wakeIndex(ctx); err != nil {
		b.Close()
		return nil, fail(op, err)
	}
	return b, nil
}

// configure parses the connection string and sets the defaults of o.
func configure(connString string, o *Options) (*pgxpool.Config, error) {
	o.Schema = cmp.Or(o.Schema, defaultSchema)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, defaultStatementTimeout)
	o.RetryTimeout = cmp.Or(o.RetryTimeout, defaultRetryTimeout)
	switch {
	case o.MaxConns < 0 || o.MaxConns > 10_000:
		return nil, invalid("the number of connections must be 1 to 10000")
	case o.StatementTimeout < 0 || o.ConnectTimeout < 0:
		return nil, invalid("a timeout must not be negative")
	case len(o.Schema) > 63 || strings.ContainsRune(o.Schema, 0) || strings.HasPrefix(o.Schema, "pg_"):
		return nil, invalid("a schema's name has at most 63 bytes, and does not begin with pg_")
	}
	config, err := pgxpool.ParseConfig(connString)
	if err != nil {
		// pgx's error repeats the string, and may not mask every password in it.
		return nil, invalid("invalid connection string; it looks like postgres://HOST/DATABASE, and special characters are written as %XX")
	}
	switch {
	case o.MaxConns > 0:
		config.MaxConns = int32(o.MaxConns)
	case !strings.Contains(connString, "pool_max_conns"):
		config.MaxConns = defaultMaxConns
	}
	switch {
	case o.ConnectTimeout > 0:
		config.ConnConfig.ConnectTimeout = o.ConnectTimeout
	case config.ConnConfig.ConnectTimeout == 0 || !strings.Contains(connString, "connect_timeout"):
		config.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "memento"
	}
	config.PingTimeout = config.ConnConfig.ConnectTimeout
	config.AfterConnect = setUp
	return config, nil
}

// Close waits for operations in progress and closes the connections. Methods called
// afterwards return memento.ErrClosed.
func (b *Backend) Close() error {
	b.closing.Do(func() {
		b.reads.Close()
		b.index.Close()
		b.closed.Store(true)
		b.pool.Close()
	})
	return nil
}

// Stats are statistics of the connections of a Backend, and of the server.
type Stats struct {
	MaxConns     int           // maximum number of connections
	Conns        int           // connections that are open or being opened
	Busy         int           // connections in use
	Acquired     int64         // total number of acquisitions
	Waited       int64         // acquisitions that had to wait, for a free or a new connection
	WaitTime     time.Duration // total waiting time of all acquisitions
	ServerUnsafe bool          // the server runs without fsync or full_page_writes: a crash of its machine can lose acknowledged writes
}

// Stats returns the present statistics, for metrics.
func (b *Backend) Stats() Stats {
	s := b.pool.Stat()
	return Stats{
		MaxConns:     int(s.MaxConns()),
		Conns:        int(s.TotalConns()),
		Busy:         int(s.AcquiredConns()),
		Acquired:     s.AcquireCount(),
		Waited:       s.EmptyAcquireCount(),
		WaitTime:     s.AcquireDuration(),
		ServerUnsafe: b.server.unsafe,
	}
}

// sql returns a statement with the name of the backend's schema. Statements in this package
// are written for the schema "memento".
func (b *Backend) sql(text string) string {
	if b.schema == defaultSchema {
		return text
	}
	if named, ok := b.texts.Load(text); ok {
		return named.(string)
	}
	named := strings.ReplaceAll(text, defaultSchema+".", pgx.Identifier{b.schema}.Sanitize()+".")
	b.texts.Store(text, named)
	return named
}

// noRows reports whether a query for one row found none.
func noRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
