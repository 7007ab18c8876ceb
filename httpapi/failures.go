package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Secrets are too long to be guessed. Nevertheless, answers to wrong keys are delayed
// once there are many of them, so that an attacker causes little load. Valid keys are
// never delayed, whatever else comes from their address: many clients may share a proxy.

const (
	freeFailures = 30     // of an address per minute, before answers are delayed
	maxDelayed   = 64     // delayed answers at a time; further ones are refused at once, and the connection is closed
	maxAddresses = 10_000 // counted at a time
)

// authFailures counts wrong keys by the address of the client.
type authFailures struct {
	delay time.Duration // of answers; negative for none

	mu      sync.Mutex
	since   time.Time // when this minute's counts began
	counts  map[netip.Prefix]int
	delayed int
}

// record counts a wrong key, and returns when the request may be answered. It returns
// false if too many answers are delayed already; the request is then refused.
func (f *authFailures) record(ctx context.Context, remote netip.Addr, now time.Time) bool {
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

// count counts a wrong key, and reports whether its answer is delayed.
func (f *authFailures) count(remote netip.Addr, now time.Time) (late bool) {
	from := networkOf(remote)
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := now.Sub(f.since); d >= time.Minute || d < 0 || f.counts == nil {
		f.since, f.counts = now, map[netip.Prefix]int{}
	}
	if _, known := f.counts[from]; !known && len(f.counts) >= maxAddresses {
		return true // so many addresses are likely one client's
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

// networkOf returns the network of a client: one IPv4 address, or a /64 of IPv6, which
// is the usual assignment to one client.
func networkOf(addr netip.Addr) netip.Prefix {
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

// errTooManyFailures refuses wrong keys that arrive faster than they are answered.
var errTooManyFailures = &apiError{
	status: http.StatusTooManyRequests, kind: rateLimited, message: "too many requests with invalid keys",
	retryAfter: time.Minute, closeConn: true,
}
