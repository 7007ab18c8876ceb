package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
	"memento/backend/sqlitestore"
	"memento/sensitive"
)

// A library is memento in this process, called as a Go program calls it: the raw
// JSON of the input goes in, the text for the agent comes out.
type library struct {
	column  string // see name
	backend memento.Backend
	indexed memento.Backend // the backend itself, or the one that it encrypts
	store   *memento.Store
	tool    *memento.Tool
}

// openLibrary opens the store in a SQLite file, and writes notes to it if there are any.
func openLibrary(ctx context.Context, file string, notes []note) (*library, error) {
	backend, err := sqlitestore.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	return newLibrary(ctx, nameLibrary, backend, backend, notes)
}

// newLibrary writes notes to the backend's default store. It closes the backend if that fails.
func newLibrary(ctx context.Context, column string, backend, indexed memento.Backend, notes []note) (*library, error) {
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{
		Name: "default", // the command line's
		// The largest store is at the default limit before the first create.
		Limits: memento.Limits{Memories: 1_000_000, Bytes: 10 << 30},
	}, &memento.StoreOptions{Detector: sensitive.Default()})
	if err := fill(ctx, store, notes); err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	return &library{column, backend, indexed, store, memento.NewTool(store, nil)}, nil
}

// fill writes the notes to the store.
func fill(ctx context.Context, store *memento.Store, notes []note) error {
	const batch = 500
	for from := 0; from < len(notes); from += batch {
		var changes []memento.Change
		for _, n := range notes[from:min(from+batch, len(notes))] {
			path, err := memento.ParsePath(n.path[len("/memories"):])
			if err != nil {
				return err
			}
			changes = append(changes, memento.Put{Path: path, Content: n.text})
		}
		if _, err := store.Apply(ctx, memento.Actor{}, changes...); err != nil {
			return err
		}
	}
	return nil
}

func (l *library) name() string { return l.column }

func (l *library) replay(ctx context.Context, file string, atLeast time.Duration) (measure, error) {
	return replayFile(file, atLeast, func(input []byte) error {
		if r := l.tool.Run(ctx, input); r.IsError {
			return fmt.Errorf("memento refused %.200s: %s", input, r.Content)
		}
		return nil
	})
}

// finishDeferred searches, which brings the search index up to date. A search in an
// encrypted store does not use the index of the backend below, which is kept all the same.
func (l *library) finishDeferred(ctx context.Context) (time.Duration, error) {
	id, err := l.store.ID(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if s, searches := l.indexed.(memento.Searcher); searches {
		_, err = s.Search(ctx, id, memento.SearchOptions{Query: "nosuchword", Limit: 1})
	}
	return time.Since(start), err
}

func (l *library) notes(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for e, err := range l.store.List(ctx, memento.ListOptions{Contents: true}) {
		if err != nil {
			return nil, err
		}
		found["/memories"+string(e.Path)] = e.Memory.Content
	}
	return found, nil
}

func (l *library) close() error { return l.backend.Close() }

// fillFile creates a store with the notes in a file, for another process to open.
func fillFile(ctx context.Context, file string, notes []note) error {
	l, err := openLibrary(ctx, file, notes)
	if err != nil {
		return err
	}
	return l.close()
}

// A sharedFile is a SQLite file that another process serves. Some methods of a
// contender open it in this process as well.
type sharedFile string

func (f sharedFile) finishDeferred(ctx context.Context) (took time.Duration, err error) {
	err = f.open(ctx, func(l *library) error { took, err = l.finishDeferred(ctx); return err })
	return took, err
}

func (f sharedFile) notes(ctx context.Context) (notes map[string]string, err error) {
	err = f.open(ctx, func(l *library) error { notes, err = l.notes(ctx); return err })
	return notes, err
}

func (f sharedFile) open(ctx context.Context, do func(*library) error) error {
	l, err := openLibrary(ctx, string(f), nil)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.close())
}
