package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"memento"
)

// linear records the results of concurrent calls, and checks that the history is
// linearizable: one call after another could have the same results.
func linear(t *testing.T, h Harness) {
	for round := range 6 {
		h.run(t, fmt.Sprint("history ", round), func(e *env) { linearHistory(e, uint64(round)) })
	}
}

// cells are the contents of the memories in the model: a number each, 0 if there is no memory.
type cells [4]int

// place returns the path of a cell. Two cells are in each of two directories.
func place(cell int) memento.Path { return cellDir(cell / 2).Join(strconv.Itoa(cell % 2)) }

func cellDir(n int) memento.Path { return [...]memento.Path{"/d", "/e"}[n] }

type call struct {
	kind     string // get, list, put, absent, if, remove, move, rewrite (a move with contents) or move dir
	from, to int    // cells, or directories for "move dir"
	value    int    // to put
	old      int    // that "if" expects
}

type answer struct {
	cells cells  // of list; of get, the first is what it got
	err   string // "", or the name of an error
}

// step returns the cells after a call, and its answer.
func (c call) step(s cells) (cells, answer) {
	switch c.kind {
	case "get":
		return s, answer{cells: cells{s[c.from]}}
	case "list":
		return s, answer{cells: s}
	case "absent":
		if s[c.from] != 0 {
			return s, answer{err: "exist"}
		}
	case "if":
		if s[c.from] != c.old {
			return s, answer{err: "conflict"}
		}
	case "remove":
		if s[c.from] == 0 {
			return s, answer{err: "missing"}
		}
	case "move", "rewrite":
		switch {
		case s[c.from] == 0:
			return s, answer{err: "missing"}
		case s[c.to] != 0:
			return s, answer{err: "exist"}
		}
		s[c.to], s[c.from] = s[c.from], 0
		if c.kind == "rewrite" {
			s[c.to] = c.value
		}
		return s, answer{}
	case "move dir":
		from, to := s[2*c.from:2*c.from+2], s[2*c.to:2*c.to+2]
		switch {
		case from[0]+from[1] == 0:
			return s, answer{err: "missing"}
		case to[0]+to[1] != 0:
			return s, answer{err: "exist"}
		}
		copy(to, from)
		clear(from)
		return s, answer{}
	}
	s[c.from] = c.value
	return s, answer{}
}

// run makes the call on a backend.
func (c call) run(ctx context.Context, b memento.Backend, store memento.StoreID) (answer, error) {
	var change memento.Change
	put := memento.Put{Path: place(c.from % 4), Content: strconv.Itoa(c.value)}
	switch c.kind {
	case "get":
		m, err := b.Get(ctx, store, memento.ByPath(place(c.from)))
		if errors.Is(err, memento.ErrNotExist) {
			return answer{}, nil
		}
		n, _ := strconv.Atoi(m.Content)
		return answer{cells: cells{n}}, err
	case "list":
		var a answer
		for x, err := range b.List(ctx, store, memento.ListOptions{Contents: true}) {
			if err != nil {
				return a, err
			}
			for i := range a.cells {
				if place(i) == x.Path {
					a.cells[i], _ = strconv.Atoi(x.Memory.Content)
				}
			}
		}
		return a, nil
	case "put":
		change = put
	case "absent":
		put.If = memento.IfAbsent()
		change = put
	case "if":
		put.If = memento.IfSHA256(memento.HashContent(strconv.Itoa(c.old)))
		change = put
	case "remove":
		change = memento.Remove{Path: place(c.from)}
	case "move":
		change = memento.Move{From: place(c.from), To: place(c.to)}
	case "rewrite":
		change = memento.Move{From: place(c.from), To: place(c.to), Content: &put.Content}
	case "move dir":
		change = memento.Move{From: cellDir(c.from), To: cellDir(c.to)}
	}
	_, err := b.Apply(ctx, store, memento.Actor{}, []memento.Change{change})
	switch {
	case errors.Is(err, memento.ErrExist):
		return answer{err: "exist"}, nil
	case errors.Is(err, memento.ErrNotExist):
		return answer{err: "missing"}, nil
	case errors.Is(err, memento.ErrConflict):
		return answer{err: "conflict"}, nil
	}
	return answer{}, err
}

// randomCall returns a call with a value that no other call has. seen is a value that the
// caller has read recently.
func randomCall(r *rand.Rand, value, seen int) call {
	kinds := []string{"get", "get", "list", "put", "absent", "if", "if", "remove", "move", "rewrite", "move dir"}
	c := call{kind: kinds[r.IntN(len(kinds))], from: r.IntN(4), value: value, old: max(seen, 1)}
	c.to = (c.from + 1 + r.IntN(3)) % 4
	switch c.kind {
	case "move dir":
		c.from, c.to = c.from%2, 1-c.from%2
	case "remove", "move", "get", "list":
		c.value = 0
	}
	if c.kind != "if" {
		c.old = 0
	}
	return c
}

func linearHistory(e *env, seed uint64) {
	const callers, calls = 5, 40
	handles := []memento.Backend{e.b, e.another()}
	began := time.Now()
	histories := make([][]porcupine.Operation, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			seen := 0
			for j := range calls {
				c := randomCall(r, 1+i*calls+j, seen)
				at := time.Since(began)
				a, err := c.run(e.Context(), handles[i%2], e.store)
				done := time.Since(began)
				if err != nil {
					e.Errorf("%+v: %v", c, err)
					return
				}
				if n := a.cells[r.IntN(4)]; n > 0 {
					seen = n
				}
				histories[i] = append(histories[i], porcupine.Operation{
					ClientId: i, Input: c, Output: a, Call: at.Nanoseconds(), Return: done.Nanoseconds(),
				})
			}
		})
	}
	wg.Wait()
	var ops []porcupine.Operation
	for _, h := range histories {
		ops = append(ops, h...)
	}
	model := porcupine.Model{
		Init: func() any { return cells{} },
		Step: func(state, input, output any) (bool, any) {
			next, want := input.(call).step(state.(cells))
			return want == output.(answer), next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
	}
	if got := porcupine.CheckOperationsTimeout(model, ops, 20*time.Second); got != porcupine.Ok {
		e.Errorf("the history is not linearizable: %s\n%+v", got, ops)
	}
}
