package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// flatness is what single calls cost in a large store or workspace, beside a small one.
type flatness struct {
	Memories [2]int     `json:"memories"` // of the small store and the large
	Stores   [2]int     `json:"stores"`   // of the small workspace and the large
	Calls    []flatCall `json:"calls"`
}

// A flatCall is what a single call costs, in microseconds: the medians.
type flatCall struct {
	Engine    engineName `json:"engine"`
	Of        string     `json:"of"` // ofMemories or ofStores
	Operation operation  `json:"operation"`
	Small     float64    `json:"small_micros"`
	Large     float64    `json:"large_micros"`
}

const (
	ofMemories = "memories"
	ofStores   = "stores"
)

// What is called besides the operations of the other parts.
const (
	list        operation = "view a directory of 100"
	search      operation = "search"
	getStore    operation = "get a store"
	listStores  operation = "list a page of 20 stores"
	findStore   operation = "find a store by name"
	createStore operation = "create a store"
	deleteStore operation = "delete a store of 10"
	openFresh   operation = "open the backend, view a file"
)

// targetFlat is how many times dearer a call may be.
const targetFlat = 2.0

// free reports whether nothing is asked of the operation: a search is as dear as
// the words it has are frequent, and a backend is opened once.
func (c flatCall) free() bool {
	return c.Operation == search || c.Operation == openFresh && c.Of == ofMemories
}

func (c flatCall) ratio() float64 { return c.Large / c.Small }

// Small is this many memories.
const (
	smallStore     = 100
	smallWorkspace = 1
	pageOfStores   = 20
	storeNotes     = 10 // notes in each store of a workspace
)

// A trial is an operation on one side, with a random store and note. It may have to
// undo what it did, which is another operation then.
type trial func(ctx context.Context, g *ground, rng *rand.Rand) ([]took, error)

// took is how long an operation took.
type took struct {
	op   operation
	time time.Duration
}

// measureFlatness compares small and large in all engines.
func (b *bench) measureFlatness(ctx context.Context) (*flatness, error) {
	f := &flatness{Memories: [2]int{smallStore, b.memories}, Stores: [2]int{smallWorkspace, b.stores}}
	for _, name := range b.engines {
		fmt.Fprintf(b.progress, "%s: large stores and workspaces beside small ones\n", name)
		calls, err := b.flatMemories(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s, a large store: %w", name, err)
		}
		more, err := b.flatStores(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s, a large workspace: %w", name, err)
		}
		for _, c := range append(calls, more...) {
			c.Engine = name
			f.Calls = append(f.Calls, c)
			fmt.Fprintf(b.progress, "  %s: %s: %s\n", c.Of, c.Operation, c.cell())
		}
	}
	return f, nil
}

// trialTime bounds the trials of a turn, of which there are at least three.
const trialTime = 2 * time.Second

// trials is how often each is called in a round.
func (b *bench) trials() int {
	if b.quick {
		return 3
	}
	return 100
}

// compareTrials has both sides make the same calls, one at a time, and in turns
// of as many as trials says.
func (b *bench) compareTrials(ctx context.Context, of string, small, large *ground, trials ...trial) ([]flatCall, error) {
	sides := [2]*ground{small, large}
	micros := [2]map[operation][]float64{{}, {}}
	var ops []operation
	rng := rand.New(rand.NewPCG(b.seed, 2))
	for round := range b.rounds + 1 {
		for n, trial := range trials {
			for turn := range sides {
				side := (round + n + turn) % len(sides) // nobody always goes first
				syncDisk()
				start := time.Now()
				for i := 0; i < b.trials() && (i < 3 || time.Since(start) < trialTime); i++ {
					all, err := trial(ctx, sides[side], rng)
					if err != nil {
						return nil, err
					}
					for _, took := range all {
						if !slices.Contains(ops, took.op) {
							ops = append(ops, took.op)
						}
						if round > 0 { // the first warms up
							micros[side][took.op] = append(micros[side][took.op], float64(took.time.Nanoseconds())/1000)
						}
					}
				}
				if err := sides[side].settle(ctx); err != nil {
					return nil, err
				}
			}
		}
	}
	var calls []flatCall
	for _, op := range ops {
		calls = append(calls, flatCall{Of: of, Operation: op, Small: median(micros[0][op]), Large: median(micros[1][op])})
	}
	return calls, nil
}
