package httpapi

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"

	"memento"
)

// Clients retry a request when its answer got lost. Most requests can be executed
// again; calls of the memory tool cannot, because an insert that is executed twice adds
// its text twice. So the results of calls are kept for a while, if a retry can be told
// from another request that looks the same: by the IDs that the model gave to the
// calls, or by an Idempotency-Key.

const (
	idempotencyTTL = 10 * time.Minute // longer than any SDK goes on trying
	maxAttempts    = 4096             // kept at once; the oldest go first
	maxResultBytes = 64 << 10         // bytes of one request's results; larger ones are not kept
	maxCacheBytes  = 32 << 20         // of all, if there is much memory
	finishTimeout  = time.Minute      // how long calls may take once their client is gone
)

// An idempotencyCache keeps the recent requests that changed something, and their
// results.
type idempotencyCache struct {
	mu       sync.Mutex
	byKey    map[idempotencyKey]*attempt
	byAge    []*attempt // oldest first
	bytes    int64      // bytes of the results
	maxBytes int64      // maximum of bytes
}

// An idempotencyKey is the SHA-256 of the client and its request.
type idempotencyKey [sha256.Size]byte

// An attempt is a request under way, or answered.
type attempt struct {
	key     idempotencyKey
	body    [sha256.Size]byte // its SHA-256
	at      time.Time
	done    chan struct{} // closed once results are there
	results []memento.ResultBlock
	size    int64 // of the results, once they are counted in idempotencyCache.bytes
}

const idempotencyHeader = "Idempotency-Key"

// idempotencyKey returns what a retry of a request is recognized by. ok is false if a
// retry could not be told from another request that looks the same: the request has no
// Idempotency-Key, and a call that the model gave no ID.
func (c *call) idempotencyKey(session string, body []byte, calls []memento.Call) (key idempotencyKey, ok bool) {
	own := c.r.Header.Get(idempotencyHeader)
	if own == "" && slices.ContainsFunc(calls, func(call memento.Call) bool { return call.ID == "" }) {
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

// isRetry reports whether the client says that it may have sent this request
// before: the SDKs count their retries, others send an Idempotency-Key.
func isRetry(r *http.Request) bool {
	count := r.Header.Get("X-Stainless-Retry-Count")
	return count != "" && count != "0" || r.Header.Get(idempotencyHeader) != ""
}

// do executes a request, unless it is a retry: then it waits for the first attempt, and
// returns the same results. An attempt goes on when its client is gone, so that there
// are results for the retry.
func (a *idempotencyCache) do(ctx context.Context, key idempotencyKey, body []byte, retry bool, now time.Time, execute func(context.Context) []memento.ResultBlock) ([]memento.ResultBlock, error) {
	this, first := a.begin(key, sha256.Sum256(body), retry, now)
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

// errKeyReused refuses a key that was sent with another body before. If the request
// were executed, a changed retry would be executed twice.
var errKeyReused = &apiError{
	status: http.StatusUnprocessableEntity, kind: invalidRequest,
	message: idempotencyHeader + ": was already used with another body; use a new key for each new request",
}

// begin returns the attempt that a retry repeats, or a new one; nil if an attempt with
// the same key had another body.
func (a *idempotencyCache) begin(key idempotencyKey, body [sha256.Size]byte, retry bool, now time.Time) (this *attempt, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.byKey[key]; retry && old != nil && now.Sub(old.at) < idempotencyTTL {
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

// count counts the bytes of an attempt's results, and drops attempts if there are too many.
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

// drop drops the attempt at index i of byAge.
func (a *idempotencyCache) drop(i int) {
	this := a.byAge[i]
	a.byAge = slices.Delete(a.byAge, i, i+1)
	a.bytes -= this.size
	if a.byKey[this.key] == this {
		delete(a.byKey, this.key)
	}
}
