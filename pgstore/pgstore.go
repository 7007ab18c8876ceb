// Package pgstore keeps stores in PostgreSQL, for when one machine is not enough:
// any number of servers share one database, none of them is special, and each
// may die at any time. Start with [Open].
//
// All of it is in one PostgreSQL schema, "memento" unless [Options] says otherwise,
// which Open makes and brings up to date; servers that start together wait for
// one another. A schema written by a newer memento, or by another program, is refused.
//
// # Durability
//
// A write returns when PostgreSQL has committed it: it is as durable as
// synchronous_commit makes it. Where that is off for memento's role, memento turns
// it on for its own transactions. fsync and full_page_writes, which only the
// server's administrator can change, must be on: see [Stats].
//
// What fails before COMMIT is tried again for a few seconds, with pauses, if it may
// succeed in a moment: a restart, a failover, a deadlock. Then it is
// memento.ErrUnavailable, and nothing was changed. If the answer to COMMIT is lost,
// pgstore looks what is there, as soon as the database can be reached. It returns
// memento.ErrUncertain only if that tells nothing: the database stays away, or others
// have pruned or deleted meanwhile what the write would have left.
//
// # Concurrency
//
// Writers of one store wait for each other at its row in the table counters; those
// that wait in one process share a transaction. Writers of different stores, and
// all readers, go in parallel. What a read returns is of one instant, on the server
// that Open was given: give it a primary, since a standby may be behind. With
// several hosts in the connection string, target_session_attrs=read-write finds it.
//
// Poolers that hand out connections by transaction work if the connection string
// has default_query_exec_mode=exec, or simple_protocol, so that statements are not
// prepared.
//
// # Removing for good
//
// What is redacted, pruned or deleted leaves all tables and the search index, and
// no statement finds it. Its bytes stay on the server's disk until VACUUM, which
// PostgreSQL runs by itself, has given their space back and new rows have taken it;
// in the write-ahead log and in backups, for as long as these are kept.
//
// PostgreSQL 13 or newer is needed, with UTF8 as the database's encoding. The tests
// run against PostgreSQL 15, also through pgbouncer and across a failover to a
// synchronous standby; clusters that speak its protocol were not tested.
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
	"memento/internal/readnotes"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.ReadMarker      = (*Backend)(nil)
	_ memento.KeyKeeper       = (*Backend)(nil)
	_ memento.WorkspaceLister = (*Backend)(nil)
	_ memento.Leaser          = (*Backend)(nil)
	_ memento.Verifier        = (*Backend)(nil)
	_ memento.Clock           = (*Backend)(nil)
	_ memento.NoteKeeper      = (*Backend)(nil)
)

// A Backend keeps stores in a PostgreSQL database. See [Open].
type Backend struct {
	pool         *pgxpool.Pool
	schema       string
	timeout      time.Duration // of a round trip
	retryTimeout time.Duration // how long temporary failures are retried

	server server // as it was found
	holder string // of leases: this handle

	texts  sync.Map // statements, as written in this package → with the schema's name
	stores storeCache
	recent recentMemories
	queues commitQueues
	reads  *readnotes.Notes

	closing sync.Once
	closed  atomic.Bool
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Schema is the PostgreSQL schema that holds everything. Default "memento".
	Schema string

	// MaxConns is the most connections that are open at once, apart from one for
	// each listing under way of more than 8 MB. Default: pool_max_conns of the
	// connection string, or 16.
	MaxConns int

	// ConnectTimeout is how long making a connection may take. Default:
	// connect_timeout of the connection string, or 5 seconds.
	ConnectTimeout time.Duration

	// StatementTimeout is how long the database may take to answer, waits for
	// other writers of the store included. Default 30 seconds.
	StatementTimeout time.Duration

	// RetryTimeout is how long an operation that failed for a temporary reason is
	// retried. Default 5 seconds; negative: no retries.
	RetryTimeout time.Duration

	// Existing has Open fail with memento.ErrNotExist if there is no schema, which it
	// would make otherwise.
	Existing bool
}

const (
	defaultSchema           = "memento"
	defaultMaxConns         = 16
	defaultConnectTimeout   = 5 * time.Second
	defaultStatementTimeout = 30 * time.Second
	defaultRetryTimeout     = 5 * time.Second
)

// Open connects to the database that connString names, a URL or a list of
// settings as libpq and pgx take it, and makes or updates the schema if need be. What
// connString leaves out is taken from PGHOST, PGUSER, PGPASSWORD, PGPASSFILE,
// PGSERVICEFILE and the like. The caller closes the Backend.
//
// A role that may only read can open a schema that is up to date.
//
// Errors: memento.ErrInvalid if connString or opts cannot be understood;
// memento.ErrUnavailable; memento.ErrFormat if the schema is another program's, or
// was written by a newer memento, or if the server is too old or the database not
// in UTF8; memento.ErrReadOnly if the schema must be made, and the role may not.
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
	b := &Backend{schema: o.Schema, timeout: o.StatementTimeout, retryTimeout: o.RetryTimeout, holder: newLeaseHolder()}
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
	return b, nil
}

// configure reads the connection string and sets the defaults of o.
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
		// pgx's text repeats the string, and may not find every password in it.
		return nil, invalid("the connection string cannot be read; it looks like postgres://HOST/DATABASE, and special characters are written as %XX")
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

// Close finishes what is under way and closes the connections. Methods called
// afterwards return memento.ErrClosed.
func (b *Backend) Close() error {
	b.closing.Do(func() {
		b.reads.Close()
		b.closed.Store(true)
		b.pool.Close()
	})
	return nil
}

// Stats describe the connections of a Backend, and the server.
type Stats struct {
	MaxConns     int           // the most there can be
	Conns        int           // open, or being opened
	Busy         int           // of those, in use
	Acquired     int64         // uses so far
	Waited       int64         // uses that had to wait, for another to end or for a new connection
	WaitTime     time.Duration // of all uses together
	ServerUnsafe bool          // the server runs without fsync or full_page_writes: a crash of its machine can lose what was acknowledged
}

// Stats returns figures for metrics.
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

// sql returns a statement with the schema's name in it: statements are written
// for the schema memento.
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
