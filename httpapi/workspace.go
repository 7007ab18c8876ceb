package httpapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"memento"
	"memento/backend"
	"memento/history"
	"memento/internal/wire"
)

const (
	maxRecent   = 200   // versions at the beginning of a stream of a workspace
	maxFollowed = 1_000 // stores of one stream

	// In each interval so many stores are looked at for changes by other processes, if the
	// backend cannot tell their positions: those that changed last, and the others in turns.
	polledActive = 20
	polledStores = 20
)

// streamWorkspace sends new versions of all stores of the workspace as server-sent events,
// after the newest ones that there are.
func (a *API) streamWorkspace(c *call) error {
	q := c.query()
	full := q.full(false)
	recent := int(q.integer("recent", 0, 0, maxRecent))
	if q.err != nil {
		return q.err
	}
	watcher, leave := a.changes.watch()
	defer leave()
	f := follower{c: c, full: full, seen: map[memento.StoreID]int64{}, unlisted: map[memento.StoreID]int64{}, described: map[memento.StoreID]bool{}}
	if a.positions.lister != nil {
		var leave func()
		f.known, leave = a.positions.join(c.who.Workspace)
		defer leave()
	}
	newest, err := f.begin(recent)
	if err != nil {
		return err
	}
	f.s = c.stream("text/event-stream")
	if c.r.Method == http.MethodHead {
		return f.s.flush()
	}
	f.s.hold = true // hundreds of events
	for _, found := range newest {
		f.changed(found.store)
		if err := f.send(found.store, []memento.Version{found.version}); errors.Is(err, errEnded) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if err := f.s.comment("connected"); err != nil {
		return nil // the client is gone
	}
	f.live, f.s.hold = true, false
	poll, beat := time.NewTicker(a.opts.Poll), time.NewTicker(a.opts.Heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	for {
		var changed, polled bool
		select {
		case <-watcher.news:
			changed = true
		case <-poll.C:
			polled = true
		case <-beat.C:
		case <-c.context().Done():
			return nil
		case <-a.closed.Done():
			return nil
		}
		var ids []memento.StoreID // those with changes
		if changed {
			ids = slices.DeleteFunc(slices.Collect(maps.Keys(watcher.take())), func(id memento.StoreID) bool { return !f.follows(id) })
			if len(ids) == 0 {
				continue // they are of other workspaces
			}
		}
		if !c.stillAuthorized() {
			return nil // the answer to the next connection says why
		}
		var err error
		switch {
		case changed:
			for _, id := range ids {
				if err = f.follow(id); err != nil {
					break
				}
			}
		case polled:
			err = f.poll()
		default:
			err = f.orEnded(f.s.comment("still here"))
		}
		if errors.Is(err, errEnded) || c.context().Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errEnded ends a stream whose client is gone or may not go on, or whose server stops.
var errEnded = errors.New("the stream has ended")

// A follower sends the new versions of the stores of a workspace.
type follower struct {
	c         *call
	s         *responseStream
	full      bool
	seen      map[memento.StoreID]int64 // the Seq of the newest version sent, of each store
	turn      []memento.StoreID         // the stores in the order in which they are polled in turns
	last      []memento.StoreID         // those that changed last, the latest first; at most polledActive
	described map[memento.StoreID]bool  // the stores that were described before the stream was connected
	live      bool                      // whether it is connected
	known     *knownPositions           // of the stores, from a backend that can tell them; else nil
	unlisted  map[memento.StoreID]int64 // what seen was of stores that are no longer among the newest, or archived
}

func (f *follower) follows(id memento.StoreID) bool {
	_, known := f.seen[id]
	return known
}

// orEnded returns the error of sending as errEnded: nobody is to be told.
func (f *follower) orEnded(err error) error {
	if err != nil {
		return errEnded
	}
	return nil
}

// A foundVersion is a version of some store.
type foundVersion struct {
	store   memento.StoreID
	version memento.Version
}

// begin finds the stores, and returns the newest versions in them, the oldest first. They
// have no contents.
func (f *follower) begin(recent int) ([]foundVersion, error) {
	ctx, b := f.c.context(), f.c.api.backend
	all, err := f.positions()
	if err != nil {
		return nil, err
	}
	var newest []foundVersion
	for _, p := range all {
		if len(newest) >= recent && f.known != nil && (recent == 0 || !newest[0].version.CreatedAt.Before(p.At)) {
			break // all other stores have older ones
		}
		opts := memento.VersionListOptions{Limit: max(recent, 1)}
		for v, err := range b.ListVersions(ctx, p.Store, opts) {
			if errors.Is(err, memento.ErrNoStore) {
				break
			}
			if err != nil {
				return nil, err
			}
			f.seen[p.Store] = max(f.seen[p.Store], v.Seq)
			if len(newest) >= recent && (recent == 0 || !newest[0].version.CreatedAt.Before(v.CreatedAt)) {
				break // all others of this store are older
			}
			at, _ := slices.BinarySearchFunc(newest, v.CreatedAt, func(n foundVersion, at time.Time) int {
				return cmp.Or(n.version.CreatedAt.Compare(at), 1) // before those of the same time, which were made later
			})
			if newest = slices.Insert(newest, at, foundVersion{p.Store, v}); len(newest) > recent {
				newest = newest[1:]
			}
		}
	}
	return newest, nil
}

// positions follows the stores, and returns their positions: if the backend can tell them,
// those with versions, the one that changed last first; else with nothing but their IDs.
func (f *follower) positions() (all []backend.Position, err error) {
	if f.known == nil {
		ids, err := f.stores(maxFollowed)
		for _, id := range ids {
			all = append(all, backend.Position{Store: id})
		}
		return all, err
	}
	shared, err := f.c.api.positions.get(f.c.context(), f.c.who.Workspace, f.known, 0)
	for _, p := range shared {
		if f.seen[p.Store] = p.Seq; p.Seq > 0 {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b backend.Position) int { return b.At.Compare(a.At) })
	return all, err
}

// stores follows the stores that are not followed yet, from their beginning, and returns
// them. They are listed in pages of the given size.
func (f *follower) stores(page int) (added []memento.StoreID, err error) {
	opts := memento.StoreListOptions{Limit: page}
	for {
		listed := 0
		for info, err := range f.c.api.backend.ListStores(f.c.context(), f.c.who.Workspace, opts) {
			if err != nil {
				return nil, err
			}
			if _, known := f.seen[info.ID]; known || len(f.seen) >= maxFollowed {
				return added, nil // those after it are older
			}
			f.seen[info.ID] = 0
			f.turn = append(f.turn, info.ID)
			added = append(added, info.ID)
			opts.After = info.ID
			listed++
		}
		if listed < page {
			return added, nil
		}
	}
}

// poll sends what is new: in all stores, if the backend tells where; else in those whose turn
// it is, and in new ones.
func (f *follower) poll() error {
	if f.known != nil {
		return f.pollPositions()
	}
	added, err := f.stores(polledStores)
	if err != nil {
		return err
	}
	for _, id := range added {
		if err := f.skipOld(id); err != nil {
			return err
		}
	}
	n := min(polledStores, len(f.turn))
	turn := slices.Concat(added, f.last, f.turn[:n])
	f.turn = append(f.turn[n:], f.turn[:n]...)
	polled := map[memento.StoreID]bool{}
	for _, id := range turn {
		if !f.follows(id) || polled[id] {
			continue
		}
		polled[id] = true
		if err := f.follow(id); err != nil {
			return err
		}
	}
	return nil
}

// pollPositions sends what is new in the stores that have moved, and follows the workspace's
// newest stores from then on.
func (f *follower) pollPositions() error {
	all, err := f.c.api.positions.get(f.c.context(), f.c.who.Workspace, f.known, f.c.api.opts.Poll/2)
	if err != nil {
		return err
	}
	listed := make(map[memento.StoreID]bool, len(all))
	recently := time.Now().Add(-time.Minute) // clocks of servers differ
	older := false                           // than a store that was followed before
	var moved []backend.Position
	for _, p := range all {
		listed[p.Store] = true
		if f.follows(p.Store) {
			older = true
		} else if err := f.found(p, older && p.At.Before(recently)); err != nil {
			return err
		}
		if p.Seq > f.seen[p.Store] {
			moved = append(moved, p)
		}
	}
	slices.SortStableFunc(moved, func(a, b backend.Position) int { return a.At.Compare(b.At) })
	for _, p := range moved {
		if err := f.follow(p.Store); err != nil {
			return err
		}
		if f.follows(p.Store) {
			f.seen[p.Store] = max(f.seen[p.Store], p.Seq) // the newest versions may be pruned
		}
	}
	for id := range f.seen {
		if !listed[id] { // it was deleted, archived, or there are too many newer ones
			if err := f.follow(id); err != nil {
				return err
			}
			if seen, exists := f.seen[id]; exists {
				if len(f.unlisted) >= maxFollowed {
					clear(f.unlisted)
				}
				f.unlisted[id] = seen
				delete(f.seen, id)
			}
		}
	}
	return nil
}

// found follows a store that was not followed. One that is old was not among the newest
// before, because there were too many, or it was archived: its versions are not news.
func (f *follower) found(p backend.Position, old bool) error {
	seen, was := f.unlisted[p.Store]
	delete(f.unlisted, p.Store)
	if !was && old {
		seen = p.Seq
	}
	f.seen[p.Store] = seen
	if was || old || p.Seq == 0 {
		return nil
	}
	return f.skipOld(p.Store)
}

// skipOld skips all but the newest versions of a store that was found: if it was imported,
// they are many, and nobody watches the past.
func (f *follower) skipOld(id memento.StoreID) error {
	n := 0
	for v, err := range f.c.api.backend.ListVersions(f.c.context(), id, memento.VersionListOptions{Limit: maxRecent + 1}) {
		if errors.Is(err, memento.ErrNoStore) {
			return nil // follow finds out
		}
		if err != nil {
			return err
		}
		if n++; n > maxRecent {
			f.seen[id] = v.Seq
		}
	}
	return nil
}

// changed notes that a store changed last.
func (f *follower) changed(id memento.StoreID) {
	f.last = slices.DeleteFunc(f.last, func(other memento.StoreID) bool { return other == id })
	f.last = slices.Insert(f.last, 0, id)
	f.last = f.last[:min(len(f.last), polledActive)]
}

// follow sends the versions of a store that are new.
func (f *follower) follow(id memento.StoreID) error {
	for {
		made, err := f.next(id)
		if errors.Is(err, memento.ErrNoStore) {
			delete(f.seen, id)
			delete(f.described, id)
			isIt := func(other memento.StoreID) bool { return other == id }
			f.turn, f.last = slices.DeleteFunc(f.turn, isIt), slices.DeleteFunc(f.last, isIt)
			return f.orEnded(f.s.event("memory_store.deleted", "", wire.Deleted{ID: string(id), Type: "memory_store_deleted"}))
		}
		if err != nil || len(made) == 0 {
			return err
		}
		f.changed(id)
		if err := f.send(id, made); err != nil {
			return err
		}
		if len(made) == maxLimit && (f.c.api.closed.Err() != nil || !f.c.stillAuthorized()) {
			return errEnded // an import can be long
		}
	}
}

// next returns the oldest versions of a store that were not sent yet, without contents.
func (f *follower) next(id memento.StoreID) (made []memento.Version, err error) {
	opts := memento.VersionListOptions{OldestFirst: true, After: f.seen[id], Limit: maxLimit}
	for v, err := range f.c.api.backend.ListVersions(f.c.context(), id, opts) {
		if err != nil {
			return nil, err
		}
		made = append(made, v)
		f.seen[id] = v.Seq
	}
	return made, nil
}

// send sends versions of one store after what describes the store: each time once the stream
// is connected, since what it holds changes with them.
func (f *follower) send(id memento.StoreID, made []memento.Version) error {
	store, leave, err := f.c.storeByID(id)
	if errors.Is(err, memento.ErrNoStore) {
		return nil // deleted since
	}
	if err != nil {
		return err
	}
	defer leave()
	ctx := f.c.context()
	if f.live || !f.described[id] {
		info, err := f.c.api.backend.GetStore(ctx, f.c.who.Workspace, id)
		if errors.Is(err, memento.ErrNoStore) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.orEnded(f.s.event("memory_store", "", wire.FromStore(info))); err != nil {
			return err
		}
		f.described[id] = true
	}
	renamed, err := history.RenamedFrom(ctx, store, memento.VersionListOptions{}, made)
	if err != nil && !errors.Is(err, memento.ErrNoStore) {
		return err
	}
	for _, v := range made {
		if err := f.sendVersion(store, id, v, renamed[v.ID]); err != nil {
			return err
		}
	}
	return nil
}

// sendVersion sends a version. Large contents wait for memory; without any, the stream ends,
// and the client connects again.
func (f *follower) sendVersion(store *memento.Store, id memento.StoreID, v memento.Version, renamedFrom memento.Path) error {
	if n := sizeInMemory(v.Size); f.full && n > flushBytes {
		held, err := f.c.acquire(f.c.api.memory, n)
		if err != nil {
			return errEnded
		}
		defer held.release()
	}
	event, err := f.event(f.c.context(), store, id, v)
	if err != nil {
		return err
	}
	event.RenamedFrom = renamedFrom
	return f.orEnded(f.s.event("memory_version", "", event))
}

// event returns a version as it is sent, one at a time: so the memory for contents is that
// of one.
func (f *follower) event(ctx context.Context, store *memento.Store, id memento.StoreID, v memento.Version) (wire.Version, error) {
	if !f.full || v.Operation == memento.Deleted || v.Redacted() {
		return wire.FromVersion(id, v, f.full), nil
	}
	whole, err := store.Version(ctx, v.ID)
	if errors.Is(err, memento.ErrNotExist) { // pruned since
		return wire.FromVersion(id, v, false), nil
	}
	if err != nil {
		return wire.Version{}, err
	}
	return f.c.api.version(f.c, store, id, whole, true)
}
