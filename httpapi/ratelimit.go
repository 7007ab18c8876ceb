package httpapi

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Rate is the number of requests that a key may make. Zero means no limit.
type Rate struct {
	Reads  float64 // per minute, of requests that change nothing
	Writes float64 // per minute, of other requests
	Burst  int     // requests at once; 0 means those of ten seconds, at least 10
}

func (r Rate) limiter(perMinute float64) *rate.Limiter {
	if perMinute <= 0 {
		return nil
	}
	burst := r.Burst
	if burst <= 0 {
		burst = max(10, int(math.Ceil(perMinute/6)))
	}
	return rate.NewLimiter(rate.Limit(perMinute/60), burst)
}

// A rateLimiter limits the requests of each key by token buckets.
type rateLimiter struct {
	rate Rate
	mu   sync.Mutex
	keys map[string]*keyLimiters
}

type keyLimiters struct{ reads, writes *rate.Limiter } // nil means no limit

// isFull reports whether the buckets of the key are full. Such a key needs no state.
func (k *keyLimiters) isFull(now time.Time) bool {
	for _, l := range []*rate.Limiter{k.reads, k.writes} {
		if l != nil && l.TokensAt(now) < float64(l.Burst()) {
			return false
		}
	}
	return true
}

// maxRateKeys is the number of keys from which on those with full buckets are removed.
const maxRateKeys = 10_000

// allow counts n requests at once, or refuses them with an error of status 429.
func (r *rateLimiter) allow(key string, writes bool, n int, now time.Time) error {
	if r.rate.Reads <= 0 && r.rate.Writes <= 0 {
		return nil
	}
	r.mu.Lock()
	k := r.keys[key]
	if k == nil {
		if len(r.keys) >= maxRateKeys {
			maps.DeleteFunc(r.keys, func(_ string, old *keyLimiters) bool { return old.isFull(now) })
		}
		if r.keys == nil {
			r.keys = map[string]*keyLimiters{}
		}
		k = &keyLimiters{reads: r.rate.limiter(r.rate.Reads), writes: r.rate.limiter(r.rate.Writes)}
		r.keys[key] = k
	}
	r.mu.Unlock()

	l := k.reads
	if writes {
		l = k.writes
	}
	if l == nil {
		return nil
	}
	turn := l.ReserveN(now, min(n, l.Burst())) // more than a burst would never be allowed
	wait := turn.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	turn.CancelAt(now)
	return &apiError{status: http.StatusTooManyRequests, kind: rateLimited, retryAfter: wait,
		message: fmt.Sprintf("this key exceeds %g requests of this kind per minute", float64(l.Limit())*60)}
}
