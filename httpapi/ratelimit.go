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

// A Rate is how many requests a key may make. Zero is without limit.
type Rate struct {
	Reads  float64 // a minute, of those that only look
	Writes float64 // a minute, of the others
	Burst  int     // that may come at once; 0 means as many as come in ten seconds, at least 10
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

// rates counts the requests of each key.
type rateLimiter struct {
	rate Rate
	mu   sync.Mutex
	keys map[string]*keyLimiters
}

type keyLimiters struct{ reads, writes *rate.Limiter } // nil without limit

// whole reports whether nothing of the key's bursts is used up, so that it need not
// be known.
func (k *keyLimiters) isFull(now time.Time) bool {
	for _, l := range []*rate.Limiter{k.reads, k.writes} {
		if l != nil && l.TokensAt(now) < float64(l.Burst()) {
			return false
		}
	}
	return true
}

// maxRates is how many keys are counted before those that need not be are forgotten.
const maxRateKeys = 10_000

// take counts n requests at once, or refuses them.
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
	turn := l.ReserveN(now, min(n, l.Burst())) // more than a burst could never come
	wait := turn.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	turn.CancelAt(now)
	return &apiError{status: http.StatusTooManyRequests, kind: rateLimited, retryAfter: wait,
		message: fmt.Sprintf("this key makes more than %g requests of this kind a minute", float64(l.Limit())*60)}
}
