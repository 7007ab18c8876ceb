package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"memento"
)

// Notes lie in directories of this many.
const notesInDirectory = 100

// notePath returns the path of the note with a number, as the agent says it.
func notePath(i int) string {
	return fmt.Sprintf("%s/note-%06d.md", noteDirectory(i), i)
}

func noteDirectory(i int) string {
	return fmt.Sprintf("/memories/topic-%04d", i/notesInDirectory)
}

// noteTitle returns what no other note holds, in the words of a search.
func noteTitle(i int) string { return fmt.Sprintf("note%06d", i) }

// fillStore makes a store of n notes.
func (b *bench) fillStore(ctx context.Context, backend memento.Backend, ws memento.Workspace, name string, n int) (memento.StoreID, error) {
	info, err := backend.CreateStore(ctx, ws, memento.StoreSpec{
		Name:   name,
		Limits: memento.Limits{Memories: 1_000_000, Bytes: 10 << 30},
	})
	if err != nil {
		return "", err
	}
	const atOnce = 1000
	rng := rand.New(rand.NewPCG(b.seed, uint64(n)))
	for from := 0; from < n; from += atOnce {
		var changes []memento.Change
		for i := from; i < min(from+atOnce, n); i++ {
			path := memento.Path(notePath(i)[len("/memories"):])
			changes = append(changes, memento.Put{Path: path, Content: newNote(rng, noteTitle(i))})
		}
		if _, err := backend.Apply(ctx, info.ID, memento.Actor{}, changes); err != nil {
			return "", err
		}
	}
	return info.ID, nil
}

// fillWorkspace makes stores of n notes each, several at once.
func (b *bench) fillWorkspace(ctx context.Context, backend memento.Backend, ws memento.Workspace, stores, n int) ([]memento.StoreID, error) {
	const atOnce = 16
	ids := make([]memento.StoreID, stores)
	faults := make([]error, atOnce)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for w := range atOnce {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < stores && faults[w] == nil; i = int(next.Add(1)) - 1 {
				ids[i], faults[w] = b.fillStore(ctx, backend, ws, storeName(i), n)
				if made := done.Add(1); made%1000 == 0 {
					fmt.Fprintf(b.progress, "  %s of %s stores\n", thousands(int(made)), thousands(stores))
				}
			}
		})
	}
	wg.Wait()
	return ids, errors.Join(faults...)
}

func storeName(i int) string { return fmt.Sprintf("user %d", i) }

// timed says how long something took.
func (b *bench) timed(what string, do func() error) error {
	start := time.Now()
	err := do()
	fmt.Fprintf(b.progress, "  %s: %.1f s\n", what, time.Since(start).Seconds())
	return err
}
