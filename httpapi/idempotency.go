package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"memento"
)

// Clients repeat a request whose answer they have not got. Most requests can be
// repeated; calls of the memory tool cannot, because an insert that is executed twice
// is there twice. So what calls were answered is kept for a while, if they can be told
// from others that only look the same: by the IDs that the model gave them, or by an
// Idempotency-Key.

const (
	idempotencyTTL = 10 * time.Minute // longer than any SDK goes on trying
	maxAttempts    = 4096             // kept at once; the oldest go first
	maxResultBytes = 64 << 10         // bytes of what one request was answered; more is not kept
	maxCacheBytes  = 32 << 20         // of all, if there is much memory
	finishTimeout  = time.Minute      // how long calls may take once their client is gone
)

// repeats are the requests of late, by what they asked for.
type idempotencyCache struct {
	mu       sync.Mutex
	byKey    map[idempotencyKey]*attempt
	byAge    []*attempt // oldest first
	bytes    int64      // bytes of what is kept
	maxBytes int64      // bytes that may be kept
}

// A repeatKey is the SHA-256 of who asks for what.
type idempotencyKey [sha256.Size]byte

// An attempt is a request under way, or answered.
type attempt struct {
	key     idempotencyKey
	body    [sha256.Size]byte // its SHA-256
	at      time.Time
	done    chan struct{} // closed once results are there
	results []memento.ResultBlock
	size    int64 // of the results, once they are counted in repeats.kept
}

const idempotencyHeader = "Idempotency-Key"

// repeatKey returns what to know a repetition of a request by, and whether there is
// such a thing.
func (c *call) idempotencyKey(session string, body []byte, blocks []json.RawMessage) (key idempotencyKey, ok bool) {
	own := c.r.Header.Get(idempotencyHeader)
	if !mayChange(body) || own == "" && !identified(blocks) {
		return key, false
	}
	h := sha256.New()
	for _, part := range []string{c.who.key(), c.r.URL.Path, session, c.r.Header.Get(actorHeader), own} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	if own == "" { // with a key of the client's, the body must be the same: see begin
		h.Write(body)
	}
	return idempotencyKey(h.Sum(nil)), true
}

// identified reports whether all calls are tool_use blocks with an ID.
func identified(blocks []json.RawMessage) bool {
	for _, raw := range blocks {
		var block struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		if json.Unmarshal(raw, &block) != nil || block.Type != "tool_use" || block.ID == "" {
			return false
		}
	}
	return true
}

// isRepetition reports whether the client says that it may have sent this request
// before: the SDKs count their retries, others send an Idempotency-Key.
func isRetry(r *http.Request) bool {
	count := r.Header.Get("X-Stainless-Retry-Count")
	return count != "" && count != "0" || r.Header.Get(idempotencyHeader) != ""
}

// mayChange reports whether a request may change something: whether it has the name
// of a command that does, wherever.
func mayChange(body []byte) bool {
	for _, command := range []string{"create", "str_replace", "insert", "delete", "rename"} {
		if bytes.Contains(body, []byte(command)) {
			return true
		}
	}
	return bytes.Contains(body, []byte(`\u`)) // which may spell one
}

// once executes what a request asks for, unless it is a repetition: then it returns
// what the first was answered, once that is known. What has begun is finished,
// whether or not the client waits, so that there is something to be told.
func (a *idempotencyCache) do(ctx context.Context, key idempotencyKey, body []byte, repetition bool, now time.Time, execute func(context.Context) []memento.ResultBlock) ([]memento.ResultBlock, error) {
	this, first := a.begin(key, sha256.Sum256(body), repetition, now)
	if this == nil {
		return nil, errKeyReused
	}
	if !first {
		select {
		case <-this.done:
			if this.results == nil { // it did not end as it should have
				return nil, errInternal
			}
			return this.results, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	finish, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishTimeout, cancel) })()
	defer close(this.done)
	this.results = execute(finish)
	a.count(this)
	return this.results, nil
}

// errKeyReused is of a key that was sent with something else before. To execute it
// could be to execute twice what is not the same any more.
var errKeyReused = &apiError{
	status: http.StatusUnprocessableEntity, kind: invalidRequest,
	message: idempotencyHeader + ": was sent with another body before; choose a new key for each request that is no repetition",
}

// begin returns the attempt that a repetition repeats, or a new one; nil if it repeats
// the key of an attempt with another body.
func (a *idempotencyCache) begin(key idempotencyKey, body [sha256.Size]byte, repetition bool, now time.Time) (this *attempt, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.byKey[key]; repetition && old != nil && now.Sub(old.at) < idempotencyTTL {
		if old.body != body {
			return nil, false
		}
		return old, false
	}
	if a.byKey == nil {
		a.byKey = map[idempotencyKey]*attempt{}
	}
	this = &attempt{key: key, body: body, at: now, done: make(chan struct{})}
	a.byKey[key] = this
	a.byAge = append(a.byAge, this)
	for len(a.byAge) > maxAttempts || now.Sub(a.byAge[0].at) >= idempotencyTTL {
		a.drop(0)
	}
	return this, true
}

// count counts what an attempt was answered, and forgets what is too much.
func (a *idempotencyCache) count(this *attempt) {
	size := int64(0)
	for _, r := range this.results {
		size += int64(len(r.Content))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.byAge, this)
	if i < 0 { // it took long
		return
	}
	if size > maxResultBytes {
		a.drop(i)
		return
	}
	this.size = size
	for a.bytes += size; a.bytes > a.maxBytes; {
		a.drop(0)
	}
}

// forget drops the attempt at a place in ages.
func (a *idempotencyCache) drop(i int) {
	this := a.byAge[i]
	a.byAge = slices.Delete(a.byAge, i, i+1)
	a.bytes -= this.size
	if a.byKey[this.key] == this {
		delete(a.byKey, this.key)
	}
}

// execute runs calls in their order.
func execute(ctx context.Context, tool *memento.Tool, calls []json.RawMessage) []memento.ResultBlock {
	results := make([]memento.ResultBlock, 0, len(calls))
	for _, block := range calls {
		results = append(results, tool.RunBlock(ctx, block))
	}
	return results
}
