package textindex

import (
	"testing"
	"testing/synctest"
	"time"
)

// While others write, or a search scans, a pacer rests for some times as long as it has worked,
// but not again for what a busy machine has made it rest too long before.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &indexer{}
		p := &pacer{indexer: x, factor: 2, since: time.Now()}
		rests := func(worked time.Duration) time.Duration {
			p.since = time.Now()
			time.Sleep(worked)
			start := time.Now()
			p.pause(t.Context())
			return time.Since(start)
		}
		busy := func() { x.last.Store(time.Now().UnixNano()) }
		if took := rests(slice); took != 0 {
			t.Errorf("it rests for %v, and nobody writes", took)
		}
		busy()
		if took := rests(slice / 2); took != 0 {
			t.Errorf("it rests for %v after a moment", took)
		}
		if took := rests(slice); took != 2*slice {
			t.Errorf("it rests for %v after %v", took, slice)
		}
		p.rested = 5 * slice
		if first, second, third := rests(slice), rests(slice), rests(slice); first != 0 || second != 0 || third != slice {
			t.Errorf("with what it has rested too long, it rests for %v, %v, %v", first, second, third)
		}
		if took := rests(time.Second); took != 0 { // nobody has written for long
			t.Errorf("it rests for %v after the last write", took)
		}
		x.scans.Add(1)
		if took := rests(slice); took != scanFactor*slice {
			t.Errorf("it rests for %v while a search scans", took)
		}
	})
}
