package mcpserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"memento"
	"memento/history"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxNoticed is the most versions of a store that are read at once.
const maxNoticed = 200

// changes looks for changes of memories by whoever uses the stores, and tells the clients
// that want to know. It begins with a request for the list of resources or a subscription,
// and ends when no client is connected any more.
type changes struct {
	server *Server
	ctx    context.Context // ends with close
	stop   context.CancelFunc

	mu      sync.Mutex
	running bool
	done    sync.WaitGroup
}

func newChanges(s *Server) *changes {
	c := &changes{server: s}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// close ends the search for changes, and waits for its end.
func (c *changes) close() {
	c.stop()
	c.done.Wait()
}

// wanted begins the search, unless it has begun. Changes after it has returned are noticed.
func (c *changes) wanted(m *memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || c.ctx.Err() != nil {
		return
	}
	c.running = true
	seen := make([]int64, len(m.mounts))
	for i := range m.mounts {
		seen[i] = -1
		if seq, err := newest(c.ctx, m.mounts[i].store); err == nil {
			seen[i] = seq
		}
	}
	c.done.Add(1)
	go func() {
		defer c.done.Done()
		c.run(m, seen)
	}()
}

// run looks at all stores from time to time. seen has the Seq of the newest version of
// each that is known, -1 if it could not be read.
func (c *changes) run(m *memory, seen []int64) {
	poll := time.NewTicker(c.server.opts.Poll)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
		case <-c.ctx.Done():
			return
		}
		if c.unwanted() {
			return
		}
		for i := range m.mounts {
			seq, err := newest(c.ctx, m.mounts[i].store)
			if err != nil || seq == seen[i] {
				continue // it is tried again
			}
			for more := true; more && err == nil; { // after an error the rest is tried again
				seen[i], more, err = c.announce(&m.mounts[i], seen[i], seq)
			}
		}
	}
}

// unwanted ends the search if no client is connected, and reports that.
func (c *changes) unwanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range c.server.mcp.Sessions() {
		return false
	}
	c.running = false
	return true
}

// newest returns the Seq of the newest version of a store, 0 if there is none.
func newest(ctx context.Context, s *memento.Store) (int64, error) {
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Limit: 1}) {
		if errors.Is(err, memento.ErrNoStore) {
			return 0, nil
		}
		return v.Seq, err
	}
	return 0, nil
}

// announce tells the clients which memories have changed since a version, the newest being
// another. It returns the version until which it has, and whether there may be more.
func (c *changes) announce(in *mount, since, newest int64) (until int64, more bool, err error) {
	var made []memento.Version
	if since >= 0 {
		for v, err := range in.store.Versions(c.ctx, memento.VersionListOptions{OldestFirst: true, After: since, Limit: maxNoticed}) {
			if err != nil {
				return since, false, err
			}
			made = append(made, v)
		}
	}
	renamed, err := history.RenamedFrom(c.ctx, in.store, memento.VersionListOptions{}, made)
	if err != nil {
		return since, false, err
	}
	// listed is whether the list of resources is another: also if it is not known, or if
	// nothing is newer, as in a store that was deleted and made again.
	listed := len(made) == 0
	if until = newest; len(made) > 0 {
		until = made[len(made)-1].Seq
	}
	uris := map[string]bool{}
	note := func(p memento.Path) {
		uris[uriOf(in.path(p))] = true
		for dir := range p.Ancestors() {
			uris[uriOf(in.path(dir)+"/")] = true
		}
		uris[uriOf(in.root+"/")], uris[rootResource.URI] = true, true
	}
	for _, v := range made {
		if v.Redacted() || v.Path.IsHidden() {
			continue
		}
		note(v.Path)
		from, moved := renamed[v.ID]
		if moved {
			note(from)
		}
		listed = listed || moved || v.Operation != memento.Modified
	}
	for uri := range uris {
		_ = c.server.mcp.ResourceUpdated(c.ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // never fails
	}
	if listed {
		// Adding what is there is how the SDK is told that a list has changed.
		c.server.mcp.AddResource(&rootResource, c.server.readResource)
	}
	return until, len(made) == maxNoticed, nil
}

// subscribed is called for each subscription to a resource.
func (s *Server) subscribed(ctx context.Context, req *mcp.SubscribeRequest) error {
	if _, err := pathOf(req.Params.URI); err != nil {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	return s.watch(ctx, req)
}

// watch begins to look for changes.
func (s *Server) watch(ctx context.Context, req request) error {
	m, err := s.memory(ctx, req)
	if err != nil {
		return s.protocolError(ctx, "open the memory", "", err)
	}
	s.changes.wanted(m)
	return nil
}
