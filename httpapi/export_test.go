package httpapi

import (
	"context"
	"time"

	"memento"
	"memento/backend/apikey"
)

// An Endpoint is a row of the table, for tests from outside.
type Endpoint struct {
	Method, Pattern string
	Role            apikey.Role // that it needs; "" for none
	Standard        bool        // of the Memory Stores API
	Stream          bool
}

// Endpoints lists the table.
func Endpoints() (list []Endpoint) {
	for _, r := range endpoints {
		list = append(list, Endpoint{r.method, r.pattern, r.role, r.kind == anthropicEndpoint, r.kind == streamEndpoint})
	}
	return list
}

// Rates counts requests at given times.
type Rates struct{ rates rateLimiter }

func NewRates(r Rate) *Rates { return &Rates{rateLimiter{rate: r}} }

// Take counts a request: 0, or how long to wait for the next.
func (r *Rates) Take(key string, writes bool, now time.Time) time.Duration {
	if f, refused := r.rates.allow(key, writes, 1, now).(*apiError); refused {
		return f.retryAfter
	}
	return 0
}

// Len is how many keys are known.
func (r *Rates) Len() int { return len(r.rates.keys) }

const (
	MaxRates  = maxRateKeys
	KeyFresh  = keyTTL
	UsedEvery = usedEvery
)

// HoldMemory takes so many bytes for a key, until what it returns is called.
func (a *API) HoldMemory(ws memento.Workspace, key string, n int64) (release func()) {
	who := Principal{ID: key, Workspace: ws, Actor: memento.Actor{Kind: memento.ActorAPIKey, ID: key}}
	h, why := a.memory.acquire(context.Background(), requester{string(ws), who.key()}, n, time.Now())
	if why != granted {
		panic(why)
	}
	return h.release
}
