package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"memento"
	"memento/backend/httpstore"
)

// How long clients wait for a response: shorter or longer than servers retry. httpstore
// waits a little longer for the response to a write.
const (
	impatience = 3 * time.Second
	timeout    = 10 * time.Second
)

// A client makes calls, one after the other, to any of the servers.
type client struct {
	number int
	c      *cluster
	h      *recording
	random *rand.Rand
	direct bool  // whether it connects directly, without the fronts
	arena  int   // the arena it works in
	seen   arena // what it last saw there
}

// kinds has the interfaces through which calls are made: httpstore, the memory tool, or
// the requests of the official SDKs.
var kinds = []struct {
	kind string
	via  []string
}{
	{"get", []string{"httpstore", "sdk"}},
	{"get", []string{"httpstore"}},
	{"view", []string{"tool"}},
	{"list", []string{"httpstore"}},
	{"list", []string{"httpstore"}},
	{"put", []string{"httpstore"}},
	{"create", []string{"httpstore", "tool", "sdk"}},
	{"create", []string{"tool"}},
	{"if", []string{"httpstore"}},
	{"if", []string{"httpstore"}},
	{"replace", []string{"tool"}},
	{"replace", []string{"tool"}},
	{"insert", []string{"tool"}},
	{"insert log", []string{"tool"}},
	{"insert log", []string{"tool"}},
	{"remove", []string{"httpstore", "tool"}},
	{"move", []string{"httpstore", "tool"}},
	{"rewrite", []string{"httpstore"}},
	{"pair", []string{"httpstore"}},
	{"remove dir", []string{"tool"}},
	{"move dir", []string{"httpstore", "tool"}},
	{"move dir", []string{"httpstore", "tool"}},
}

// choose returns a call that may conflict with those of other clients.
func (c *client) choose() op {
	r := c.random
	k := kinds[r.IntN(len(kinds))]
	o := op{
		ID: c.h.id(), Arena: c.arena, Kind: k.kind, Via: k.via[r.IntN(len(k.via))],
		Server: r.IntN(len(c.c.servers)), From: r.IntN(logCell),
	}
	o.To = o.From
	switch o.Kind {
	case "insert log":
		o.Kind, o.From, o.To = "insert", logCell, logCell
	case "move", "rewrite", "pair":
		o.To = (o.From + 1 + r.IntN(logCell-1)) % logCell
	case "remove dir":
		o.From %= 2
		o.To = o.From
	case "move dir":
		o.From %= 2
		o.To = 1 - o.From
	case "list":
		o.From, o.To = 0, 0
	case "if", "replace":
		// Prefer contents that were there over a guess.
		for range 4 {
			if c.seen[o.From] == "" {
				o.From = r.IntN(logCell)
			}
		}
		o.To = o.From
		o.Old = c.seen[o.From]
		if o.Old == "" {
			o.Old = value(1)
		}
		if o.Kind == "replace" {
			o.Old, _, _ = strings.Cut(o.Old, "\n")
		}
	}
	return o
}

// work makes n calls in an arena.
func (c *client) work(ctx context.Context, arenaNumber, n int) {
	c.arena, c.seen = arenaNumber, arena{}
	for range n {
		c.call(ctx, c.choose())
	}
}

// call makes a call and records its outcome.
func (c *client) call(ctx context.Context, o op) record {
	wait := impatience
	if c.random.IntN(3) == 0 {
		wait = timeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	r := record{Op: o, Client: c.number, Call: c.h.now()}
	switch o.Via {
	case "tool":
		c.callTool(ctx, &r)
	case "sdk":
		c.callSDK(ctx, &r)
	default:
		c.callStore(ctx, &r)
	}
	r.Return = c.h.now()
	c.h.add(r)
	if r.Fate == done && r.Result.Refused == "" {
		c.learn(o, r.Result)
	}
	if r.Fate == failed { // it would fail again at once
		time.Sleep(time.Duration(5+c.random.IntN(20)) * time.Millisecond)
	}
	return r
}

// learn updates what the client knows about the arena.
func (c *client) learn(o op, got result) {
	switch o.Kind {
	case "get":
		c.seen[o.From] = got.Cells[0]
	case "list":
		c.seen = got.Cells
	case "view":
	default:
		c.seen, _ = o.step(c.seen)
	}
}

// session is the actor of a call, so that its versions show which call made them.
func (o op) session() memento.Actor {
	return memento.Actor{Kind: memento.ActorSession, ID: fmt.Sprintf("op-%d", o.ID)}
}

// callStore calls a server through httpstore.
func (c *client) callStore(ctx context.Context, r *record) {
	b, o := c.c.fronted[r.Op.Server], r.Op
	if c.direct {
		b = c.c.handles[r.Op.Server]
	}
	switch o.Kind {
	case "get":
		m, err := b.Get(ctx, c.c.store, memento.ByPath(cellPath(o.Arena, o.From)))
		if errors.Is(err, memento.ErrNotExist) {
			err = nil
		}
		r.Result.Cells[0] = shorten(m.Content)
		c.judge(r, err)
	case "list":
		var err error
		r.Result.Cells, err = listArena(ctx, b, c.c.store, o.Arena)
		c.judge(r, err)
	default:
		applied, err := b.Apply(ctx, c.c.store, o.session(), o.changes())
		for _, v := range applied.Versions {
			r.Versions = append(r.Versions, string(v.ID))
		}
		c.judge(r, err)
	}
}

// listArena reads a consistent snapshot of an arena.
func listArena(ctx context.Context, b memento.Backend, store memento.StoreID, n int) (s arena, err error) {
	for e, err := range b.List(ctx, store, memento.ListOptions{Dir: arenaDir(n), Contents: true}) {
		if err != nil {
			return s, err
		}
		_, cell, ok := cellAt(e.Path)
		if !ok || s[cell] != "" {
			return s, fmt.Errorf("nonsense: the listing has %s", e.Path)
		}
		s[cell] = shorten(e.Memory.Content)
	}
	return s, nil
}

// judge sets the outcome of a call for which httpstore returned err.
func (c *client) judge(r *record, err error) {
	if err == nil {
		r.Fate = done
		return
	}
	r.Error = err.Error()
	r.Result.Cells = arena{}
	var status *httpstore.StatusError
	switch {
	case !r.Op.reads() && errors.Is(err, memento.ErrExist):
		r.refused("exist")
	case !r.Op.reads() && errors.Is(err, memento.ErrNotExist):
		r.refused("missing")
	case !r.Op.reads() && errors.Is(err, memento.ErrConflict):
		r.refused("conflict")
	case !r.Op.reads() && errors.Is(err, memento.ErrUncertain):
		r.Fate = unknown
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		r.Fate = unknown
	case errors.Is(err, memento.ErrUnavailable):
		r.Fate = failed
	case errors.As(err, &status) && status.Type == "overloaded_error":
		r.Fate = failed
	case r.Op.reads() && (strings.Contains(r.Error, "the answer was cut off") || strings.Contains(r.Error, "the connection was closed")):
		r.Fate = unknown
	default:
		r.Fate = unknown
		c.h.complain("%v: %v", r.Op, err)
	}
}

func (r *record) refused(why string) {
	r.Fate, r.Error, r.Result.Refused = done, "", why
}
