package storeurl

import (
	"context"
	"net/url"

	"memento"
	"memento/backend/httpstore"
)

func openServer(ctx context.Context, l location, o *Options) (memento.Backend, error) {
	u, err := url.Parse(l.scheme + ":" + l.server)
	switch {
	case err != nil, u.Opaque != "":
		return nil, invalid("%s: write %s://HOST, %s://HOST:PORT or, below a path, %s://HOST/PATH", l.scheme, l.scheme, l.scheme, l.scheme)
	case u.User != nil:
		return nil, invalid("%s: a user name or a key is not allowed in the URL; the key comes from the environment or from a file", l.scheme)
	case u.Hostname() == "":
		return nil, invalid("%s: needs a host, as in %s://memory.example.com", l.scheme, l.scheme)
	}
	opts := &httpstore.Options{UserAgent: o.UserAgent}
	if l.scheme == "http" {
		if err := l.only("plaintext"); err != nil {
			return nil, err
		}
		if opts.AllowPlaintext, err = l.boolean("plaintext"); err != nil {
			return nil, err
		}
	} else if err := l.only(); err != nil {
		return nil, err
	}
	if o.Key != nil {
		if opts.Key, err = o.Key(l.scheme, u.Hostname(), port(u)); err != nil {
			return nil, err
		}
	}
	b, err := httpstore.Open(ctx, u.String(), opts)
	if err != nil {
		return nil, err // not b, which would be a non-nil Backend
	}
	return b, nil
}

// port returns the port of a URL, or its scheme's default port.
func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// boolean returns a key of the query, false if it is absent.
func (l *location) boolean(key string) (bool, error) {
	switch values := l.query[key]; {
	case len(values) == 0, len(values) == 1 && values[0] == "false":
		return false, nil
	case len(values) == 1 && values[0] == "true":
		return true, nil
	}
	return false, invalid("%s: the query key %q must be true or false", l.scheme, key)
}
