package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"memento"
	"memento/backend/storetest"
)

const (
	numClients = 5
	numClerks  = 2
	arenaCalls = 25 // of each client
)

// run plays rounds. start makes a cluster, and the faults for it.
func run(t *testing.T, start func(t *testing.T) (*cluster, deck)) {
	for n := range *rounds {
		s := *seed + uint64(n)
		t.Run(fmt.Sprint("seed ", s), func(t *testing.T) {
			c, d := start(t)
			times := 1
			if *long {
				times = 5
			}
			random := rand.New(rand.NewPCG(s, 0))
			c.round(t, s, d.shuffled(random, times), random)
		})
	}
}

// round lets clients work while faults happen, and checks the result.
func (c *cluster) round(t *testing.T, seed uint64, cards []func(*rand.Rand) fault, random *rand.Rand) {
	ctx := t.Context()
	c.put(ctx, ledgerPath, "top\n")
	h := newRecording()
	var over atomic.Bool
	var working sync.WaitGroup
	for i := range numClients {
		k := &client{number: i, c: c, h: h, direct: i%2 == 0, random: rand.New(rand.NewPCG(seed, uint64(i+1)))}
		working.Go(func() {
			for n := 0; !over.Load(); n++ {
				k.work(ctx, n, arenaCalls)
			}
		})
	}
	clerks := make([]*clerk, numClerks)
	for i := range clerks {
		clerks[i] = &clerk{name: fmt.Sprint("clerk", i), c: c, h: h, random: rand.New(rand.NewPCG(seed, uint64(100+i)))}
		working.Go(func() { clerks[i].work(ctx, &over) })
	}
	w := &watcher{c: c}
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { w.work(watching) })
	defer watched.Wait()
	defer stop()
	func() {
		defer working.Wait()
		defer over.Store(true)
		c.strike(t, h, random, cards)
	}()
	e, problems := c.evidence(ctx, h, clerks)
	v := &verdict{}
	if e != nil {
		v = e.check()
		problems = append(problems, w.audit(e.versions)...)
	}
	stop()
	watched.Wait()
	problems = append(problems, v.problems...)
	problems = append(problems, h.nonsense...)
	c.report(seed, h, e, v, problems)
	// A server that is asked to end waits for connections that were never used.
	c.client.CloseIdleConnections()
	for _, b := range slices.Concat(c.handles, c.fronted) {
		b.Close()
	}
	for _, s := range c.servers {
		if err := s.stop(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if said := s.crashed(); said != "" {
			t.Errorf("seed %d: %s", seed, said)
		}
	}
}

// evidence reads the final state through all servers, once no call is under way.
func (c *cluster) evidence(ctx context.Context, h *recording, clerks []*clerk) (e *evidence, problems []string) {
	arenas := 0
	for _, r := range h.records {
		arenas = max(arenas, r.Op.Arena+1)
	}
	e = &evidence{records: h.records, readAt: h.now(), limit: 20 * time.Second, others: func(id string) bool {
		return !strings.HasPrefix(id, "op-") // the ledger, and what was there before
	}}
	// A server may still be working for a client that has given up. After a moment, all
	// servers show the same.
	for end := time.Now().Add(recovery); ; time.Sleep(50 * time.Millisecond) {
		var shown, says []string
		for i := range c.servers {
			state, ledger, versions, err := c.read(ctx, i, arenas)
			if err != nil {
				says = append(says, fmt.Sprintf("server %d: %v", i, err))
				continue
			}
			says = append(says, fmt.Sprintf("server %d: %d arenas, %d versions", i, len(state), len(versions)))
			e.final, e.versions = state, versions
			text, _ := json.Marshal([]any{state, ledger, versions})
			shown = append(shown, string(text))
			if i == 0 {
				problems = auditLedger(ledger, clerks)
			}
		}
		if len(shown) == len(c.servers) && len(slices.Compact(shown)) == 1 {
			break
		}
		if time.Now().After(end) {
			return nil, append(problems, fmt.Sprintf("servers do not come to show the same: %q", says))
		}
	}
	e.readAt = h.now()
	for i, b := range c.handles {
		info, err := b.GetStore(ctx, memento.DefaultWorkspace, c.store)
		if err != nil {
			problems = append(problems, fmt.Sprintf("server %d: %v", i, err))
			continue
		}
		storetest.Audit(c.t, b, info)
	}
	return e, problems
}

// read reads everything that a server shows.
func (c *cluster) read(ctx context.Context, server, arenas int) (states map[int]arena, ledger string, versions []memento.Version, err error) {
	b := c.handles[server]
	states = map[int]arena{}
	for e, err := range b.List(ctx, c.store, memento.ListOptions{Contents: true}) {
		if err != nil {
			return nil, "", nil, err
		}
		n, cell, ok := cellAt(e.Path)
		switch {
		case e.Path == ledgerPath:
			ledger = e.Memory.Content
		case !ok || n >= arenas:
			return nil, "", nil, fmt.Errorf("the listing has %s", e.Path)
		default:
			s := states[n]
			s[cell] = shorten(e.Memory.Content)
			states[n] = s
		}
	}
	for v, err := range b.ListVersions(ctx, c.store, memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			return nil, "", nil, err
		}
		versions = append(versions, v)
	}
	return states, ledger, versions, nil
}

// report logs what happened, and keeps all of it in a folder if something is wrong.
func (c *cluster) report(seed uint64, h *recording, e *evidence, v *verdict, problems []string) {
	count := map[string]int{}
	for _, r := range h.records {
		switch {
		case r.Fate == done && r.Result.Refused != "":
			count["refused"]++
		case r.Fate != done && r.Op.reads():
			count["unread"]++
		default:
			count[string(r.Fate)]++
		}
	}
	c.t.Logf("seed %d: %d calls: %d done, %d refused, %d failed, %d reads without an answer, %d of unknown fate, of which %d took effect; %d faults",
		seed, len(h.records), count["done"], count["refused"], count["failed"], count["unread"], count["unknown"], v.happened, len(c.events))
	if testing.Verbose() {
		c.t.Logf("faults:\n%s", strings.Join(c.events, "\n"))
	}
	if len(problems) == 0 && !c.t.Failed() {
		return
	}
	const most = 12
	shown := strings.Join(problems[:min(most, len(problems))], "\n")
	c.t.Errorf("seed %d: %d problems; calls, versions and logs are in %s:\n%s", seed, len(problems), c.dir, shown)
	c.leave("problems.txt", []byte(strings.Join(problems, "\n")+"\n"))
	c.leave("faults.txt", []byte(strings.Join(c.events, "\n")+"\n"))
	var calls strings.Builder
	slices.SortFunc(h.records, func(a, b record) int { return int(a.Call - b.Call) })
	for _, r := range h.records {
		fmt.Fprintln(&calls, r)
	}
	c.leave("calls.txt", []byte(calls.String()))
	text, _ := json.Marshal(h.records)
	c.leave("calls.json", text)
	if e != nil {
		text, _ = json.MarshalIndent(e.versions, "", "\t")
		c.leave("versions.json", text)
	}
	for n, info := range v.illegal {
		if err := porcupine.VisualizePath(model, info, filepath.Join(c.dir, fmt.Sprintf("arena%03d.html", n))); err != nil {
			c.t.Log(err)
		}
	}
}

func (c *cluster) leave(name string, text []byte) {
	if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
		c.t.Error(err)
	}
}
