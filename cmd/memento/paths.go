package main

import (
	"context"
	"errors"
	"strings"

	"memento"
)

// storePath returns the path of a memory as users type it: the leading slash may be
// missing, and /memories may stand before it, as agents write it.
func storePath(ctx context.Context, s *memento.Store, typed string) (memento.Path, error) {
	p, err := memento.ParsePath(slashed(typed))
	if err != nil {
		return p, err
	}
	return withoutMemories(ctx, s, p)
}

// storeDir is storePath for paths that can be those of directories.
func storeDir(ctx context.Context, s *memento.Store, typed string) (memento.Path, error) {
	p, err := memento.ParseDir(slashed(typed))
	if err != nil {
		return p, err
	}
	return withoutMemories(ctx, s, p)
}

// slashed adds the leading slash to a path.
func slashed(typed string) string {
	switch {
	case typed == "", strings.HasPrefix(typed, "/"):
		return typed
	case typed == ".":
		return "/"
	}
	return "/" + strings.TrimPrefix(typed, "./")
}

// agentsRoot is the root of a store in the paths of agents.
const agentsRoot memento.Path = "/memories"

// withoutMemories removes /memories from the beginning of a path, unless the store has
// something of this name.
func withoutMemories(ctx context.Context, s *memento.Store, p memento.Path) (memento.Path, error) {
	if p != agentsRoot && !agentsRoot.Contains(p) {
		return p, nil
	}
	_, err := s.Stat(ctx, memento.ByPath(agentsRoot))
	switch {
	case err == nil, errors.Is(err, memento.ErrIsDir):
		return p, nil
	case !errors.Is(err, memento.ErrNotExist):
		return p, err
	}
	return memento.Path("/" + strings.TrimPrefix(string(p[len(agentsRoot):]), "/")), nil
}
