package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"memento"
	"memento/internal/keyedlock"
	"memento/internal/lru"
)

const (
	keptResults = 1024
	callTimeout = 30 * time.Second
)

// results are the answers to the latest calls, so that a call is executed once even if
// the upstream sends it again.
type results struct {
	once  sync.Once
	locks *keyedlock.Locks[[sha256.Size]byte]
	mu    sync.Mutex
	kept  lru.Map[[sha256.Size]byte, memento.ResultBlock]
}

// run executes a memory call, a whole tool_use block, and returns its tool_result block.
// A call that has started ends, even if the caller is gone.
func (c *conversation) run(block []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.in.Context()), callTimeout)
	defer cancel()
	call, _ := memento.ParseCall(block) // RunCall answers with the error
	r := &c.g.results
	r.once.Do(func() { r.locks = keyedlock.New[[sha256.Size]byte]() })
	hash := sha256.New()
	hash.Write([]byte(c.key()))
	hash.Write(block)
	key := [sha256.Size]byte(hash.Sum(nil))
	unlock, err := r.locks.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r.mu.Lock()
	result, done := r.kept.Get(key)
	r.mu.Unlock()
	c.calls++
	if !done || call.ID == "" {
		result = c.tool.RunCall(ctx, call)
		if result.Err != nil {
			c.failed++
		}
		r.mu.Lock()
		if r.kept.Len() >= keptResults {
			for oldest := range r.kept.Oldest() {
				r.kept.Remove(oldest)
				break
			}
		}
		r.kept.Put(key, result)
		r.mu.Unlock()
	}
	result.Err = nil
	return json.Marshal(result)
}
