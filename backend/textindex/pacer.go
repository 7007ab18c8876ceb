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
}

const (
	// slice is how long a pacer lets its goroutine work.
	slice = 500 * time.Microsecond
	// busyTime is how long after a write others are likely to write again.
	busyTime = time.Second / 5
	// restFactor is the factor of a pacer, unless the index is farBehind, so that searches are
	// slow.
	restFactor = 4
	farBehind  = 32768 // versions
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
	if p.indexer.isBusy() {
		select {
		// What took much longer has waited itself.
		case <-time.After(time.Duration(p.factor) * min(worked, 2*slice)):
		case <-ctx.Done():
		}
	} else {
		runtime.Gosched()
	}
	p.since = time.Now()
}

// isBusy reports whether versions are being written.
func (x *indexer) isBusy() bool { return time.Since(time.Unix(0, x.last.Load())) < busyTime }
