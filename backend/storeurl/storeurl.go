// Package storeurl opens the backend that a URL names.
//
//	sqlite:PATH           one SQLite file; a relative path starts at the working directory
//	sqlite:///ABS/PATH    the same, with an absolute path
//	dir:PATH              a folder of plain files; dir:///ABS/PATH likewise; any folder of
//	                      notes can be opened, such as an Obsidian vault
//	postgres://HOST/DB    a database of PostgreSQL, or of what speaks its protocol
//	s3://BUCKET/PREFIX    a bucket of Amazon S3, or of what speaks its protocol
//	mem:                  in memory, gone when the program ends
//	https://HOST[:PORT]   a memento server; with a path if it is served below one
//	http://HOST[:PORT]    the same without TLS
//
// A URL says where memories are, and contains no secrets: passwords are refused, and no
// error repeats a URL. The key of a server comes from [Options].
// Credentials for a database are taken from where libpq takes them: PGUSER, PGPASSWORD,
// PGPASSFILE and PGSERVICEFILE; the name of the database user, which is not secret, can
// be in the URL. Credentials for a bucket are AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, the shared credentials file, or the role of the machine.
//
// In the path of a file or a folder, "%", "?" and "#" are written %25, %3F and %23;
// [SQLite] and [Dir] escape them. A query ("?key=value") can have only the keys of its
// scheme:
//
//	dir       root=. for a folder that is a store itself, with all of its files; root=memories
//	          for one with its memories in the folder "memories" (default: found)
//	http      plaintext=true allows sending a key in clear text to another machine, over a
//	          trusted network
//	postgres  schema (default memento), max_connections, connect_timeout,
//	          statement_timeout; and sslmode, sslrootcert, target_session_attrs and
//	          the like, as libpq has them
//	s3        endpoint (a URL; default Amazon's), region, path_style (true or false),
//	          inline (the maximum size of contents that are stored in a record) and cache
//	          (bytes of memory)
package storeurl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"memento"
	"memento/backend/cryptstore"
)

// A scheme is one row of the table of backends.
type scheme struct {
	name string // before the colon
	form string // the form of such a URL; "" for an alternative form of the one above
	open func(ctx context.Context, l location, o *Options) (memento.Backend, error)

	check func(*location) error // for Check; nil if only Open checks
}

// schemes returns the table. A new backend is one more row.
func schemes() []scheme {
	return []scheme{
		{"sqlite", "sqlite:PATH", openSQLite, nil},
		{"dir", "dir:PATH", openDir, nil},
		{"postgres", "postgres://HOST/DATABASE", openPostgres, checkPostgres},
		{"postgresql", "", openPostgres, checkPostgres},
		{"s3", "s3://BUCKET/PREFIX", openS3, checkS3},
		{"mem", "mem:", openMemory, nil},
		{"https", "https://HOST", openServer, nil},
		{"http", "http://HOST", openServer, nil},
	}
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Adopted is called with versions that were made from files changed by hand, with
	// their contents, by backends that notice such changes. See [dirstore.Options].
	Adopted func(store memento.StoreID, made []memento.Version)

	// Note, if not nil, is called by Open with what a user should know about how a folder
	// was opened: a sentence without a full stop.
	Note func(text string)

	// Key returns the key for a server: scheme is "http" or "https", host is without
	// brackets, and port is never "". Nil, and a key "", mean none.
	Key func(scheme, host, port string) (string, error)

	// Encryption, if not nil, encrypts what is stored with these keys, and with
	// EncryptNames also the names of memories in new stores. A server encrypts by itself:
	// https: and http: are refused. See [cryptstore.Wrap].
	Encryption   cryptstore.KeyRing
	EncryptNames bool

	// AsKept allows opening encrypted data without Encryption, as it is stored: for
	// copies and checks. Otherwise it is refused with memento.ErrDecrypt.
	AsKept bool

	// Existing makes Open return memento.ErrNotExist if there is nothing yet. Otherwise
	// it makes a file, a folder, a schema, or an object in a bucket.
	Existing bool

	// Reading is for callers that write nothing: it leaves no trace of them, even in a
	// folder that memento has not seen before. See [dirstore.Options].
	Reading bool

	// UserAgent identifies the program to servers; "" means "memento".
	UserAgent string
}

// Open opens the backend that rawURL names. If it does not exist yet, it is made, with
// its folder, accessible to its owner only. The caller closes it.
//
// Errors: memento.ErrInvalid if the URL is not understood; those of the backend's own
// Open; with encryption those of [cryptstore.Wrap], of which memento.ErrDecrypt says that
// the keys are wrong.
func Open(ctx context.Context, rawURL string, opts *Options) (memento.Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	l, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if opts.Existing {
		switch there, err := Exists(rawURL); {
		case err != nil:
			return nil, err
		case !there:
			return nil, &memento.Error{Op: "open", Err: memento.ErrNotExist}
		}
	}
	for _, s := range schemes() {
		if s.name == l.scheme {
			b, err := s.open(ctx, l, opts)
			if err != nil {
				return nil, err
			}
			return encrypted(ctx, b, opts)
		}
	}
	return nil, l.unknown()
}

// encrypted adds encryption to a backend if there are keys. Otherwise it makes sure that
// the backend needs none. On an error it closes the backend.
func encrypted(ctx context.Context, b memento.Backend, o *Options) (memento.Backend, error) {
	if o.Encryption == nil {
		if o.AsKept {
			return b, nil
		}
		if err := cryptstore.RequireKeys(ctx, b); err != nil {
			return nil, errors.Join(err, b.Close())
		}
		return b, nil
	}
	e, err := cryptstore.Wrap(ctx, b, o.Encryption, &cryptstore.Options{EncryptNames: o.EncryptNames})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return e, nil
}

// Check returns what is wrong with a URL, without opening it.
//
// Errors: memento.ErrInvalid.
func Check(rawURL string) error {
	l, err := parse(rawURL)
	if err != nil {
		return err
	}
	for _, s := range schemes() {
		if s.name != l.scheme {
			continue
		}
		if s.check != nil {
			return s.check(&l)
		}
		return nil
	}
	return l.unknown()
}

func (l *location) unknown() error {
	return invalid("the scheme %q is not known; known are %s", l.scheme, known())
}

// known lists the forms of URLs, for errors.
func known() string { return strings.Join(Forms(), ", ") }

// Forms returns the forms of URLs that [Open] understands, such as "sqlite:PATH".
func Forms() []string {
	var forms []string
	for _, s := range schemes() {
		if s.form != "" {
			forms = append(forms, s.form)
		}
	}
	return forms
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: backend URL: "+format, append([]any{memento.ErrInvalid}, args...)...)
}
