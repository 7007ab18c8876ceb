package storeurl

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/backend/pgstore"
)

// ownKeys are the keys of a PostgreSQL URL that are for pgstore, libpqKeys those that any
// PostgreSQL URL can have.
var (
	ownKeys   = []string{"schema", "max_connections", "connect_timeout", "statement_timeout"}
	libpqKeys = []string{
		"sslmode", "sslrootcert", "sslcert", "sslkey", "sslnegotiation", "channel_binding",
		"target_session_attrs", "application_name", "host", "port", "service", "passfile", "krbsrvname",
		"default_query_exec_mode", // of pgx, for poolers
	}
)

func openPostgres(ctx context.Context, l location, o *Options) (memento.Backend, error) {
	connString, opts, err := l.postgres()
	if err != nil {
		return nil, err
	}
	opts.Existing = o.Existing
	b, err := pgstore.Open(ctx, connString, opts)
	if err != nil {
		return nil, err // not b, which would be a non-nil Backend
	}
	return b, nil
}

func checkPostgres(l *location) error {
	_, _, err := l.postgres()
	return err
}

// postgres interprets a PostgreSQL URL: the database, and the options for using it.
func (l *location) postgres() (connString string, opts *pgstore.Options, err error) {
	authority, ok := strings.CutPrefix(l.server, "//")
	if !ok {
		return "", nil, invalid("%s: write %s://HOST/DATABASE, or %s:///DATABASE for the server that the environment names", l.scheme, l.scheme, l.scheme)
	}
	authority, database, _ := strings.Cut(authority, "/")
	if strings.Contains(database, "/") {
		return "", nil, invalid("%s: the name of the database has a slash; write it %%2F", l.scheme)
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if strings.ContainsRune(authority[:i], ':') {
			return "", nil, l.noPassword()
		}
	}
	if l.query.Has("password") || l.query.Has("sslpassword") {
		return "", nil, l.noPassword()
	}
	if err := l.only(slices.Concat(ownKeys, libpqKeys)...); err != nil {
		return "", nil, err
	}
	opts = &pgstore.Options{}
	if opts.Schema, err = l.one("schema"); err != nil {
		return "", nil, err
	}
	if opts.MaxConns, err = l.whole("max_connections"); err != nil {
		return "", nil, err
	}
	if opts.ConnectTimeout, err = l.seconds("connect_timeout"); err != nil {
		return "", nil, err
	}
	if opts.StatementTimeout, err = l.seconds("statement_timeout"); err != nil {
		return "", nil, err
	}
	rest := url.Values{}
	for _, key := range libpqKeys {
		value, err := l.one(key)
		if err != nil {
			return "", nil, err
		}
		if value != "" {
			rest.Set(key, value)
		}
	}
	connString = "postgres://" + authority + "/" + database
	if len(rest) > 0 {
		connString += "?" + rest.Encode()
	}
	return connString, opts, nil
}

func (l *location) noPassword() error {
	return invalid("%s: a password is not allowed in the URL; set PGPASSWORD, or use a file that PGPASSFILE names (~/.pgpass)", l.scheme)
}

// one returns a key of the query, "" if it is absent.
func (l *location) one(key string) (string, error) {
	values := l.query[key]
	if len(values) > 1 {
		return "", invalid("%s: the query key %q is given twice", l.scheme, key)
	}
	return strings.Join(values, ""), nil
}

// whole returns a key of the query that is a positive number, 0 if it is absent.
func (l *location) whole(key string) (int, error) {
	text, err := l.one(key)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, invalid("%s: the query key %q must be a whole number, at least 1", l.scheme, key)
	}
	return int(n), nil
}

// seconds returns a key of the query that is a duration, or a number of seconds; 0 if it
// is absent.
func (l *location) seconds(key string) (time.Duration, error) {
	text, err := l.one(key)
	if err != nil || text == "" {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if n, whole := strconv.ParseUint(text, 10, 16); whole == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d <= 0 {
		return 0, invalid("%s: the query key %q must be a duration, such as 5s or 500ms", l.scheme, key)
	}
	return d, nil
}

// size returns a key of the query that is a number of bytes; -1 if it is absent.
func (l *location) size(key string) (int64, error) {
	text, err := l.one(key)
	if err != nil || text == "" {
		return -1, err
	}
	digits, shift := strings.TrimSuffix(strings.TrimSuffix(text, "iB"), "B"), 0
	for unit, bits := range map[string]int{"K": 10, "M": 20, "G": 30} {
		if cut, ok := strings.CutSuffix(digits, unit); ok {
			digits, shift = cut, bits
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return 0, invalid("%s: the query key %q must be a number of bytes, such as 16384, 16KiB or 256MiB", l.scheme, key)
	}
	return int64(n) << shift, nil
}
