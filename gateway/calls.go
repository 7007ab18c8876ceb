package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"memento"
	"memento/internal/keyedlock"
	"memento/internal/lru"
)

const (
	keptResults = 1024
	keptBytes   = 32 << 20
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
	bytes int
}

type keptResult struct {
	memento.ResultBlock
	at time.Time
}

// keep adds a result, and drops the oldest ones that are too many or too large together.
func (r *results) keep(key [sha256.Size]byte, result keptResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.kept.Peek(key); ok {
		r.bytes -= old.size()
	}
	r.kept.Put(key, result)
	r.bytes += result.size()
	for oldest, old := range r.kept.Oldest() {
		if r.kept.Len() <= keptResults && r.bytes <= keptBytes || oldest == key {
			break
		}
		r.kept.Remove(oldest)
		r.bytes -= old.size()
	}
}

// size returns about how many bytes a result takes.
func (k keptResult) size() int { return len(k.Content) + 512 }

// said identifies the store and the messages of the present round.
func (c *conversation) said() [sha256.Size]byte {
	hash := sha256.New()
	hash.Write([]byte(c.key()))
	hash.Write(c.messages)
	return [sha256.Size]byte(hash.Sum(nil))
}

// run executes a memory call, a whole tool_use block, and returns its tool_result block.
// said identifies what was before it. A call that has started ends, even if the caller is
// gone.
func (c *conversation) run(said [sha256.Size]byte, block []byte) []byte {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.in.Context()), c.g.callTimeout)
	defer cancel()
	call, _ := memento.ParseCall(block) // RunCall answers with the error
	r := &c.g.results
	r.once.Do(func() { r.locks = keyedlock.New[[sha256.Size]byte]() })
	key := sha256.Sum256(append(said[:], block...))
	c.calls++
	unlock, err := r.locks.Lock(ctx, key)
	if err != nil { // the same call of another request has begun, and does not end
		c.failed++
		c.g.c.Logger.WarnContext(ctx, "gateway: a memory call does not end", "error", err)
		return resultOf(c.tool.Interrupted(ctx, call))
	}
	defer unlock()
	r.mu.Lock()
	known, done := r.kept.Get(key)
	r.mu.Unlock()
	result := known.ResultBlock
	if !done || call.ID == "" || time.Since(known.at) > keepResults {
		result = c.tool.RunCall(ctx, call)
		switch {
		case result.Err != nil:
			c.failed++
		case result.IsError:
			c.refused++
		}
		if !errors.Is(result.Err, memento.ErrUnavailable) { // nothing was changed: the next try may succeed
			r.keep(key, keptResult{result, time.Now()})
		}
	}
	return resultOf(result)
}

// resultOf returns a result as the upstream gets it.
func resultOf(result memento.ResultBlock) []byte {
	result.Err = nil
	data, _ := json.Marshal(result) // its texts always encode
	return data
}
