package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"memento"
)

// flatMemories compares a store of few memories with one of many.
func (b *bench) flatMemories(ctx context.Context, name engineName) (calls []flatCall, err error) {
	var grounds [2]*ground
	for i, notes := range []int{smallStore, b.memories} {
		g, err := b.newGround(ctx, name, fmt.Sprintf("memories%d", i))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.backend.Close()) }()
		grounds[i], g.notes = g, notes
		err = b.timed(fmt.Sprintf("%s: a store of %s memories", name, thousands(notes)), func() error {
			id, err := b.fillStore(ctx, g.backend, memento.DefaultWorkspace, storeName(0), notes)
			g.stores = []memento.StoreID{id}
			return err
		})
		if err != nil {
			return nil, err
		}
		// What is put off until it is quiet, or until somebody searches.
		err = b.timed(fmt.Sprintf("%s: its first search", name), func() error {
			_, err := trySearch(ctx, g, rand.New(rand.NewPCG(b.seed, 0)))
			return errors.Join(err, g.engine.settle(ctx, g.place))
		})
		if err != nil {
			return nil, err
		}
	}
	return b.compareTrials(ctx, ofMemories, grounds[0], grounds[1],
		tryView, tryList, tryCreate, tryReplace, tryRename, trySearch, tryOpen)
}

// flatStores compares a workspace of one store with one of many. The page is
// compared with that of a workspace which has just as many as a page shows.
func (b *bench) flatStores(ctx context.Context, name engineName) (calls []flatCall, err error) {
	var grounds [2]*ground
	for i, stores := range []int{smallWorkspace, b.stores} {
		g, err := b.newGround(ctx, name, fmt.Sprintf("stores%d", i))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.backend.Close()) }()
		grounds[i], g.notes = g, storeNotes
		err = b.timed(fmt.Sprintf("%s: a workspace of %s stores", name, thousands(stores)), func() error {
			g.stores, err = b.fillWorkspace(ctx, g.backend, memento.DefaultWorkspace, stores, storeNotes)
			if err == nil && stores < pageOfStores {
				g.paged = "paged"
				_, err = b.fillWorkspace(ctx, g.backend, g.paged, pageOfStores, 1)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		err = b.timed(fmt.Sprintf("%s: a view in each", name), func() error {
			return errors.Join(g.viewEach(ctx), g.engine.settle(ctx, g.place))
		})
		if err != nil {
			return nil, err
		}
	}
	return b.compareTrials(ctx, ofStores, grounds[0], grounds[1],
		tryGetStore, tryListStores, tryFindStore, tryView, tryCreate, tryReplace, tryRename, tryCreateStore, tryOpen)
}

func (b *bench) newGround(ctx context.Context, name engineName, place string) (*ground, error) {
	e, err := b.engine(ctx, name)
	if err != nil {
		return nil, err
	}
	return newGround(ctx, e, place)
}

// viewEach views a note in every store, several at once.
func (g *ground) viewEach(ctx context.Context) error {
	stores := make(chan memento.StoreID)
	faults := make([]error, teamSize)
	var wg sync.WaitGroup
	for w := range faults {
		wg.Go(func() {
			for id := range stores {
				if faults[w] == nil {
					_, faults[w] = g.backend.Get(ctx, id, memento.ByPath(memento.Path(notePath(0)[len("/memories"):])))
				}
			}
		})
	}
	for _, id := range g.stores {
		stores <- id
	}
	close(stores)
	wg.Wait()
	return errors.Join(faults...)
}
