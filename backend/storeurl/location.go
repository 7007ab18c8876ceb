package storeurl

import (
	"net/url"
	"strings"
)

// A location is a URL that is split, but not interpreted yet.
type location struct {
	scheme string
	host   bool   // whether there is a host or a user after "//"
	path   string // decoded
	query  url.Values

	server string // the part between scheme and query, for schemes that name servers; may contain secrets
}

// parse splits a URL. Package url is not used, since it takes "sqlite:a/b" for an opaque
// URL, and its errors contain the whole URL, including a password.
func parse(raw string) (location, error) {
	name, rest, ok := strings.Cut(raw, ":")
	switch {
	case raw == "":
		return location{}, invalid("it is empty; write one of %s", known())
	case !ok, strings.ContainsAny(name, `/\.`), len(name) == 1: // a single letter is a drive
		return location{}, invalid("it has no scheme; to name a file, write sqlite: before its path")
	case !isScheme(name):
		return location{}, invalid("it does not start with a scheme; known are %s", known())
	}
	l := location{scheme: strings.ToLower(name)}
	path, query, _ := strings.Cut(rest, "?")
	l.server = path
	if strings.Contains(path, "#") {
		return location{}, invalid(`it has a "#"; in a path, write it %%23`)
	}
	if authority, ok := strings.CutPrefix(path, "//"); ok {
		host, _, _ := strings.Cut(authority, "/")
		l.host = host != ""
		path = authority[len(host):]
	}
	var err error
	if l.path, err = url.PathUnescape(path); err != nil {
		return location{}, invalid(`a "%%" in it starts no escape; in a path, write it %%25`)
	}
	if l.query, err = url.ParseQuery(query); err != nil {
		return location{}, invalid("its query is not of the form key=value")
	}
	return l, nil
}

// isScheme reports whether name can be a scheme: letters and digits, a letter first.
func isScheme(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if !('a' <= c && c <= 'z' || i > 0 && '0' <= name[i] && name[i] <= '9') {
			return false
		}
	}
	return name != ""
}

// only refuses a query with keys other than those given.
func (l *location) only(keys ...string) error {
	for key := range l.query {
		known := false
		for _, k := range keys {
			known = known || k == key
		}
		if !known {
			return invalid("%s: unknown query key %q", l.scheme, key)
		}
	}
	return nil
}
