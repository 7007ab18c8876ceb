package storeurl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"memento"
	"memento/backend/sqlitestore"
)

// SQLite returns the URL of the SQLite file at path.
func SQLite(path string) string { return "sqlite:" + EscapePath(path) }

// EscapePath escapes the characters of a path that have a meaning in URLs.
func EscapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(filepath.ToSlash(path))
}

func openSQLite(ctx context.Context, l location, o *Options) (memento.Backend, error) {
	path, err := l.file()
	if err != nil {
		return nil, err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	b, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{Reading: o.Reading})
	if err != nil {
		return nil, err // not b, which would be a non-nil Backend
	}
	return b, nil
}

// file returns the path of the file that l names.
func (l *location) file() (string, error) {
	switch {
	case l.host:
		return "", invalid("%s: names a file, not a host; write %s:PATH or %s:///ABSOLUTE/PATH", l.scheme, l.scheme, l.scheme)
	case l.path == "":
		return "", invalid("%s: needs the path of a file, as in %s:memento.db", l.scheme, l.scheme)
	case l.path == ":memory:":
		return "", invalid("%s: names a file; to keep memories in memory, write mem:", l.scheme)
	case strings.HasPrefix(l.path, "~/"):
		return "", invalid(`%s: "~" is not expanded here; write "$HOME/…"`, l.scheme)
	case strings.ContainsRune(l.path, 0):
		return "", invalid("%s: the path has a NUL character", l.scheme)
	case strings.HasSuffix(l.path, "/"):
		return "", invalid("%s: names a file; the path ends with a slash", l.scheme)
	}
	if err := l.only(); err != nil {
		return "", err
	}
	path := l.path
	if runtime.GOOS == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // sqlite:///C:/…
	}
	return filepath.FromSlash(path), nil
}

// makeFolder makes a folder that only its owner can enter, unless it exists. Its error
// does not contain the path.
func makeFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var at *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		err = memento.ErrReadOnly
	case errors.As(err, &at):
		err = at.Err
	}
	return &memento.Error{Op: "open backend", Err: fmt.Errorf("the folder of the file cannot be made: %w", err)}
}
