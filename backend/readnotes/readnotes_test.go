package readnotes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"memento"

	"github.com/google/go-cmp/cmp"
)

var timing = Timing{Every: time.Hour, Delay: time.Minute, WriteTimeout: time.Second}

const (
	store = memento.StoreID("memstore_1")
	a     = memento.MemoryID("mem_a")
	b     = memento.MemoryID("mem_b")
)

// A medium keeps the writes, by when they began.
type medium struct {
	mu     sync.Mutex
	start  time.Time
	writes []string
	fault  error
	takes  time.Duration
}

func (m *medium) write(ctx context.Context, notes map[Key]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock() // which nobody waits for, since there is one write at a time
	text := fmt.Sprint(time.Since(m.start), ":")
	for _, id := range []memento.MemoryID{a, b} {
		if at, ok := notes[Key{store, id}]; ok {
			text += fmt.Sprint(" ", id, " ", at.Sub(m.start))
		}
	}
	m.writes = append(m.writes, text)
	select {
	case <-time.After(m.takes):
		return m.fault
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run plays a scene on notes that write to a medium, in a time of its own, and
// compares what is written, also by Close.
func run(t *testing.T, scene func(*testing.T, *Notes, *medium), want ...string) {
	synctest.Test(t, func(t *testing.T) {
		m := &medium{start: time.Now()}
		n := New(timing, m.write)
		scene(t, n, m)
		n.Close()
		time.Sleep(24 * time.Hour) // nothing comes afterwards
		if diff := cmp.Diff(want, m.writes); diff != "" {
			t.Error("written (-want +got):\n" + diff)
		}
	})
}

// note notes a read of now.
func (n *Notes) note(id memento.MemoryID) { n.Note(store, id, time.Now()) }

func TestNotesAreWrittenTogether(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		n.note(a)
		time.Sleep(30 * time.Second)
		n.note(b)
		time.Sleep(time.Hour)
	}, "1m0s: mem_a 0s mem_b 30s")
}

func TestReadsAreNotedNowAndThen(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		for range 13 { // at 0, 10 minutes, …, 2 hours
			n.note(a)
			time.Sleep(10 * time.Minute)
		}
	}, "1m0s: mem_a 0s", "1h1m0s: mem_a 1h0m0s", "2h1m0s: mem_a 2h0m0s")
}

func TestSyncWritesAtOnce(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		for range 2 { // the second finds nothing to write
			n.note(a)
			if err := n.Sync(t.Context()); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(30 * time.Second)
		n.note(b) // waits for as long as if there had been no Sync
		time.Sleep(time.Hour)
	}, "0s: mem_a 0s", "1m30s: mem_b 30s")
}

// Who asks too late loses nothing.
func TestSyncTooLate(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n.note(a)
		if err := n.Sync(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Sync: %v", err)
		}
	}, "0s: mem_a 0s")
}

func TestCloseWritesTheRest(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		n.note(a)
		time.Sleep(time.Second)
		n.Close()
		n.note(b)
		if err := n.Sync(t.Context()); err != nil {
			t.Error(err)
		}
	}, "1s: mem_a 0s")
}

// What could not be written is noted again when it is read again, not only an
// hour later.
func TestLostNotesAreForgotten(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		m.fault = errors.New("disk full")
		n.note(a)
		time.Sleep(10 * time.Minute) // the timer's write fails
		n.note(a)
		if err := n.Sync(t.Context()); !errors.Is(err, m.fault) {
			t.Errorf("Sync: %v", err)
		}
		m.fault = nil
		n.note(a)
		time.Sleep(10 * time.Minute)
		n.note(a)
	}, "1m0s: mem_a 0s", "10m0s: mem_a 10m0s", "11m0s: mem_a 10m0s")
}

// With KeepFailed, notes that a failed write has left are written with the next one, and
// are known meanwhile.
func TestFailedNotesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &medium{start: time.Now(), fault: errors.New("disk full")}
		timing := timing
		timing.KeepFailed = true
		n := New(timing, func(ctx context.Context, notes map[Key]time.Time) error {
			err := m.write(ctx, notes)
			delete(notes, Key{store, b}) // which was written nevertheless
			return err
		})
		n.note(a)
		n.note(b)
		if err := n.Sync(t.Context()); err == nil || err.Error() != "disk full" {
			t.Errorf("Sync: %v", err)
		}
		time.Sleep(90 * time.Second) // the timer's write fails, too
		m.mu.Lock()
		m.fault = nil
		m.mu.Unlock()
		if at := n.Noted(store, a); !at.Equal(m.start) {
			t.Errorf("mem_a is noted at %v, want %v", at, m.start)
		}
		if at := n.Noted(store, "mem_c"); !at.IsZero() {
			t.Errorf("mem_c is noted at %v", at)
		}
		n.Close()
		want := []string{"0s: mem_a 0s mem_b 0s", "1m0s: mem_a 0s", "1m30s: mem_a 0s"}
		if diff := cmp.Diff(want, m.writes); diff != "" {
			t.Error("written (-want +got):\n" + diff)
		}
	})
}

// Notes wait for a long write, which fails in the end, and are not lost with it.
func TestNewerNotesAreKept(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		m.takes, m.fault = 90*time.Minute, errors.New("disk full")
		n.note(a)
		go n.Sync(context.Background())
		time.Sleep(time.Hour)
		n.note(a)
		time.Sleep(30*time.Minute + time.Second) // the first write has failed
		m.mu.Lock()
		m.takes, m.fault = 0, nil
		m.mu.Unlock()
		n.note(a) // which is known
		time.Sleep(time.Hour)
	}, "0s: mem_a 0s", "1h30m29s: mem_a 1h0m0s") // tried a minute and a second apart
}

// A write of the timer's takes no longer than it is worth.
func TestPatience(t *testing.T) {
	run(t, func(t *testing.T, n *Notes, m *medium) {
		m.takes = time.Hour
		n.note(a)
		time.Sleep(time.Minute + timing.WriteTimeout)
		synctest.Wait()
		n.note(a) // since it was lost
		begun := time.Now()
		n.Close()
		if took := time.Since(begun); took != timing.WriteTimeout {
			t.Errorf("Close took %v", took)
		}
	}, "1m0s: mem_a 0s", "1m1s: mem_a 1m1s")
}

// Close and Sync return when nobody writes any more.
func TestWritesAreWaitedFor(t *testing.T) {
	for _, end := range []string{"Close", "Sync", "Sync, cut off"} {
		t.Run(end, func(t *testing.T) {
			run(t, func(t *testing.T, n *Notes, m *medium) {
				m.takes = 500 * time.Millisecond
				n.note(a)
				time.Sleep(time.Minute)
				synctest.Wait() // the timer's write is under way
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				want := 500 * time.Millisecond
				switch end {
				case "Close":
					n.Close()
				case "Sync, cut off":
					want = 100 * time.Millisecond
					time.AfterFunc(want, cancel)
					if err := n.Sync(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("Sync: %v", err)
					}
				default:
					if err := n.Sync(ctx); err != nil {
						t.Errorf("Sync: %v", err)
					}
				}
				cancel()
				if took := time.Since(m.start) - time.Minute; took != want {
					t.Errorf("it took %v", took)
				}
			}, "1m0s: mem_a 0s")
		})
	}
}

// Very many notes do not wait, and the oldest are not kept.
func TestManyNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written, writes := map[Key]int{}, 0
		n := New(timing, func(_ context.Context, notes map[Key]time.Time) error {
			writes++
			for key := range notes {
				written[key]++
			}
			return nil
		})
		all := func() {
			for i := range most + 1 {
				n.note(memento.MemoryID(fmt.Sprint("mem_", i)))
				if i == most-1 {
					synctest.Wait()
				}
			}
		}
		all()
		if writes != 1 || len(written) != most || len(n.noted) != 1 || len(n.fresh) != 1 {
			t.Errorf("%d notes written in %d writes, %d kept, %d to be written", len(written), writes, len(n.noted), len(n.fresh))
		}
		n.Close()
		if writes != 2 || len(written) != most+1 {
			t.Errorf("%d notes written in %d writes", len(written), writes)
		}
	})
}

// While nobody can write, what is kept is bounded.
func TestManyNotesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, written := make(chan struct{}), 0
		n := New(timing, func(_ context.Context, notes map[Key]time.Time) error {
			<-stuck
			written += len(notes)
			return nil
		})
		n.note(a)
		time.Sleep(timing.Delay)
		synctest.Wait() // the timer's write is under way
		for i := range 2 * most {
			n.note(memento.MemoryID(fmt.Sprint("mem_", i)))
		}
		if len(n.fresh) != most || len(n.noted) > most {
			t.Errorf("%d notes to be written, %d kept", len(n.fresh), len(n.noted))
		}
		close(stuck)
		n.Close()
		if written != 1+most {
			t.Errorf("%d notes written", written)
		}
	})
}

// All at once, for the race detector: every memory is written.
func TestAtOnce(t *testing.T) {
	var mu sync.Mutex
	written := map[Key]bool{}
	n := New(Timing{Every: time.Hour, Delay: time.Microsecond, WriteTimeout: time.Minute}, func(_ context.Context, notes map[Key]time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		for key := range notes {
			if written[key] {
				t.Errorf("%v is written again", key)
			}
			written[key] = true
		}
		return nil
	})
	var readers sync.WaitGroup
	for r := range 4 {
		readers.Go(func() {
			for i := range 1000 {
				n.note(memento.MemoryID(fmt.Sprint("mem_", i)))
				if i%100 == r {
					if err := n.Sync(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	readers.Wait()
	n.Close()
	if len(written) != 1000 {
		t.Errorf("%d of 1000 memories are written", len(written))
	}
}
