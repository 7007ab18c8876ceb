package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// root is the directory of all memories, as agents know it.
const root = "/memories"

// A memory is an opened Memory.
type memory struct {
	tool   *memento.Tool
	actor  memento.Actor
	mounts []mount
}

// A mount is a store and the directory in which the agent sees it.
type mount struct {
	root     string // "/memories", or a directory in it
	store    *memento.Store
	readOnly bool
}

// rootsTimeout is how long a client may take to say which folders it works in.
const rootsTimeout = 10 * time.Second

// errNoRoots is the error of a client that can say which folders it works in, and did not.
// To take it for one without folders would open another store.
var errNoRoots = errors.New("the client did not say which folders it works in")

// memory returns the client's memory, and opens it if it is not open yet.
func (s *Server) memory(ctx context.Context, req request) (*memory, error) {
	if m := s.opened.Load(); m != nil {
		return m, nil
	}
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m := s.opened.Load(); m != nil {
		return m, nil
	}
	m, err := s.opts.Open(ctx, clientOf(req))
	if err != nil {
		return nil, err
	}
	o := m.Tool
	o.ReadOnly = o.ReadOnly || s.opts.ReadOnly
	const notices = 1000 // bytes of the sentences after a listing
	o.ListingBytes = MaxAnswerBytes - notices
	if o.Logger == nil {
		o.Logger = s.opts.Logger
	}
	opened := &memory{actor: o.Actor}
	switch {
	case len(m.Mounts) == 1 && m.Mounts[0].Name == "":
		o.ReadOnly = o.ReadOnly || m.Mounts[0].ReadOnly
		opened.tool = memento.NewTool(m.Mounts[0].Store, &o)
	default:
		if opened.tool, err = memento.NewScopedTool(m.Mounts, &o); err != nil {
			return nil, err
		}
	}
	for _, each := range m.Mounts {
		at := mount{root: root, store: each.Store, readOnly: each.ReadOnly || o.ReadOnly}
		if each.Name != "" {
			at.root += "/" + each.Name
		}
		opened.mounts = append(opened.mounts, at)
	}
	s.opened.Store(opened)
	return opened, nil
}

// A request is one of the SDK's, with what it says about the client.
type request interface {
	mcp.Request
	ClientInfo() *mcp.Implementation
	ClientCapabilities() *mcp.ClientCapabilities
}

func clientOf(req request) Client {
	c := Client{Roots: func(context.Context) ([]string, error) { return nil, nil }}
	if info := req.ClientInfo(); info != nil {
		c.Name = info.Name
	}
	session, ok := req.GetSession().(*mcp.ServerSession)
	if ok { // only clients of the older versions can be asked
		begun := session.InitializeParams()
		ok = begun != nil && begun.ProtocolVersion < modernVersion
	}
	//lint:ignore SA1019 clients of the versions before 2026-07-28 have nothing else
	if caps := req.ClientCapabilities(); ok && caps != nil && caps.RootsV2 != nil {
		c.Roots = func(ctx context.Context) ([]string, error) {
			limited, cancel := context.WithTimeout(ctx, rootsTimeout)
			defer cancel()
			//lint:ignore SA1019 as above
			answer, err := session.ListRoots(limited, nil)
			switch refusal, refused := errors.AsType[*jsonrpc.Error](err); {
			case err == nil:
			case ctx.Err() != nil:
				return nil, ctx.Err() // the request was cancelled
			case refused && refusal.Code == jsonrpc.CodeMethodNotFound:
				return nil, nil
			default:
				return nil, fmt.Errorf("%w: %v", errNoRoots, err)
			}
			var urls []string
			for _, r := range answer.Roots {
				urls = append(urls, r.URI)
			}
			return urls, nil
		}
	}
	return c
}

// errOutside means that a path is not one of an agent's.
var errOutside = errors.New("paths start with /memories")

// locate returns the mounts that a directory or file of the agent's concerns: one of them,
// with the path in its store, or all for /memories itself.
func (m *memory) locate(path string) (at []mount, p memento.Path, err error) {
	if path = strings.TrimSuffix(path, "/"); path == "" || path == root {
		return m.mounts, memento.Root, nil
	}
	for _, each := range m.mounts {
		rest, ok := strings.CutPrefix(path, each.root)
		switch {
		case !ok:
		case rest == "":
			return []mount{each}, memento.Root, nil
		case rest[0] == '/':
			p, err := memento.ParsePath(rest)
			return []mount{each}, p, err
		}
	}
	if strings.HasPrefix(path, root+"/") {
		return nil, "", memento.ErrNotExist
	}
	return nil, "", errOutside
}

// path returns the agent's path of a memory or directory of the mount.
func (m *mount) path(p memento.Path) string {
	if p.IsRoot() || p == "" {
		return m.root
	}
	return m.root + string(p)
}
