package server

import (
	"maps"
	"math"
	"sync"
	"time"
)

// A tokenLimiter bounds the tokens of the upstream that each caller takes per minute. What
// a request takes is known only when it was answered: it is let in while its caller has
// tokens left, and the next ones wait for what it has taken beyond them.
type tokenLimiter struct {
	perMinute float64 // 0 means no limit; a caller may take as many at once

	mu   sync.Mutex
	left map[string]tokensLeft // by caller; those that have taken nothing lately are not in it
}

// tokensLeft is how many tokens a caller has left at a time; it can be negative.
type tokensLeft struct {
	tokens float64
	at     time.Time
}

// maxTokenCallers is the number of callers from which on those with all their tokens are
// removed.
const maxTokenCallers = 10_000

// leftAt returns how many tokens are left later.
func (l *tokenLimiter) leftAt(t tokensLeft, now time.Time) float64 {
	return min(l.perMinute, t.tokens+l.perMinute*max(0, now.Sub(t.at).Minutes()))
}

// wait returns how long a caller has to wait until it has tokens left; 0 if it has.
func (l *tokenLimiter) wait(caller string, now time.Time) time.Duration {
	if l.perMinute <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.left[caller]
	if !ok {
		return 0
	}
	tokens := l.leftAt(t, now)
	if tokens >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1-tokens)/l.perMinute*60)) * time.Second
}

// take counts what a request of a caller has taken.
func (l *tokenLimiter) take(caller string, tokens int64, now time.Time) {
	if l.perMinute <= 0 || tokens <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.left[caller]
	if !ok {
		if len(l.left) >= maxTokenCallers {
			maps.DeleteFunc(l.left, func(_ string, t tokensLeft) bool { return l.leftAt(t, now) == l.perMinute })
		}
		if l.left == nil {
			l.left = map[string]tokensLeft{}
		}
		t = tokensLeft{tokens: l.perMinute, at: now}
	}
	l.left[caller] = tokensLeft{tokens: l.leftAt(t, now) - float64(tokens), at: now}
}
