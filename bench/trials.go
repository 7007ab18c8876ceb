package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"memento"
	"memento/sensitive"
)

// A ground is what one side of the comparison of sizes is called on.
type ground struct {
	engine  engine
	place   string
	backend memento.Backend
	stores  []memento.StoreID        // of the default workspace, named by their numbers
	notes   int                      // in each
	paged   memento.Workspace        // that has a page of stores
	made    int                      // notes and stores so far
	touched map[memento.StoreID]bool // stores, since settle
}

// detector is one for all stores, as a server has it: the first text that a new one
// looks at takes it milliseconds.
var detector = sync.OnceValue(func() memento.Detector { return sensitive.Default() })

// newGround opens a place.
func newGround(ctx context.Context, e engine, place string) (*ground, error) {
	backend, err := e.open(ctx, place)
	return &ground{engine: e, place: place, backend: backend, paged: memento.DefaultWorkspace,
		touched: map[memento.StoreID]bool{}}, err
}

// settle does what calls have put off, so that nobody else is measured meanwhile:
// a search brings an index up to date.
func (g *ground) settle(ctx context.Context) error {
	defer clear(g.touched)
	searcher, ok := g.backend.(memento.Searcher)
	if !ok || !g.engine.indexes() {
		return nil
	}
	for id := range g.touched {
		if _, err := searcher.Search(ctx, id, memento.SearchOptions{Query: "nosuchword", Limit: 1}); err != nil {
			return err
		}
	}
	return nil
}

// tool opens a random store, as it was left, and returns its tool.
func (g *ground) tool(ctx context.Context, rng *rand.Rand) (*memento.Tool, *memento.Store, error) {
	id := g.stores[rng.IntN(len(g.stores))]
	store, err := memento.OpenStore(ctx, g.backend, memento.DefaultWorkspace, id, &memento.StoreOptions{Detector: detector()})
	if err != nil {
		return nil, nil, err
	}
	g.touched[id] = true
	return memento.NewTool(store, nil), store, nil
}

// clock times one operation.
func clock(op operation, do func() error) (took, error) {
	start := time.Now()
	err := do()
	t := took{op, time.Since(start)}
	if err != nil {
		return t, fmt.Errorf("%s: %w", op, err)
	}
	return t, nil
}

// callTool times calls of a random store's tool, one after the other. The inputs
// are made for a random note of it.
func callTool(op operation, inputs func(g *ground, note int) [][]byte) trial {
	return func(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
		tool, _, err := g.tool(ctx, rng)
		if err != nil {
			return nil, err
		}
		var all []took
		for _, in := range inputs(g, rng.IntN(g.notes)) {
			t, err := clock(op, func() error { return runTool(ctx, tool, in) })
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
		return all, nil
	}
}

func runTool(ctx context.Context, tool *memento.Tool, in []byte) error {
	if r := tool.Run(ctx, in); r.IsError {
		return fmt.Errorf("memento refused %.200s: %s", in, r.Content)
	}
	return nil
}

// line writes the input of a call.
func line(in input) []byte {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // a struct of strings
	}
	return text
}

var (
	tryView = callTool(viewFile, func(_ *ground, note int) [][]byte { return [][]byte{viewLine(notePath(note))} })
	tryList = callTool(list, func(_ *ground, note int) [][]byte { return [][]byte{viewLine(noteDirectory(note))} })

	tryReplace = callTool(strReplace, func(_ *ground, note int) [][]byte {
		path := notePath(note)
		return [][]byte{replaceLine(path, statePending, stateDone), replaceLine(path, stateDone, statePending)}
	})
	tryRename = callTool(rename, func(g *ground, note int) [][]byte {
		path, moved := notePath(note), noteDirectory(note)+"/moved.md"
		return [][]byte{line(input{Command: "rename", OldPath: path, NewPath: moved}), line(input{Command: "rename", OldPath: moved, NewPath: path})}
	})
)

// tryCreate makes a note, and deletes it again.
func tryCreate(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
	tool, _, err := g.tool(ctx, rng)
	if err != nil {
		return nil, err
	}
	g.made++
	path, text := fmt.Sprintf("%s/fresh-%d.md", noteDirectory(rng.IntN(g.notes)), g.made), newNote(rng, "fresh")
	made, err := clock(create, func() error { return runTool(ctx, tool, line(input{Command: "create", Path: path, FileText: &text})) })
	if err != nil {
		return nil, err
	}
	gone, err := clock(remove, func() error { return runTool(ctx, tool, line(input{Command: "delete", Path: path})) })
	return []took{made, gone}, err
}

// trySearch looks for what only one note holds.
func trySearch(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
	if _, searches := g.backend.(memento.Searcher); !searches {
		return nil, nil
	}
	_, store, err := g.tool(ctx, rng)
	if err != nil {
		return nil, err
	}
	query := memento.SearchOptions{Query: noteTitle(rng.IntN(g.notes))}
	t, err := clock(search, func() error {
		found, err := store.Search(ctx, query)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%q is found %d times", query.Query, len(found))
		}
		return err
	})
	return []took{t}, err
}

// tryOpen opens the place once more, and views a note: what a new process does.
func tryOpen(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
	t, err := clock(openFresh, func() error {
		backend, err := g.engine.open(ctx, g.place)
		if err != nil {
			return err
		}
		fresh := *g
		fresh.backend, fresh.touched = backend, map[memento.StoreID]bool{}
		tool, _, err := fresh.tool(ctx, rng)
		if err == nil {
			err = runTool(ctx, tool, viewLine(notePath(rng.IntN(g.notes))))
		}
		return errors.Join(err, backend.Close())
	})
	return []took{t}, err
}

func tryGetStore(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
	id := g.stores[rng.IntN(len(g.stores))]
	t, err := clock(getStore, func() error {
		_, err := g.backend.GetStore(ctx, memento.DefaultWorkspace, id)
		return err
	})
	return []took{t}, err
}

func tryListStores(ctx context.Context, g *ground, _ *rand.Rand) ([]took, error) {
	t, err := clock(listStores, func() error {
		n := 0
		for _, err := range g.backend.ListStores(ctx, g.paged, memento.StoreListOptions{Limit: pageOfStores}) {
			if err != nil {
				return err
			}
			n++
		}
		if n != pageOfStores {
			return fmt.Errorf("a page has %d stores", n)
		}
		return nil
	})
	return []took{t}, err
}

func tryFindStore(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
	i := rng.IntN(len(g.stores))
	t, err := clock(findStore, func() error {
		id, err := memento.OpenNamed(g.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: storeName(i)}, nil).ID(ctx)
		if err == nil && id != g.stores[i] {
			err = fmt.Errorf("%s is %s", storeName(i), id)
		}
		return err
	})
	return []took{t}, err
}

// tryCreateStore makes a store, puts notes into it and deletes it again.
func tryCreateStore(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error) {
	g.made++
	var info memento.StoreInfo
	made, err := clock(createStore, func() (err error) {
		spec := memento.StoreSpec{Name: fmt.Sprintf("fresh %d", g.made), UniqueName: true}
		info, err = g.backend.CreateStore(ctx, memento.DefaultWorkspace, spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	var notes []memento.Change
	for i := range storeNotes {
		notes = append(notes, memento.Put{Path: memento.Path(fmt.Sprintf("/fresh-%d.md", i)), Content: newNote(rng, "fresh")})
	}
	if _, err := g.backend.Apply(ctx, info.ID, memento.Actor{}, notes); err != nil {
		return nil, err
	}
	if s, searches := g.backend.(memento.Searcher); searches {
		if _, err := s.Search(ctx, info.ID, memento.SearchOptions{Query: "fresh"}); err != nil {
			return nil, err
		}
	}
	gone, err := clock(deleteStore, func() error { return g.backend.DeleteStore(ctx, memento.DefaultWorkspace, info.ID) })
	return []took{made, gone}, err
}
