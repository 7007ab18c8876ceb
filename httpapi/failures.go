package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Secrets are too long to be guessed. Answers to wrong ones come late nevertheless once
// there are many, so that whoever tries costs the server little. Right keys are never
// slowed, whatever else comes from their address: many clients may be behind a proxy.

const (
	freeFailures = 30     // of an address in a minute, before answers come late
	maxDelayed   = 64     // answers that wait at once; others are refused at once, and end their connection
	maxAddresses = 10_000 // that are counted at once
)

// failures counts wrong keys by the address that they come from.
type authFailures struct {
	delay time.Duration // of answers; less than 0 for none

	mu      sync.Mutex
	since   time.Time // when this minute's counts began
	counts  map[netip.Prefix]int
	delayed int
}

// failed notes a wrong key, and returns once it may be answered: false if it is to be
// refused for being one of too many.
func (f *authFailures) record(ctx context.Context, remote string, now time.Time) bool {
	if f.delay < 0 || !f.count(remote, now) {
		return true
	}
	if !f.startDelay() {
		return false
	}
	defer f.endDelay()
	t := time.NewTimer(f.delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return true
}

// enter counts a failure, and reports whether its answer is to come late.
func (f *authFailures) count(remote string, now time.Time) (late bool) {
	from := addressOf(remote)
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := now.Sub(f.since); d >= time.Minute || d < 0 || f.counts == nil {
		f.since, f.counts = now, map[netip.Prefix]int{}
	}
	if _, known := f.counts[from]; !known && len(f.counts) >= maxAddresses {
		return true // with so many addresses they are one caller's
	}
	f.counts[from]++
	return f.counts[from] > freeFailures
}

func (f *authFailures) startDelay() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delayed >= maxDelayed {
		return false
	}
	f.delayed++
	return true
}

func (f *authFailures) endDelay() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delayed--
}

// addressOf returns the network that a caller has: an address of IPv4, or 64 bits of
// IPv6, which is what one caller is given. It is the connection's: what a header says
// of it may be made up.
func addressOf(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr := at.Addr().Unmap()
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

// errTooManyFailures is of wrong keys that come faster than they are answered.
var errTooManyFailures = &apiError{
	status: http.StatusTooManyRequests, kind: rateLimited, message: "too many requests with keys that are not valid",
	retryAfter: time.Minute, closeConn: true,
}
