package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"memento"
)

// Benchmark measures a backend: one store with few, many and very many memories, and a
// workspace with one store and with many. Each operation has a serial benchmark, with one
// caller, and a parallel one with 16 callers for each processor. Compare backends, sizes
// and commits with benchstat. The largest sizes take minutes to fill; -short leaves them out.
func Benchmark(b *testing.B, h Harness) {
	for _, memories := range sizes(20, 10_000, 100_000) {
		b.Run(fmt.Sprintf("memories=%d", memories), func(b *testing.B) {
			e := newBench(b, h, memories)
			e.run(b, "Get", (*caller).get)
			e.run(b, "List", (*caller).list)
			e.run(b, "ListDirectory", (*caller).listDirectory)
			e.run(b, "CreateAndRemove", (*caller).createAndRemove)
			e.run(b, "Update", (*caller).update)
			e.run(b, "Edit", (*caller).edit)
			e.run(b, "Move", (*caller).move)
			if h.Searcher {
				e.run(b, "Search", (*caller).search)
				e.run(b, "SearchOne", (*caller).searchOne)
			}
			if h.Persistent {
				e.runSerial(b, "Open", (*caller).openAndGet)
			}
		})
	}
	for _, stores := range sizes(1, 10_000) {
		b.Run(fmt.Sprintf("stores=%d", stores), func(b *testing.B) {
			e := newWorkspaceBench(b, h, stores)
			e.run(b, "GetStore", (*caller).getStore)
			e.run(b, "FindStore", (*caller).findStore)
			e.run(b, "ListStores", (*caller).listStores)
			e.run(b, "CreateAndDeleteStore", (*caller).createAndDeleteStore)
			e.run(b, "Get", (*caller).getAny)
			e.run(b, "Update", (*caller).updateAny)
			if h.Persistent {
				e.runSerial(b, "Open", (*caller).openAndGet)
			}
		})
	}
}

// sizes leaves out the last size in short runs.
func sizes(all ...int) []int {
	if testing.Short() {
		return all[:len(all)-1]
	}
	return all
}

// A bench is one or more stores with memories of 2 kB, 50 in a directory.
type bench struct {
	*env
	docs     *memento.Store // the first store
	stores   []memento.StoreID
	memories int // in each store
	callers  atomic.Int64
}

// newBench creates one store.
func newBench(b *testing.B, h Harness, memories int) *bench {
	e := &bench{env: newEnv(b, h), memories: memories}
	e.docs, e.stores = e.env.docs(e.b), []memento.StoreID{e.store}
	e.setLimits(memento.Limits{Memories: 1 << 40, Bytes: 1 << 50})
	e.fillStore(e.store)
	return e
}

// newWorkspaceBench creates stores of ten memories.
func newWorkspaceBench(b *testing.B, h Harness, stores int) *bench {
	e := &bench{env: newEnv(b, h), memories: 10}
	e.docs, e.stores = e.env.docs(e.b), []memento.StoreID{e.store}
	for i := 1; i < stores; i++ {
		e.stores = append(e.stores, e.newStore(memento.StoreSpec{Name: storeName(i)}))
	}
	for _, id := range e.stores {
		e.fillStore(id)
	}
	return e
}

// storeName returns the name of the store with a number. The name of the first is newEnv's.
func storeName(i int) string {
	if i == 0 {
		return "test"
	}
	return fmt.Sprintf("store %d", i)
}

func (e *bench) fillStore(id memento.StoreID) {
	const batch = 1000
	for from := 0; from < e.memories; from += batch {
		var changes []memento.Change
		for i := from; i < min(from+batch, e.memories); i++ {
			changes = append(changes, memento.Put{Path: e.path(i), Content: note(i)})
		}
		if _, err := e.b.Apply(e.Context(), id, e.by, changes); err != nil {
			e.Fatal(err)
		}
	}
}

// note returns the text of a note of 2 kB. One in 97 has the needle.
func note(i int) string {
	text := fmt.Sprintf("# Note %d\n\n", i)
	if i%97 == 0 {
		text += "Here is the needle.\n"
	}
	return text + strings.Repeat("- Prefers short answers, with examples and no preamble.\n", 35)
}

func (e *bench) path(i int) memento.Path {
	i %= e.memories
	return memento.Path(fmt.Sprintf("/dir%03d/note%05d.md", i/50, i))
}

// run measures op with one caller, and with 16 for each processor.
func (e *bench) run(b *testing.B, name string, op func(*caller) error) {
	e.runSerial(b, name, op)
	b.Run(name+"/parallel", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			c := e.newCaller()
			for pb.Next() {
				c.do(b, op)
			}
			c.leave()
		})
	})
}

// runSerial measures op with one caller.
func (e *bench) runSerial(b *testing.B, name string, op func(*caller) error) {
	b.Run(name+"/serial", func(b *testing.B) {
		c := e.newCaller()
		for b.Loop() {
			c.do(b, op)
		}
		c.leave()
	})
}

// A caller works on a memory of its own, so that callers never conflict and the
// store keeps its size.
type caller struct {
	*bench
	own  memento.Path
	name string // of own, at first
	n    int    // calls so far
}

func (e *bench) newCaller() *caller {
	name := fmt.Sprintf("%d.md", e.callers.Add(1))
	c := &caller{bench: e, name: name, own: memento.Path("/own/" + name)}
	if err := e.try(memento.Put{Path: c.own, Content: note(0)}); err != nil {
		e.Error(err)
	}
	return c
}

func (c *caller) leave() {
	if err := c.try(memento.Remove{Path: c.own}); err != nil {
		c.Error(err)
	}
}

func (c *caller) do(b *testing.B, op func(*caller) error) {
	c.n++
	if err := op(c); err != nil {
		b.Error(err)
	}
}

// pick returns the number of a store, another one at each call.
func (c *caller) pick() int { return c.n * 31 % len(c.stores) }

func (c *caller) get() error {
	_, err := c.docs.Get(c.Context(), memento.ByPath(c.path(c.n*31)))
	return err
}

// getAny reads a memory of any store.
func (c *caller) getAny() error {
	_, err := c.b.Get(c.Context(), c.stores[c.pick()], memento.ByPath(c.path(c.n*31)))
	return err
}

// openAndGet opens the backend again and reads a memory, as a new process does.
func (c *caller) openAndGet() error {
	b, err := c.h.Open(c.Context(), c.dir)
	if err != nil {
		return err
	}
	_, err = b.Get(c.Context(), c.stores[c.pick()], memento.ByPath(c.path(c.n*31)))
	return errors.Join(err, b.Close())
}

func (c *caller) list() error {
	return firstError(c.docs.List(c.Context(), memento.ListOptions{Depth: 2}))
}

func (c *caller) listDirectory() error {
	return firstError(c.docs.List(c.Context(), memento.ListOptions{Dir: c.path(c.n * 31).Parent(), Depth: 1}))
}

func (c *caller) createAndRemove() error {
	p := memento.Path(fmt.Sprintf("%s-%d", c.own, c.n))
	if err := c.try(memento.Put{Path: p, Content: note(c.n), If: memento.IfAbsent()}); err != nil {
		return err
	}
	return c.try(memento.Remove{Path: p})
}

func (c *caller) update() error {
	return c.try(memento.Put{Path: c.own, Content: note(c.n)})
}

func (c *caller) edit() error {
	_, err := c.docs.Edit(c.Context(), c.by, c.own, func(string) (string, error) { return note(c.n), nil })
	return err
}

func (c *caller) move() error {
	to := memento.Path(fmt.Sprintf("/own/moved/%d-%s", c.n, c.name))
	err := c.try(memento.Move{From: c.own, To: to})
	if err == nil {
		c.own = to
	}
	return err
}

func (c *caller) search() error {
	_, err := c.b.(memento.Searcher).Search(c.Context(), c.store, memento.SearchOptions{Query: "needle here"})
	return err
}

// searchOne searches for a word that one note has.
func (c *caller) searchOne() error {
	i := c.n * 31 % c.memories
	_, err := c.b.(memento.Searcher).Search(c.Context(), c.store, memento.SearchOptions{Query: fmt.Sprint(i)})
	return err
}

func (c *caller) getStore() error {
	_, err := c.b.GetStore(c.Context(), workspace, c.stores[c.pick()])
	return err
}

func (c *caller) findStore() error {
	i := c.pick()
	id, err := memento.OpenNamed(c.b, workspace, memento.StoreSpec{Name: storeName(i)}, nil).ID(c.Context())
	if err == nil && id != c.stores[i] {
		err = fmt.Errorf("store %d has the ID %s, want %s", i, id, c.stores[i])
	}
	return err
}

// listStores lists one page.
func (c *caller) listStores() error {
	return firstError(c.b.ListStores(c.Context(), workspace, memento.StoreListOptions{Limit: 20}))
}

func (c *caller) createAndDeleteStore() error {
	info, err := c.b.CreateStore(c.Context(), workspace, memento.StoreSpec{Name: fmt.Sprintf("new %s %d", c.name, c.n), UniqueName: true, Settings: unmasked()})
	if err == nil {
		err = c.b.DeleteStore(c.Context(), workspace, info.ID)
	}
	return err
}

// updateAny writes a memory of any store.
func (c *caller) updateAny() error {
	_, err := c.b.Apply(c.Context(), c.stores[c.pick()], c.by, []memento.Change{memento.Put{Path: c.path(c.n * 31), Content: note(c.n)}})
	return err
}
