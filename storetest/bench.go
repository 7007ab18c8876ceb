package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"memento"
)

// Benchmark measures a backend with small and large stores, and with one caller
// and many. Compare backends and commits with benchstat.
func Benchmark(b *testing.B, h Harness) {
	for _, memories := range []int{20, 10_000} {
		b.Run(fmt.Sprintf("memories=%d", memories), func(b *testing.B) {
			e := newBench(b, h, memories)
			e.run(b, "Get", (*caller).get)
			e.run(b, "List", (*caller).list)
			e.run(b, "CreateAndRemove", (*caller).createAndRemove)
			e.run(b, "Update", (*caller).update)
			e.run(b, "Edit", (*caller).edit)
			e.run(b, "Move", (*caller).move)
			if h.Searcher {
				e.run(b, "Search", (*caller).search)
			}
		})
	}
}

// A bench is a store of many memories of 2 kB, 50 in a directory.
type bench struct {
	*env
	docs     *memento.Store
	memories int
	callers  atomic.Int64
}

func newBench(b *testing.B, h Harness, memories int) *bench {
	e := &bench{env: newEnv(b, h), memories: memories}
	e.docs = e.env.docs(e.b)
	e.setLimits(memento.Limits{Memories: 1 << 40, Bytes: 1 << 50})
	changes := make([]memento.Change, memories)
	for i := range changes {
		changes[i] = memento.Put{Path: e.path(i), Content: note(i)}
	}
	e.apply(changes...)
	return e
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
	b.Run(name+"/serial", func(b *testing.B) {
		c := e.newCaller()
		for b.Loop() {
			c.do(b, op)
		}
		c.leave()
	})
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

func (c *caller) get() error {
	_, err := c.docs.Get(c.Context(), memento.ByPath(c.path(c.n*31)))
	return err
}

func (c *caller) list() error {
	return firstError(c.docs.List(c.Context(), memento.ListOptions{Depth: 2}))
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
