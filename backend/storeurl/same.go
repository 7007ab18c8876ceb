package storeurl

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Same reports whether two URLs name the same place, as far as the URLs themselves show:
// it does not resolve host names. Memory is a new place each time it is opened.
//
// Errors: memento.ErrInvalid.
func Same(a, b string) (bool, error) {
	x, err := parse(a)
	if err != nil {
		return false, err
	}
	y, err := parse(b)
	if err != nil {
		return false, err
	}
	scheme := func(name string) string { return strings.TrimSuffix(name, "ql") } // postgres, postgresql
	if scheme(x.scheme) != scheme(y.scheme) {
		return false, nil
	}
	switch x.scheme {
	case "mem":
		return false, nil
	case "sqlite", "dir":
		place := (*location).folder
		if x.scheme == "sqlite" {
			place = (*location).file
		}
		p, err := place(&x)
		if err != nil {
			return false, err
		}
		q, err := place(&y)
		if err != nil {
			return false, err
		}
		return samePath(p, q), nil
	case "postgres", "postgresql":
		return x.address() == y.address() && x.path == y.path && samePlace(&x, &y, map[string]string{"schema": "memento", "host": "", "port": "5432", "service": ""}), nil
	case "s3":
		return x.address() == y.address() && strings.Trim(x.path, "/") == strings.Trim(y.path, "/") && samePlace(&x, &y, map[string]string{"endpoint": ""}), nil
	}
	return x.address() == y.address() && strings.TrimRight(x.path, "/") == strings.TrimRight(y.path, "/"), nil
}

// samePlace reports whether the keys of the queries that concern the place have the same
// values.
func samePlace(x, y *location, keys map[string]string) bool {
	of := func(l *location) map[string]string {
		values := maps.Clone(keys)
		for key := range keys {
			if v := l.query.Get(key); v != "" {
				values[key] = strings.TrimRight(strings.ToLower(v), "/")
			}
		}
		return values
	}
	return maps.Equal(of(x), of(y))
}

// address returns the host and the port of a URL, without user, and without the scheme's
// default port.
func (l *location) address() string {
	authority, _ := strings.CutPrefix(l.server, "//")
	authority, _, _ = strings.Cut(authority, "/")
	authority = strings.ToLower(authority[strings.LastIndexByte(authority, '@')+1:])
	usual := map[string]string{"postgres": ":5432", "postgresql": ":5432", "http": ":80", "https": ":443"}
	if u := (&url.URL{Host: authority}); u.Hostname() == "127.0.0.1" {
		authority = strings.Replace(authority, "127.0.0.1", "localhost", 1)
	}
	return strings.TrimSuffix(authority, usual[l.scheme])
}

func samePath(p, q string) bool {
	if a, err := os.Stat(p); err == nil {
		if b, err := os.Stat(q); err == nil {
			return os.SameFile(a, b)
		}
		return false
	}
	p, errP := filepath.Abs(p)
	q, errQ := filepath.Abs(q)
	return errP == nil && errQ == nil && p == q
}
