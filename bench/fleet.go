package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"memento"
	"memento/sensitive"
)

// fleetFigures are what many stores in one server cost.
type fleetFigures struct {
	Stores   int         `json:"stores"`
	Memories int         `json:"memories_in_each"`
	StartMS  float64     `json:"start_ms"` // until it answers
	PeakMB   float64     `json:"peak_mb"`  // after calls in each store; 0 if it cannot be told
	Calls    []fleetCall `json:"calls"`
}

// A fleetCall is what a single call costs, in microseconds: the medians.
type fleetCall struct {
	Operation operation `json:"operation"`
	One       float64   `json:"one_store_micros"`
	Many      float64   `json:"many_stores_micros"`
}

// A fleet is a server and its stores, which hold the same notes.
type fleet struct {
	server *serving
	stores []string
	notes  []string // paths
}

// measureFleet compares a server with one store and one with many.
func (b *bench) measureFleet(ctx context.Context) (f fleetFigures, err error) {
	f.Stores, f.Memories = 10_000, 100
	if b.quick {
		f.Stores = 50
	}
	fmt.Fprintf(b.progress, "%d stores of %d memories\n", f.Stores, f.Memories)
	w, err := newWorkload(b.seed, f.Memories, 1, counts{})
	if err != nil {
		return f, err
	}
	var fleets [2]fleet
	for i, stores := range []int{1, f.Stores} {
		file := filepath.Join(b.work, fmt.Sprintf("fleet%d.db", stores))
		l := &fleets[i]
		if l.stores, err = fillStores(ctx, file, stores, w.notes); err != nil {
			return f, err
		}
		for _, n := range w.notes {
			l.notes = append(l.notes, n.path)
		}
		syncDisk()
		start := time.Now()
		if l.server, err = startServer(ctx, b.binary, file); err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, l.server.close()) }()
		if err := l.server.get(ctx, "/v1/whoami", &struct{}{}); err != nil {
			return f, err
		}
		f.StartMS = float64(time.Since(start).Microseconds()) / 1000 // of the larger, which comes last
	}
	one, many := &fleets[0], &fleets[1]
	for _, store := range many.stores {
		if err := many.server.call(ctx, store, viewLine(many.notes[0])); err != nil {
			return f, err
		}
	}
	calls := 2000
	if b.quick {
		calls = 50
	}
	rng := rand.New(rand.NewPCG(b.seed, 1))
	for _, op := range []operation{viewFile, strReplace} {
		c, err := compareFleets(ctx, op, one, many, calls, rng)
		if err != nil {
			return f, fmt.Errorf("%s: %w", op, err)
		}
		f.Calls = append(f.Calls, c)
	}
	f.PeakMB = float64(livePeak(many.server.cmd.Process.Pid)) / 1e6
	return f, nil
}

// fillStores makes stores that hold the notes, and returns their IDs.
func fillStores(ctx context.Context, file string, stores int, notes []note) (ids []string, err error) {
	backend, err := openBackend(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	for i := range stores {
		store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: fmt.Sprintf("user %d", i)},
			&memento.StoreOptions{Detector: sensitive.Default()})
		if err := fill(ctx, store, notes); err != nil {
			return nil, err
		}
		id, err := store.ID(ctx)
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(id))
	}
	return ids, nil
}

// compareFleets has both make single calls in random stores, in turns.
func compareFleets(ctx context.Context, op operation, one, many *fleet, calls int, rng *rand.Rand) (fleetCall, error) {
	var took [2][]float64
	for range calls {
		for i, f := range []*fleet{one, many} {
			store, path := pick(rng, f.stores), pick(rng, f.notes)
			inputs := [][]byte{viewLine(path)}
			if op == strReplace { // there and back
				inputs = [][]byte{replaceLine(path, statePending, stateDone), replaceLine(path, stateDone, statePending)}
			}
			for _, in := range inputs {
				start := time.Now()
				if err := f.server.call(ctx, store, in); err != nil {
					return fleetCall{}, err
				}
				took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/1000)
			}
		}
	}
	return fleetCall{op, median(took[0]), median(took[1])}, nil
}

func replaceLine(path, old, new string) []byte {
	line, err := json.Marshal(input{Command: "str_replace", Path: path, OldStr: &old, NewStr: &new})
	if err != nil {
		panic(err) // a struct of strings
	}
	return line
}
