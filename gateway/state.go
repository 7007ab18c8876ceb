package gateway

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"memento"
	"memento/internal/lru"
)

// StateWorkspace is the workspace in which the hidden rounds of all callers are kept, one
// store for each workspace of callers.
const StateWorkspace memento.Workspace = "memento-gateway"

// State keeps the rounds of conversations that the application does not see, in stores of
// a backend: so they outlive the process, and every gateway on the backend has them. What
// is stored is sealed with a key that comes from the caller's key for the upstream, which
// is not stored: nobody else can read it. It expires when it was not used for 30 days.
type State struct {
	backend memento.Backend

	mu     sync.Mutex
	stores lru.Map[memento.Workspace, *memento.Store]
	kept   lru.Map[string, cached]
	bytes  int
}

type cached struct {
	state *turnState // nil: there is none
	size  int
}

const (
	stateAge     = 30 * 24 * time.Hour
	maxState     = 4 << 20  // bytes of one turn, before compression
	cachedStates = 16 << 20 // bytes
)

// NewState returns a State on a backend.
func NewState(b memento.Backend) *State { return &State{backend: b} }

// errNoSecret means that a request has no key to seal with.
var errNoSecret = errors.New("the request has no key for the upstream")

// secret returns what the sealing key of a request is made from.
func secret(r *http.Request, caller Caller) string {
	if caller.UpstreamKey != "" {
		return caller.UpstreamKey
	}
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	return r.Header.Get("Authorization")
}

// seal returns the cipher of a conversation's state, and the path of a turn.
func (c *conversation) seal(key chainKey) (cipher.AEAD, memento.Path, error) {
	if c.sealer.aead == nil {
		from := secret(c.in, c.caller)
		if from == "" {
			return nil, "", errNoSecret
		}
		keys, err := hkdf.Key(sha256.New, []byte(from), nil, "memento gateway state\x00"+c.key(), 64)
		if err != nil {
			return nil, "", err
		}
		b, err := aes.NewCipher(keys[:32])
		if err != nil {
			return nil, "", err
		}
		if c.sealer.aead, err = cipher.NewGCMWithRandomNonce(b); err != nil {
			return nil, "", err
		}
		c.sealer.mac = hmac.New(sha256.New, keys[32:])
	}
	c.sealer.mac.Reset()
	c.sealer.mac.Write(key[:])
	name := hex.EncodeToString(c.sealer.mac.Sum(nil))
	return c.sealer.aead, memento.Path("/" + name[:2] + "/" + name[2:]), nil
}

// A sealer has the keys of a conversation, once they are made.
type sealer struct {
	aead cipher.AEAD
	mac  hash.Hash
}

// Reading the hidden rounds of a conversation.
const (
	stateReaders = 8 // at the same time
	stateTimeout = 10 * time.Second
)

// getAll returns the hidden rounds of turns; nil for those that have none. The first
// failure of the storage ends it, since the other reads would wait as long: then the
// result has what was read before.
//
// Errors: errTooMuch if they have more than most bytes together.
func (s *State) getAll(ctx context.Context, c *conversation, keys []chainKey, most int64) ([]*turnState, error) {
	found := make([]*turnState, len(keys))
	var size atomic.Int64
	type sealed struct {
		at   int
		path memento.Path
	}
	var unread []sealed
	for i, key := range keys {
		_, path, err := c.seal(key)
		if err != nil {
			return found, nil // nothing can have been kept
		}
		s.mu.Lock()
		known, ok := s.kept.Get(string(path))
		s.mu.Unlock()
		if ok {
			found[i] = known.state
			size.Add(int64(known.size))
		} else {
			unread = append(unread, sealed{i, path})
		}
	}
	if size.Load() > most {
		return nil, errTooMuch
	}
	if len(unread) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first error
		wg    sync.WaitGroup
	)
	for range min(len(unread), stateReaders) {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(len(unread)) && ctx.Err() == nil; n = next.Add(1) {
				turn := unread[n-1]
				state, bytes, err := s.read(ctx, c, turn.path)
				found[turn.at] = state
				if err == nil && size.Add(int64(bytes)) > most {
					err = errTooMuch
				}
				if err == nil {
					continue
				}
				mu.Lock()
				if first == nil || first == errUnreadable {
					first = err
				}
				mu.Unlock()
				if !errors.Is(err, errUnreadable) {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	return found, cmp.Or(first, ctx.Err())
}

// errUnreadable means that what was kept of a turn is damaged.
var errUnreadable = errors.New("the state of a turn cannot be read")

// errTooMuch is the answer to a conversation whose hidden rounds make it too large.
var errTooMuch = &Error{
	Status: http.StatusRequestEntityTooLarge, Type: "request_too_large",
	Message: "the conversation is too large with the memory calls that were made in it; begin a new one, or leave out its first turns",
	limit:   true,
}

// read reads the hidden rounds of a turn, and says how many bytes they are; nil if there
// are none.
func (s *State) read(ctx context.Context, c *conversation, path memento.Path) (*turnState, int, error) {
	m, err := s.store(c.caller.Workspace).Get(ctx, memento.ByPath(path))
	if errors.Is(err, memento.ErrNotExist) || errors.Is(err, memento.ErrNoStore) {
		s.cache(path, nil, 0)
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	sealed, err := base64.StdEncoding.DecodeString(m.Content)
	if err != nil {
		return nil, 0, errUnreadable
	}
	plain, err := c.sealer.aead.Open(nil, nil, sealed, []byte(path))
	if err != nil {
		return nil, 0, errUnreadable
	}
	plain, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(plain)), maxState+1))
	if err != nil || len(plain) > maxState {
		return nil, 0, errUnreadable
	}
	var state turnState
	if err := gob.NewDecoder(bytes.NewReader(plain)).Decode(&state); err != nil {
		return nil, 0, errUnreadable
	}
	s.cache(path, &state, len(plain))
	return &state, len(plain), nil
}

// put keeps the hidden rounds of a turn.
func (s *State) put(ctx context.Context, c *conversation, key chainKey, state *turnState) error {
	aead, path, err := c.seal(key)
	if err != nil {
		return err
	}
	var plain bytes.Buffer
	if err := gob.NewEncoder(&plain).Encode(state); err != nil {
		return err
	}
	if plain.Len() > maxState {
		return fmt.Errorf("%w: the turn has %d bytes", memento.ErrTooLarge, plain.Len())
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := w.Write(plain.Bytes()); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	sealed := aead.Seal(nil, nil, packed.Bytes(), []byte(path))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	put := memento.Put{Path: path, Content: base64.StdEncoding.EncodeToString(sealed)}
	if _, err := s.store(c.caller.Workspace).Apply(ctx, memento.Actor{Kind: memento.ActorSystem, ID: "gateway"}, put); err != nil {
		return err
	}
	s.cache(path, state, plain.Len())
	return nil
}

// store returns the store for the callers of a workspace.
func (s *State) store(ws memento.Workspace) *memento.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if store, ok := s.stores.Get(ws); ok {
		return store
	}
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off // it is ciphertext
	settings.Expiry.After = stateAge
	settings.Retention = memento.Retention{}
	store := memento.OpenNamed(s.backend, StateWorkspace, memento.StoreSpec{
		Name: string(ws), Description: "hidden rounds of conversations through the gateway, sealed", Settings: &settings,
		Limits: memento.Limits{MemoryBytes: 8 << 20, Memories: 10_000_000, Bytes: 100 << 30},
	}, nil)
	s.stores.Put(ws, store)
	return store
}

// cache remembers a turn, and that a turn has nothing hidden.
func (s *State) cache(path memento.Path, state *turnState, size int) {
	size += 256
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.kept.Peek(string(path)); ok {
		s.bytes -= old.size
	}
	s.kept.Put(string(path), cached{state, size})
	s.bytes += size
	for oldest, entry := range s.kept.Oldest() {
		if s.bytes <= cachedStates {
			break
		}
		s.kept.Remove(oldest)
		s.bytes -= entry.size
	}
}
