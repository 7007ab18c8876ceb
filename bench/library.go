package main

import (
	"context"
	"fmt"
	"time"

	"memento"
	"memento/sensitive"
)

// A library is memento inside this process, called as a Go program calls it: the
// raw JSON of the input goes in, the text for the agent comes out.
type library struct {
	backend memento.Backend
	store   *memento.Store
	tool    *memento.Tool
}

// openLibrary opens the store in a file, and fills it with notes if there are any.
func openLibrary(ctx context.Context, file string, notes []note) (*library, error) {
	backend, err := openBackend(ctx, file)
	if err != nil {
		return nil, err
	}
	return newLibrary(ctx, backend, notes)
}

// newLibrary fills the backend's default store. It closes the backend if that fails.
func newLibrary(ctx context.Context, backend memento.Backend, notes []note) (*library, error) {
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{
		Name: "default", // the command line's
		// The largest store is at the default limit before the first create.
		Limits: memento.Limits{Memories: 1_000_000, Bytes: 10 << 30},
	}, &memento.StoreOptions{Detector: sensitive.Default()})
	if err := fill(ctx, store, notes); err != nil {
		backend.Close()
		return nil, err
	}
	return &library{backend, store, memento.NewTool(store, nil)}, nil
}

// fill puts the notes into the store.
func fill(ctx context.Context, store *memento.Store, notes []note) error {
	const atOnce = 500
	for from := 0; from < len(notes); from += atOnce {
		var changes []memento.Change
		for _, n := range notes[from:min(from+atOnce, len(notes))] {
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

func (l *library) replay(ctx context.Context, file string, atLeast time.Duration) (measure, error) {
	return replayLanes(file, atLeast, func(inputs [][]byte) error { return l.runLane(ctx, inputs) })
}

func (l *library) runLane(ctx context.Context, inputs [][]byte) error {
	for _, in := range inputs {
		if r := l.tool.Run(ctx, in); r.IsError {
			return fmt.Errorf("memento refused %.200s: %s", in, r.Content)
		}
	}
	return nil
}

// settle searches, which brings the search index up to date.
func (l *library) settle(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	_, err := l.store.Search(ctx, memento.SearchOptions{Query: "nosuchword", Limit: 1})
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

// fillFile makes a store in a file, for others to open.
func fillFile(ctx context.Context, file string, notes []note) error {
	l, err := openLibrary(ctx, file, notes)
	if err != nil {
		return err
	}
	return l.close()
}
