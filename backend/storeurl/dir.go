package storeurl

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"

	"memento"
	"memento/backend/dirstore"
)

// Dir returns the URL of the folder at path.
func Dir(path string) string { return "dir:" + EscapePath(path) }

func openDir(ctx context.Context, l location, o *Options) (memento.Backend, error) {
	path, err := l.folder()
	if err != nil {
		return nil, err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	layout, err := l.layout()
	if err != nil {
		return nil, err
	}
	b, err := dirstore.Open(ctx, path, &dirstore.Options{Adopted: o.Adopted, Layout: layout, Note: o.Note, Reading: o.Reading})
	if err != nil {
		return nil, err // not b, which would be a non-nil Backend
	}
	return b, nil
}

// Author says who made a version: "by user ana", or "edited in the folder" for changes of
// files that a person or another program made.
func Author(by memento.Actor) string {
	if by.Kind == memento.ActorUser && by.ID == dirstore.ByHand {
		return "edited in the folder"
	}
	return "by " + by.String()
}

// layout returns the layout that the query asks for.
func (l *location) layout() (dirstore.Layout, error) {
	root, err := l.one("root")
	switch layout := dirstore.Layout(root); {
	case err != nil:
		return "", err
	case layout == dirstore.LayoutFound, layout == dirstore.LayoutRoot, layout == dirstore.LayoutMemories:
		return layout, nil
	}
	return "", invalid(`%s: the query key "root" must be "." for all of the folder, or "memories"`, l.scheme)
}

// folder returns the path of the folder that l names.
func (l *location) folder() (string, error) {
	switch {
	case l.host:
		return "", invalid("%s: names a folder, not a host; write %s:PATH or %s:///ABSOLUTE/PATH", l.scheme, l.scheme, l.scheme)
	case l.path == "":
		return "", invalid("%s: needs the path of a folder, as in %s:memory; this one is %s:.", l.scheme, l.scheme, l.scheme)
	case l.path == "~", strings.HasPrefix(l.path, "~/"):
		return "", invalid(`%s: "~" is not expanded here; write "$HOME/…"`, l.scheme)
	case strings.ContainsRune(l.path, 0):
		return "", invalid("%s: the path has a NUL character", l.scheme)
	}
	if err := l.only("root"); err != nil {
		return "", err
	}
	path := l.path
	if runtime.GOOS == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // dir:///C:/…
	}
	return filepath.Clean(filepath.FromSlash(path)), nil
}
