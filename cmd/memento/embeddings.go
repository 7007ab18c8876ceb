package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/cryptstore"
	"memento/server"
)

// catchUpTime is how long "memento search" waits for the vectors of what was written since
// the last one.
const catchUpTime = 10 * time.Second

// startMeaning begins the search by meaning if the environment configures it, by the
// variables of the same settings of a server. The function that it returns ends it.
//
// A server that is the backend has its own.
func (a *app) startMeaning(url string, b memento.Backend) (end func() error, err error) {
	none := func() error { return nil }
	if isServerURL(url) {
		return none, nil
	}
	c, err := server.Load(server.Sources{})
	if faults, ok := errors.AsType[server.ConfigErrors](err); ok {
		// What else is configured is for servers.
		faults = slices.DeleteFunc(faults, func(f server.ConfigError) bool { return !strings.HasPrefix(f.Setting, "embeddings.") })
		if len(faults) > 0 {
			return none, faults
		}
	} else if err != nil {
		return none, err
	}
	e := c.Embeddings
	if e.URL == "" {
		return none, nil
	}
	if e.Cache, err = vectorsFile(e.Cache, url, b); err != nil {
		return none, err
	}
	logger := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := e.Searcher(b, a.detector, logger)
	switch {
	case errors.Is(err, backend.ErrInUse):
		a.say("note: another process has the file of vectors; the search is by words alone")
		return none, nil
	case err != nil:
		return none, hint(err, "check the variables MEMENTO_EMBEDDINGS_URL, _API, _MODEL and _CACHE")
	}
	a.meaning = s
	return func() error {
		a.meaning = nil
		return s.Close()
	}, nil
}

// catchUp waits for the vectors of a store, for a limited time.
func (a *app) catchUp(ctx context.Context, s *memento.Store) {
	id, err := s.ID(ctx)
	if a.meaning == nil || err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if err := a.meaning.CatchUp(ctx, id); err != nil {
		a.say("note: not all memories have vectors yet, so words count more: %s", line(err.Error()))
	}
}

// vectorsFile returns the file of the vectors of a backend: the given one, or one in the
// data directory. Vectors of encrypted data, and of what is in memory only, have none.
func vectorsFile(given, url string, b memento.Backend) (string, error) {
	scheme, _, _ := strings.Cut(url, ":")
	if _, encrypted := cryptstore.Of(b); encrypted || strings.EqualFold(scheme, "mem") {
		return server.NoCache, nil
	}
	if given != "" {
		return given, nil
	}
	return ownVectorsFile(url)
}

// ownVectorsFile returns the file in the data directory for the vectors of a backend.
func ownVectorsFile(url string) (string, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	path, _, _ := strings.Cut(rest, "?")
	scheme = strings.ToLower(scheme)
	place := url
	if scheme == "sqlite" || scheme == "dir" {
		absolute, err := realPath(path)
		if err != nil {
			return "", err
		}
		place = scheme + ":" + absolute
	}
	dir, err := dataDir()
	if err != nil {
		return "", hint(err, "name a file for vectors with the setting embeddings.cache, or none")
	}
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(dir, "memento", "vectors", hex.EncodeToString(sum[:10])+".db"), nil
}

// unusedVectors returns a warning if there is a file of vectors for a backend, and not used:
// what is erased stays in it. "" if there is none.
func unusedVectors(used, url string) string {
	file, err := ownVectorsFile(url)
	if err != nil || file == used {
		return ""
	}
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file + " has vectors of memories and is not used any more, so what is erased stays in it: remove it"
}
