package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/test/longtest"
	"memento/test/proctest"
	"memento/test/race"
)

// crash tests a backend that several processes share and in which processes may die.
func crash(t *testing.T, h Harness) {
	if !h.Shared {
		return // nothing promised
	}
	t.Run("processes", func(t *testing.T) { processes(newEnv(t, h)) })
	t.Run("killed", func(t *testing.T) { killed(newEnv(t, h)) })
	if h.KeyKeeper {
		t.Run("keys", func(t *testing.T) { keysOfTheKilled(newEnv(t, h)) })
	}
}

// processes has several child processes insert into one memory.
func processes(e *env) {
	const children = 4
	e.put("/log", "")
	acknowledged := make([][]string, children)
	var wg sync.WaitGroup
	for i := range children {
		c := proctest.Start(e, task{Kind: "insert", Dir: e.dir, Store: e.store, Name: fmt.Sprint("child ", i)})
		wg.Go(func() {
			for c.Lines.Scan() {
				acknowledged[i] = append(acknowledged[i], c.Lines.Text())
			}
			if err := c.Wait(); err != nil {
				e.Errorf("child %d: %v: %s", i, err, c.Errs.String())
			}
		})
	}
	wg.Wait()
	text := e.get("/log").Content
	lines := 0
	for i, own := range acknowledged {
		lines += len(own)
		if len(own) != childCallers*childInserts {
			e.Errorf("child %d had %d lines acknowledged", i, len(own))
		}
		for _, line := range own {
			if strings.Count(text, line+"\n") != 1 {
				e.Errorf("%q was acknowledged, but is there %d times", line, strings.Count(text, line+"\n"))
			}
		}
	}
	e.explained("/log", lines)
	e.audit()
}

// killed kills a writing process, many times. What it had acknowledged must be there,
// and the store must be consistent.
func killed(e *env) {
	kills := race.Scaled(longtest.Scaled(20, 50), 10)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range kills {
		// The child is the only process with the data, which must be intact for the next one.
		if err := e.b.Close(); err != nil {
			e.Fatal(err)
		}
		c := proctest.Start(e, task{Kind: "write", Dir: e.dir, Store: e.store, Name: fmt.Sprint("child ", n)})
		var acknowledged []string
		for range 1 + r.IntN(60) {
			if !c.Lines.Scan() {
				break
			}
			acknowledged = append(acknowledged, strings.Fields(c.Lines.Text())...)
		}
		time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
		if err := c.Process.Kill(); err != nil {
			e.Fatal(err)
		}
		for c.Lines.Scan() { // its output before it was killed
			acknowledged = append(acknowledged, strings.Fields(c.Lines.Text())...)
		}
		c.Wait()
		if c.Errs.String() != "" {
			e.Fatalf("child %d failed by itself: %s", n, c.Errs.String())
		}
		if len(acknowledged) == 0 {
			e.Fatalf("child %d wrote nothing: %s", n, c.Errs.String())
		}

		e.b = e.open()
		for _, id := range acknowledged {
			if _, err := e.b.GetVersion(e.Context(), e.store, memento.VersionID(id)); err != nil {
				e.Errorf("kill %d: version %s was acknowledged: %v", n, id, err)
			}
		}
		if e.paired(); n%10 == 9 {
			e.audit()
		}
		// The next child starts with no memories, and the same history.
		for i := range childCallers {
			e.b.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Remove{Path: memento.Path(fmt.Sprintf("/caller%d", i))}})
		}
		if e.Failed() {
			return
		}
	}
}

// paired checks that memories written by one Apply are there together.
func (e *env) paired() {
	e.Helper()
	entries, reported := e.settled()
	var usage memento.Usage
	pairs := map[memento.Path]int{}
	for _, x := range entries {
		usage.Memories++
		usage.Bytes += int64(len(x.Memory.Content))
		if x.Memory.SHA256 != memento.HashContent(x.Memory.Content) {
			e.Errorf("%s is torn", x.Path)
		}
		if v := e.version(x.Memory.Version); v.Content != x.Memory.Content || v.Path != x.Path {
			e.Errorf("%s is not as its newest version", x.Path)
		}
		if base := x.Path.Base(); base == "a" || base == "b" {
			pairs[x.Path.Parent()]++
		}
	}
	for dir, n := range pairs {
		if n != 2 {
			e.Errorf("%s has only one memory of the pair", dir)
		}
	}
	if reported != usage {
		e.Errorf("usage is %+v, but memories add up to %+v", reported, usage)
	}
}

// settled returns the memories and the usage at one moment. A server can still execute
// requests of a process after it was killed.
func (e *env) settled() ([]memento.Entry, memento.Usage) {
	e.Helper()
	for before := e.info().Usage; ; {
		entries, after := e.list(memento.ListOptions{Contents: true}), e.info().Usage
		if after == before {
			return entries, after
		}
		before = after
	}
}
