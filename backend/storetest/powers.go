package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
)

// powers tests which optional interfaces there are, and read times.
func powers(t *testing.T, h Harness) {
	h.run(t, "as promised", func(e *env) {
		if _, ok := e.b.(memento.Searcher); ok != h.Searcher {
			e.Errorf("the backend is a Searcher: %v, promised %v", ok, h.Searcher)
		}
		if _, ok := e.b.(memento.ReadMarker); ok != h.ReadMarker {
			e.Errorf("the backend is a ReadMarker: %v, promised %v", ok, h.ReadMarker)
		}
		if _, ok := e.b.(apikey.Keeper); ok != h.KeyKeeper {
			e.Errorf("the backend is a KeyKeeper: %v, promised %v", ok, h.KeyKeeper)
		}
		if _, ok := e.b.(backend.BackupWriter); ok != h.BackupWriter {
			e.Errorf("the backend is a BackupWriter: %v, promised %v", ok, h.BackupWriter)
		}
		if _, ok := e.b.(backend.WorkspaceLister); ok != h.WorkspaceLister {
			e.Errorf("the backend is a WorkspaceLister: %v, promised %v", ok, h.WorkspaceLister)
		}
		if _, ok := e.b.(backend.Leaser); ok != h.Leaser {
			e.Errorf("the backend is a Leaser: %v, promised %v", ok, h.Leaser)
		}
		if _, ok := e.b.(backend.Clock); ok != h.Clock {
			e.Errorf("the backend is a Clock: %v, promised %v", ok, h.Clock)
		}
		if _, ok := e.b.(backend.NoteKeeper); ok != h.NoteKeeper {
			e.Errorf("the backend is a NoteKeeper: %v, promised %v", ok, h.NoteKeeper)
		}
		if _, ok := e.b.(backend.PositionLister); ok != h.PositionLister {
			e.Errorf("the backend is a PositionLister: %v, promised %v", ok, h.PositionLister)
		}
		if _, ok := e.b.(backend.VectorKeeper); ok != h.VectorKeeper {
			e.Errorf("the backend is a VectorKeeper: %v, promised %v", ok, h.VectorKeeper)
		}
	})
	h.run(t, "positions", positions)
	h.run(t, "read times", readTimes)
	h.run(t, "read times for others", syncReads)
	h.run(t, "workspaces", listedWorkspaces)
	h.run(t, "leases", leases)
	h.run(t, "racing for a lease", racingForLease)
}

func readTimes(e *env) {
	e.put("/a", "x")
	m := e.get("/a")
	if !m.ReadAt.IsZero() {
		e.Errorf("never marked, but read at %v", m.ReadAt)
	}
	marker, ok := e.b.(memento.ReadMarker)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	before := e.everything()
	marker.MarkRead(e.store, m.ID)
	marker.MarkRead(e.store, "mem_unknown")
	marker.MarkRead("memstore_unknown", m.ID)
	e.reopen() // it may be written late, at the latest by Close
	if e.get("/a").ReadAt.IsZero() {
		e.Fatal("marked, but never read")
	}
	read := e.get("/a").ReadAt
	if since := time.Since(read); since > time.Hour+time.Minute || since < -time.Second || read.Location() != time.UTC {
		e.Errorf("read at %v", read)
	}
	if x := e.list(memento.ListOptions{})[0]; !x.Memory.ReadAt.Equal(read) {
		e.Errorf("List says read at %v, Get %v", x.Memory.ReadAt, read)
	}
	e.same("store after MarkRead", before, e.everything())

	e.put("/a", "edited")
	e.apply(memento.Move{From: "/a", To: "/b"})
	e.reopen()
	if got := e.get("/b").ReadAt; !got.Equal(read) {
		e.Errorf("after edit and move read at %v, want %v", got, read)
	}
}

// syncReads checks that SyncReads makes marked reads visible to other handles.
func syncReads(e *env) {
	e.put("/a", "x")
	marker, ok := e.b.(memento.ReadMarker)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	marker.MarkRead(e.store, e.get("/a").ID)
	if err := marker.SyncReads(e.Context()); err != nil {
		e.Fatal(err)
	}
	m, err := e.another().Get(e.Context(), e.store, memento.ByPath("/a"))
	if err != nil || m.ReadAt.IsZero() {
		e.Errorf("another handle says read at %v, %v", m.ReadAt, err)
	}
	if err := marker.SyncReads(e.Context()); err != nil {
		e.Errorf("with nothing to write: %v", err)
	}

	// A read that could not be written is kept, or marked again by the next read.
	e.put("/b", "y")
	id := e.get("/b").ID
	ended, end := context.WithCancel(e.Context())
	end()
	marker.MarkRead(e.store, id)
	_ = marker.SyncReads(ended)
	marker.MarkRead(e.store, id)
	if err := marker.SyncReads(e.Context()); err != nil {
		e.Fatal(err)
	}
	if m, err := e.another().Get(e.Context(), e.store, memento.ByPath("/b")); err != nil || m.ReadAt.IsZero() {
		e.Errorf("after a lost write, another handle says read at %v, %v", m.ReadAt, err)
	}
}

func listedWorkspaces(e *env) {
	lister, ok := e.b.(backend.WorkspaceLister)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	are := func(what string, want ...memento.Workspace) {
		e.Helper()
		got, err := lister.Workspaces(e.Context())
		if err != nil || !slices.Equal(got, want) {
			e.Errorf("%s: the workspaces are %q, %v, want %q", what, got, err, want)
		}
	}
	are("at first", workspace)
	made := map[memento.Workspace]memento.StoreInfo{}
	for _, ws := range []memento.Workspace{"zoo", "alpha", "Zoo", "alpha"} {
		info, err := e.b.CreateStore(e.Context(), ws, memento.StoreSpec{Name: "test", Settings: unmasked()})
		if err != nil {
			e.Fatal(err)
		}
		made[ws] = info
	}
	are("with others", "Zoo", "alpha", workspace, "zoo")
	if _, err := e.b.UpdateStore(e.Context(), "zoo", made["zoo"].ID, memento.StoreUpdate{Archive: true}); err != nil {
		e.Fatal(err)
	}
	if err := e.b.DeleteStore(e.Context(), "Zoo", made["Zoo"].ID); err != nil {
		e.Fatal(err)
	}
	are("one archived, one gone", "alpha", workspace, "zoo")
}

// acquire reports whether a handle acquires a lease.
func (e *env) acquire(b memento.Backend, name string, ttl time.Duration) bool {
	e.Helper()
	has, err := b.(backend.Leaser).AcquireLease(e.Context(), name, ttl)
	if err != nil {
		e.Fatalf("AcquireLease: %v", err)
	}
	return has
}

func leases(e *env) {
	if !e.h.Leaser {
		return // "as promised" has checked that it is not one
	}
	const long, short = time.Hour, time.Second
	for _, when := range []string{"at first", "again"} {
		if !e.acquire(e.b, "maintenance", long) {
			e.Errorf("the only handle does not get the lease %s", when)
		}
	}
	if !e.h.Shared {
		return // there is no other
	}
	other := e.another()
	if e.acquire(other, "maintenance", long) {
		e.Error("two handles have the lease")
	}
	if !e.acquire(other, "reports", long) {
		e.Error("a free lease was not acquired")
	}
	if e.acquire(e.b, "reports", long) {
		e.Error("two handles have the other lease")
	}
	// The shorter duration replaces the old one, and the lease ends.
	if !e.acquire(e.b, "maintenance", short) {
		e.Error("the holder cannot renew its lease")
	}
	for deadline := time.Now().Add(time.Minute); !e.acquire(other, "maintenance", long); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.Fatal("the lease never ends")
		}
	}
	if e.acquire(e.b, "maintenance", long) {
		e.Error("the old holder still has the lease")
	}
}

// racingForLease has many handles ask for a lease at once, of which one gets it.
func racingForLease(e *env) {
	if !e.h.Leaser || !e.h.Shared {
		return
	}
	var acquired atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		b := e.another()
		wg.Go(func() {
			has, err := b.(backend.Leaser).AcquireLease(e.Context(), "maintenance", time.Hour)
			if err != nil {
				e.Errorf("AcquireLease: %v", err)
			}
			if has {
				acquired.Add(1)
			}
		})
	}
	wg.Wait()
	if n := acquired.Load(); n != 1 {
		e.Errorf("%d of 4 handles have the lease, want 1", n)
	}
}

// positions checks that positions tell of every version, whichever handle made it.
func positions(e *env) {
	lister, ok := e.b.(backend.PositionLister)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	if _, err := lister.Positions(e.Context(), workspace, 1); errors.Is(err, memento.ErrUnsupported) {
		return // a wrapper over one that is none
	}
	list := func(limit int) map[memento.StoreID]backend.Position {
		e.Helper()
		all, err := lister.Positions(e.Context(), workspace, limit)
		if err != nil {
			e.Fatal(err)
		}
		if !slices.IsSortedFunc(all, func(x, y backend.Position) int { return strings.Compare(string(y.Store), string(x.Store)) }) || len(all) > limit {
			e.Errorf("positions of %d stores: %v", limit, all)
		}
		by := map[memento.StoreID]backend.Position{}
		for _, p := range all {
			by[p.Store] = p
		}
		return by
	}
	is := func(what string, b memento.Backend, store memento.StoreID) {
		e.Helper()
		p, ok := list(100)[store]
		if !ok {
			e.Fatalf("%s: the store has no position", what)
		}
		for v, err := range b.ListVersions(e.Context(), store, memento.VersionListOptions{Limit: 1}) {
			if err != nil {
				e.Fatal(err)
			}
			if p.Seq != v.Seq || p.At.Before(v.CreatedAt) || p.At.Location() != time.UTC {
				e.Errorf("%s: the position is %+v, the newest version %d of %v", what, p, v.Seq, v.CreatedAt)
			}
			return
		}
		if p.Seq != 0 {
			e.Errorf("%s: the position is %+v of a store without versions", what, p)
		}
	}
	is("empty", e.b, e.store)
	e.put("/a", "x")
	is("one version", e.b, e.store)
	e.apply(memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/c", Content: "y"})
	is("several", e.b, e.store)
	e.apply(memento.Remove{Path: "/c"})
	is("a removal", e.b, e.store)
	if e.h.Shared {
		other := e.another()
		if _, err := other.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/d", Content: "z"}}); err != nil {
			e.Fatal(err)
		}
		is("another handle's", other, e.store)
	}
	if _, err := e.b.CreateStore(e.Context(), "elsewhere", memento.StoreSpec{Name: "test", Settings: unmasked()}); err != nil {
		e.Fatal(err)
	}
	second, err := e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "test", Settings: unmasked()})
	if err != nil {
		e.Fatal(err)
	}
	is("a second store", e.b, second.ID)
	if all := list(100); len(all) != 2 {
		e.Errorf("positions %v", all)
	}
	if all := list(1); len(all) != 1 || all[second.ID].Store == "" {
		e.Errorf("the newest position is of %v, not of %s", all, second.ID)
	}
	third, err := e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "test", Settings: unmasked()})
	if err != nil {
		e.Fatal(err)
	}
	if _, err := e.b.UpdateStore(e.Context(), workspace, second.ID, memento.StoreUpdate{Archive: true}); err != nil {
		e.Fatal(err)
	}
	if err := e.b.DeleteStore(e.Context(), workspace, third.ID); err != nil {
		e.Fatal(err)
	}
	if all := list(100); len(all) != 1 || all[e.store].Store == "" {
		e.Errorf("positions beside an archived store and one that is gone: %v", all)
	}
}
