package storetest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/test/leaks"
	"memento/test/needs"
	"memento/test/proctest"
)

// A task is what a child process is to do in a store.
type task struct {
	Kind  string // insert, write or keys
	Dir   string
	Store memento.StoreID
	Name  string // of the child, unique
}

// Main is the TestMain of a backend's tests. It runs them, after h.Start, and checks that
// no goroutine outlives them. In the child processes that tests of shared backends start
// from the test binary, it runs their task.
func Main(m *testing.M, h Harness) {
	proctest.Main(func(t task) error { return t.run(h) })
	h.verify(m)
}

// verify runs the tests and exits.
func (h Harness) verify(m *testing.M) {
	stop := func() {}
	if h.Start != nil {
		var err error
		if stop, err = h.Start(context.Background()); needs.LeftOut(err) {
			os.Exit(needs.LeaveOut(m, err))
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	leaks.Main(m, stop)
}

const (
	childCallers = 4
	childInserts = 5 // by each caller
)

func (t task) run(h Harness) error {
	ctx := context.Background()
	b, err := h.Open(ctx, t.Dir)
	if err != nil {
		return err
	}
	if t.Kind == "keys" {
		return t.addKeys(ctx, b.(apikey.Keeper))
	}
	s, err := memento.OpenStore(ctx, b, workspace, t.Store, nil)
	if err != nil {
		return err
	}
	work := t.insert
	if t.Kind == "write" {
		work = t.write
	}
	errs := make(chan error, childCallers)
	for i := range childCallers {
		go func() { errs <- work(ctx, s, i) }()
	}
	for range childCallers {
		if err := <-errs; err != nil {
			return err
		}
	}
	return b.Close()
}

// insert adds lines to one memory, and prints each once it is acknowledged.
func (t task) insert(ctx context.Context, s *memento.Store, caller int) error {
	for i := range childInserts {
		line := fmt.Sprintf("%s caller %d line %d", t.Name, caller, i)
		_, err := s.Edit(ctx, memento.Actor{Kind: memento.ActorUser, ID: t.Name}, "/log", func(old string) (string, error) { return old + line + "\n", nil })
		if err != nil {
			return err
		}
		fmt.Println(line)
	}
	return nil
}

// write changes memories in all ways until it is killed, and prints the acknowledged
// versions.
func (t task) write(ctx context.Context, s *memento.Store, caller int) error {
	by := memento.Actor{Kind: memento.ActorUser, ID: t.Name}
	apply := func(changes ...memento.Change) error {
		done, err := s.Apply(ctx, by, changes...)
		if err != nil {
			return err
		}
		var ids strings.Builder
		for _, v := range done.Versions {
			ids.WriteString(string(v.ID) + " ")
		}
		_, err = fmt.Println(ids.String()) // one write, so that callers do not mix
		return err
	}
	own := memento.Path(fmt.Sprintf("/caller%d", caller))
	for i := 0; ; i++ {
		text := fmt.Sprintf("%s round %d\n%s", t.Name, i, strings.Repeat("filler ", i%50))
		dir, edited := own.Join(fmt.Sprint(i%3)), text+"edited"
		var err error
		for _, changes := range [][]memento.Change{
			{memento.Put{Path: own.Join("stays"), Content: text}},
			{memento.Move{From: own.Join("stays"), To: own.Join("goes"), Content: &edited}},
			{memento.Move{From: own.Join("goes"), To: own.Join("stays")}},
			{memento.Put{Path: dir.Join("a"), Content: text}, memento.Put{Path: dir.Join("b"), Content: text}},
			{memento.Put{Path: dir.Join("a"), Content: edited}},
			{memento.Move{From: dir, To: own.Join("moved")}},
			{memento.Remove{Path: own.Join("moved")}},
		} {
			if err == nil {
				err = apply(changes...)
			}
		}
		if err != nil {
			return err
		}
	}
}
