// Package storeurl opens the backend that a URL names.
//
//	sqlite:PATH           one SQLite file; a relative path starts at the working directory
//	sqlite:///ABS/PATH    the same, with an absolute path
//	dir:PATH              a folder of plain files; dir:///ABS/PATH likewise
//	mem:                  in memory, gone when the program ends
//	https://HOST[:PORT]   a memento server; with a path if it is served below one
//	http://HOST[:PORT]    the same without TLS
//
// A URL says where memories are, never who asks for them: user names and
// passwords have no place in one, and no error repeats a URL. The key of a server
// comes from [Options].
//
// In the path of a file or a folder, "%", "?" and "#" are written %25, %3F and %23;
// [SQLite] and [Dir] do it. A query ("?key=value") is refused unless its scheme knows
// the key. http knows one: with "?plaintext=true" a key may travel in clear text to
// another machine, over a network that nobody else reads.
package storeurl

import (
	"context"
	"fmt"
	"strings"

	"memento"
)

// A scheme is one row of the table of backends.
type scheme struct {
	name string // before the colon
	form string // how to write such a URL
	open func(ctx context.Context, l location, o *Options) (memento.Backend, error)
}

// schemes is the table. A new backend is one more row.
func schemes() []scheme {
	return []scheme{
		{"sqlite", "sqlite:PATH", openSQLite},
		{"dir", "dir:PATH", openDir},
		{"mem", "mem:", openMemory},
		{"https", "https://HOST", openServer},
		{"http", "http://HOST", openServer},
	}
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Adopted is told of versions that were made of files changed by hand, with
	// their contents, by backends that notice such changes. See
	// [dirstore.Options].
	Adopted func(store memento.StoreID, made []memento.Version)

	// Key returns the key for a server, from where its user keeps it: scheme is
	// "http" or "https", host is without brackets, and port is never "". Nil, and a
	// key "", is none.
	Key func(scheme, host, port string) (string, error)

	// UserAgent names the program to servers; "" means "memento".
	UserAgent string
}

// Open opens the backend that rawURL names, and makes it if it does not exist
// yet, with its folder, which only its owner can read. The caller closes it.
//
// Errors: memento.ErrInvalid if the URL is not understood, and those of the
// backend's own Open.
func Open(ctx context.Context, rawURL string, opts *Options) (memento.Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	l, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	for _, s := range schemes() {
		if s.name == l.scheme {
			return s.open(ctx, l, opts)
		}
	}
	return nil, l.unknown()
}

// Check returns what is wrong with a URL as far as the URL itself tells.
//
// Errors: memento.ErrInvalid.
func Check(rawURL string) error {
	l, err := parse(rawURL)
	if err != nil {
		return err
	}
	for _, s := range schemes() {
		if s.name == l.scheme {
			return nil
		}
	}
	return l.unknown()
}

func (l *location) unknown() error {
	return invalid("the scheme %q is not known; known are %s", l.scheme, known())
}

// known lists the forms of URLs that [Open] understands.
func known() string {
	var forms []string
	for _, s := range schemes() {
		forms = append(forms, s.form)
	}
	return strings.Join(forms, ", ")
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: backend URL: "+format, append([]any{memento.ErrInvalid}, args...)...)
}
