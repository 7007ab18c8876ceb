package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"memento"
	"memento/internal/lru"
)

// KeysWorkspace is the workspace in which [Keys] are kept. Servers accept no API key for
// it, nor for [StateWorkspace].
const KeysWorkspace memento.Workspace = "memento-gateway-keys"

// Keys are the keys for the upstream that a server holds: one for each workspace, as
// memories of a store without history. It is safe for concurrent use.
type Keys struct {
	store *memento.Store
	now   func() time.Time

	mu   sync.Mutex
	kept lru.Map[memento.Workspace, keptKey]
}

// A keptKey is a key as it was at a time; "" means that there was none.
type keptKey struct {
	key string
	at  time.Time
}

const (
	// keyTTL is how long Get uses what it has read.
	keyTTL   = 5 * time.Second
	maxKept  = 1024
	maxKey   = 4096 // bytes
	shortKey = 20   // characters; the end of a shorter key would say too much
)

// NewKeys returns the keys in a backend, which must encrypt contents, as package
// cryptstore does.
func NewKeys(b memento.Backend) *Keys {
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off // it would mask them
	settings.Retention = memento.Retention{}
	return &Keys{now: time.Now, store: memento.OpenNamed(b, KeysWorkspace, memento.StoreSpec{
		Name: "upstream", Description: "keys of workspaces for the upstream of the gateway", Settings: &settings,
	}, nil)}
}

// A HeldKey describes a key without its secret.
type HeldKey struct {
	Workspace memento.Workspace
	Hint      string // the last four characters of a long key; "" of a short one
	SetAt     time.Time
}

// keyPath returns the path of the key of a workspace.
func keyPath(ws memento.Workspace) memento.Path { return memento.Path("/key-" + string(ws)) }

// Set replaces the key of a workspace. The one before is erased.
//
// Errors: memento.ErrInvalid for a key that cannot be in a header.
func (k *Keys) Set(ctx context.Context, by memento.Actor, ws memento.Workspace, key string) error {
	if err := ws.Check(); err != nil {
		return err
	}
	foreign := func(r rune) bool { return r <= ' ' || r > '~' }
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, foreign) {
		return fmt.Errorf("%w: a key for the upstream has 1 to %d ASCII characters without spaces", memento.ErrInvalid, maxKey)
	}
	if _, err := k.store.Apply(ctx, by, memento.Put{Path: keyPath(ws), Content: key}); err != nil {
		return err
	}
	return k.erased(ctx, ws)
}

// Remove erases the key of a workspace.
//
// Errors: memento.ErrNotExist.
func (k *Keys) Remove(ctx context.Context, by memento.Actor, ws memento.Workspace) error {
	_, err := k.store.Apply(ctx, by, memento.Remove{Path: keyPath(ws)})
	if errors.Is(err, memento.ErrNoStore) {
		err = memento.ErrNotExist
	}
	if err != nil {
		return err
	}
	return k.erased(ctx, ws)
}

// erased removes what was before a change from the history. The change has tried it
// already, but ignores errors.
func (k *Keys) erased(ctx context.Context, ws memento.Workspace) error {
	k.mu.Lock()
	k.kept.Remove(ws)
	k.mu.Unlock()
	if _, err := k.store.Prune(ctx, memento.PruneOptions{Before: memento.EndOfTime}); err != nil {
		return fmt.Errorf("the key was changed, but the one before is still in the history: %w", err)
	}
	return nil
}

// List yields the held keys, in order of their workspaces.
func (k *Keys) List(ctx context.Context) iter.Seq2[HeldKey, error] {
	return func(yield func(HeldKey, error) bool) {
		for e, err := range k.store.List(ctx, memento.ListOptions{}) {
			if errors.Is(err, memento.ErrNoStore) {
				return
			}
			var held HeldKey
			if err == nil {
				held, err = k.describe(ctx, e.Path)
			}
			if !yield(held, err) || err != nil {
				return
			}
		}
	}
}

func (k *Keys) describe(ctx context.Context, p memento.Path) (HeldKey, error) {
	m, err := k.store.Get(ctx, memento.ByPath(p))
	if err != nil {
		return HeldKey{}, err
	}
	held := HeldKey{Workspace: memento.Workspace(strings.TrimPrefix(string(p), "/key-")), SetAt: m.UpdatedAt}
	if len(m.Content) >= shortKey {
		held.Hint = m.Content[len(m.Content)-4:]
	}
	return held, nil
}

// Get returns the key of a workspace. A change is noticed after some seconds. While the
// storage fails, it returns what it has read before.
//
// Errors: memento.ErrNotExist.
func (k *Keys) Get(ctx context.Context, ws memento.Workspace) (string, error) {
	k.mu.Lock()
	found, ok := k.kept.Get(ws)
	k.mu.Unlock()
	if !ok || k.now().Sub(found.at) > keyTTL {
		m, err := k.store.Get(ctx, memento.ByPath(keyPath(ws)))
		switch {
		case err == nil, errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrNoStore):
			found = keptKey{m.Content, k.now()}
			k.keep(ws, found)
		case !ok:
			return "", err
		}
	}
	if found.key == "" {
		return "", memento.ErrNotExist
	}
	return found.key, nil
}

func (k *Keys) keep(ws memento.Workspace, found keptKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept.Len() >= maxKept {
		k.kept.RemoveOldest()
	}
	k.kept.Put(ws, found)
}
