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
	keepResults = 10 * time.Minute
	callTimeout = 30 * time.Second
)

// results are the answers to the latest calls, so that a call is executed once even if the
// application repeats its request and the upstream makes the same call again: with the
// same ID, after the same messages. The API's IDs are unique; those of other upstreams
// may be the same in two conversations.
type results struct {
	once  sync.Once
	locks *keyedlock.Locks[[sha256.Size]byte]
	mu    sync.Mutex
	kept  lru.Map[[sha256.Size]byte, keptResult]
}

type keptResult struct {
	memento.ResultBlock
	at time.Time
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
	hash.Write(c.messages)
	hash.Write(block)
	key := [sha256.Size]byte(hash.Sum(nil))
	unlock, err := r.locks.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r.mu.Lock()
	known, done := r.kept.Get(key)
	r.mu.Unlock()
	result := known.ResultBlock
	c.calls++
	if !done || call.ID == "" || time.Since(known.at) > keepResults {
		result = c.tool.RunCall(ctx, call)
		switch {
		case result.Err != nil:
			c.failed++
		case result.IsError:
			c.refused++
		}
		r.mu.Lock()
		if r.kept.Len() >= keptResults {
			for oldest := range r.kept.Oldest() {
				r.kept.Remove(oldest)
				break
			}
		}
		r.kept.Put(key, keptResult{result, time.Now()})
		r.mu.Unlock()
	}
	result.Err = nil
	return json.Marshal(result)
}
