package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"memento"
	"memento/internal/lru"
)

// maxStores is how many open stores are kept. Those in use share the turns of their edits.
const maxStores = 10_000

// stores are the open stores, by workspace and name.
type stores struct {
	mu   sync.Mutex
	open lru.Map[storeKey, *memento.Store]
}

type storeKey struct {
	workspace memento.Workspace
	name      string
}

func (g *Gateway) store(key storeKey) *memento.Store {
	s := &g.stores
	s.mu.Lock()
	defer s.mu.Unlock()
	if store, ok := s.open.Get(key); ok {
		return store
	}
	if s.open.Len() >= maxStores {
		s.open.RemoveOldest()
	}
	store := memento.OpenNamed(g.c.Backend, key.workspace, memento.StoreSpec{Name: key.name}, &g.c.Stores)
	s.open.Put(key, store)
	return store
}

// UserStore returns the name of the store of a metadata.user_id: "user-" and the ID. An
// ID that cannot be in a name is replaced by its hash, and so is one that looks like it.
func UserStore(userID string) string {
	const maxID = 200 // characters
	bad := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	const hashed = "sha256-"
	if strings.HasPrefix(userID, hashed) || utf8.RuneCountInString(userID) > maxID || strings.ContainsFunc(userID, bad) || strings.TrimSpace(userID) != userID {
		sum := sha256.Sum256([]byte(userID))
		return "user-" + hashed + hex.EncodeToString(sum[:])
	}
	return "user-" + userID
}

// selectStore returns the name of the store that a request uses: of its header, of its
// user, or the default of the key; "" if it has no memory.
func (g *Gateway) selectStore(h http.Header, caller Caller, userID string) (string, error) {
	named := h.Values(StoreHeader)
	switch {
	case len(named) > 1:
		return "", invalid(StoreHeader + ": send one name")
	case len(named) == 1:
		if err := memento.CheckStoreName(named[0]); err != nil {
			return "", invalid(StoreHeader + ": " + err.Error())
		}
		return named[0], nil
	case g.c.UserStores && userID != "":
		return UserStore(userID), nil
	}
	return caller.Store, nil
}

// tool returns the memory tool on a store, or on the configured mounts.
func (g *Gateway) tool(caller Caller, store string) (*memento.Tool, error) {
	o := g.c.Tool
	o.Actor, o.ReadOnly = caller.Actor, caller.ReadOnly
	if o.Logger == nil {
		o.Logger = g.c.Logger
	}
	if len(g.c.Mounts) == 0 {
		return memento.NewTool(g.store(storeKey{caller.Workspace, store}), &o), nil
	}
	var mounts []memento.Mount
	for _, m := range g.c.Mounts {
		name := strings.ReplaceAll(m.Store, "{store}", store)
		mounts = append(mounts, memento.Mount{Name: m.Name, Store: g.store(storeKey{caller.Workspace, name}), ReadOnly: m.ReadOnly})
	}
	tool, err := memento.NewScopedTool(mounts, &o)
	if err != nil {
		// Two mounts can have one store only if the selected name is that of another mount.
		return nil, invalid(StoreHeader + ": the name is that of a store that is mounted already")
	}
	return tool, nil
}
