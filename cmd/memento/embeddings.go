package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"memento"
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
	logger := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := e.Searcher(b, a.detector, logger)
	if err != nil {
		return none, hint(err, "check the variables MEMENTO_EMBEDDINGS_URL, _API and _MODEL")
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
