package textindex

import (
	"context"
	"runtime"
	"time"
)

// A pacer makes a goroutine that works for long give way to others: every slice it lets them
// run, and while versions are written it rests for some times as long as it has worked.
type pacer struct {
	indexer *indexer
	factor  int // times that it rests, while others write
	since   time.Time
	rested  time.Duration // more than it had to, because a busy machine woke it late
}

const (
	// slice is how long a pacer lets its goroutine work.
	slice = 500 * time.Microsecond
	// busyTime is how long after a write others are likely to write again.
	busyTime = time.Second / 5
	// restFactor is the factor of a pacer, unless the index is farBehind, so that searches are
	// slow; scanFactor is the least one while a search reads what the index lacks.
	restFactor = 4
	scanFactor = 3
	farBehind  = 32768 // versions
	// maxRested is how much of a rest that was too long counts for the next ones. Without
	// that, an index would hardly ever catch up on a machine that is always busy.
	maxRested = 50 * time.Millisecond
)

// GiveWay makes that what is done in the background rests more while versions are written:
// factor times as long as it works, unless the index lacks very many versions.
func (l *Live) GiveWay(factor int) { l.indexer.rest.Store(int32(factor)) }

// newPacer returns a pacer for what an index lacks so many versions.
func (x *indexer) newPacer(behind int64) *pacer {
	factor := max(restFactor, int(x.rest.Load()))
	if behind > farBehind {
		factor = 1
	}
	return &pacer{indexer: x, factor: factor, since: time.Now()}
}

// pause is called between short pieces of work. A nil pacer does nothing.
func (p *pacer) pause(ctx context.Context) {
	if p == nil {
		return
	}
	worked := time.Since(p.since)
	if worked < slice {
		return
	}
	factor := p.factor
	scans := p.indexer.scans.Load() > 0
	if scans {
		factor = max(factor, scanFactor)
	}
	if scans || p.indexer.isBusy() {
		// What took much longer has waited itself.
		rest := time.Duration(factor) * min(worked, 2*slice)
		if p.rested >= rest {
			p.rested -= rest
			runtime.Gosched()
		} else {
			start := time.Now()
			select {
			case <-time.After(rest - p.rested):
			case <-ctx.Done():
			}
			p.rested = min(p.rested+time.Since(start)-rest, maxRested)
		}
	} else {
		runtime.Gosched()
	}
	p.since = time.Now()
}

// isBusy reports whether versions are being written.
func (x *indexer) isBusy() bool { return time.Since(time.Unix(0, x.last.Load())) < busyTime }
