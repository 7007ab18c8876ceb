package commitqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type job struct {
	Job
	n int
}

var errOdd = errors.New("odd")

// A committer is the simplest leader: it notes which jobs it has carried out together.
type committer struct {
	*Queue[*job]
	max     int
	working time.Duration // what a batch takes
	batches [][]int       // guarded by being the leader
}

func newCommitter(outcome time.Duration) *committer {
	return &committer{Queue: New[*job](outcome), max: 100, working: time.Second}
}

func (c *committer) lead(context.Context) {
	defer c.Unlock()
	batch := c.Take(c.max)
	if len(batch) == 0 {
		return
	}
	time.Sleep(c.working)
	var numbers []int
	for _, j := range batch {
		numbers = append(numbers, j.n)
	}
	c.batches = append(c.batches, numbers)
	for _, j := range batch {
		if j.n%2 == 1 {
			j.Finish(errOdd)
			continue
		}
		j.Finish(nil)
	}
}

// start calls Do in a goroutine, and returns when the job waits or is carried out.
func (c *committer) start(ctx context.Context, n int) (result chan error) {
	result = make(chan error, 1)
	go func() { result <- c.Do(ctx, &job{n: n}, c.lead) }()
	synctest.Wait()
	return result
}

// Jobs that arrive during a commit share the next ones, in their order, at most max each;
// each gets its own error.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(0)
		c.max = 3
		var results []chan error
		for n := range 6 {
			results = append(results, c.start(t.Context(), n))
		}
		if c.Len() != 5 {
			t.Errorf("%d jobs are waiting", c.Len())
		}
		for n, result := range results {
			if err := <-result; (n%2 == 1) != (err == errOdd) || err != nil && err != errOdd {
				t.Errorf("job %d: %v", n, err)
			}
		}
		c.Lock() // batches may be read
		defer c.Unlock()
		if want := [][]int{{0}, {1, 2, 3}, {4, 5}}; !slices.EqualFunc(c.batches, want, slices.Equal) {
			t.Errorf("the batches %v; want %v", c.batches, want)
		}
	})
}

// A job whose caller gives up while it waits is never carried out; the others are.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(UntilKnown)
		ctx, cancel := context.WithCancel(t.Context())
		first, impatient, last := c.start(t.Context(), 0), c.start(ctx, 2), c.start(t.Context(), 4)
		cancel()
		if err := <-impatient; err != context.Canceled {
			t.Errorf("a caller who gave up: %v", err)
		}
		if first, last := <-first, <-last; first != nil || last != nil {
			t.Errorf("others: %v, %v", first, last)
		}
		if err := c.Do(ctx, &job{n: 6}, c.lead); err != context.Canceled {
			t.Errorf("a caller whose context has ended: %v", err)
		}
		c.Lock()
		defer c.Unlock()
		if want := [][]int{{0}, {4}}; !slices.EqualFunc(c.batches, want, slices.Equal) {
			t.Errorf("the batches %v; want %v", c.batches, want)
		}
	})
}

// A job in progress goes on when its caller's context ends. How long the caller then waits
// for the outcome is the queue's choice.
func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		outcome, waits time.Duration
		known          bool
	}{
		{0, 0, false},
		{300 * time.Millisecond, 300 * time.Millisecond, false},
		{time.Minute, time.Second, true},
		{UntilKnown, time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommitter(tt.outcome)
			c.Lock()
			ctx, cancel := context.WithCancel(t.Context())
			result := c.start(ctx, 1)
			go c.lead(t.Context())
			synctest.Wait() // the leader has taken the job
			cancel()
			began := time.Now()
			want := context.Canceled
			if tt.known {
				want = errOdd
			}
			if err := <-result; err != want || time.Since(began) != tt.waits {
				t.Errorf("outcome %v: %v after %v; want %v after %v", tt.outcome, err, time.Since(began), want, tt.waits)
			}
			c.Lock() // until the leader is done
			batches := len(c.batches)
			c.Unlock()
			if batches != 1 {
				t.Errorf("%d batches", batches)
			}
		})
	}
}

// A leader that gives up before it has taken jobs leaves them to another.
func TestLeaderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(UntilKnown)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			first <- c.Do(ctx, &job{n: 2}, func(ctx context.Context) {
				<-ctx.Done()
				c.Unlock()
			})
		}()
		synctest.Wait()
		second := c.start(t.Context(), 4)
		cancel()
		if err := <-first; err != context.Canceled {
			t.Errorf("the leader that gave up: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("another's job: %v", err)
		}
	})
}

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommitter(0)
		if !c.TryLock() {
			t.Fatal("nobody is the leader, and TryLock fails")
		}
		if c.TryLock() {
			t.Error("there are two leaders")
		}
		waits := c.start(t.Context(), 0)
		c.Unlock()
		if c.TryLock() {
			t.Error("TryLock goes before a job that waits")
		}
		if err := <-waits; err != nil {
			t.Error(err)
		}
		c.Lock()
		accepted := c.start(t.Context(), 2)
		if c.Closed() || !c.Close() || c.Close() || !c.Closed() {
			t.Error("Close does not report the first call")
		}
		if err := c.Do(t.Context(), &job{}, c.lead); err != ErrClosed {
			t.Errorf("a job after Close: %v", err)
		}
		c.Unlock()
		if err := <-accepted; err != nil {
			t.Errorf("a job that was accepted before Close: %v", err)
		}
		if c.TryLock() {
			t.Error("TryLock succeeds after Close")
		}
	})
}

func TestSafely(t *testing.T) {
	err := Safely(func() error { panic("hot") })
	if e, ok := errors.AsType[*PanicError](err); !ok || e.Cause != "hot" || err.Error() != "internal fault: hot" {
		t.Errorf("a panic: %v", err)
	}
	if err := Safely(func() error { return errOdd }); err != errOdd {
		t.Errorf("an error: %v", err)
	}
	if err := Safely(func() error { return nil }); err != nil {
		t.Errorf("success: %v", err)
	}
}

// Under many callers, some of whom give up, each job is carried out once or withdrawn.
func TestConcurrently(t *testing.T) {
	c := newCommitter(UntilKnown)
	c.max, c.working = 7, 0
	var mu sync.Mutex
	finished := map[int]bool{}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for k := range 200 {
				n := 2 * (i*200 + k)
				ctx, cancel := context.WithCancel(t.Context())
				if k%5 == 0 {
					go cancel()
				}
				err := c.Do(ctx, &job{n: n}, c.lead)
				cancel()
				if err != nil && (err != context.Canceled || k%5 != 0) {
					t.Errorf("job %d: %v", n, err)
				}
				mu.Lock()
				finished[n] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	carriedOut := map[int]int{}
	for _, batch := range c.batches {
		if len(batch) > c.max {
			t.Errorf("a batch has %d jobs", len(batch))
		}
		for _, n := range batch {
			carriedOut[n]++
		}
	}
	for n, done := range finished {
		if want := map[bool]int{true: 1}[done]; carriedOut[n] != want {
			t.Errorf("job %d was carried out %d times; its caller was told %v", n, carriedOut[n], done)
		}
	}
	if c.Len() != 0 {
		t.Errorf("%d jobs are left", c.Len())
	}
}
