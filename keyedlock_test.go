package memento

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestQueueKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q keyedLock
		leave, err := q.lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				leave, err := q.lock(t.Context(), "/a")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i) // no lock: having the turn is one
				leave()
			})
			synctest.Wait() // until it stands in line
		}
		if len(order) != 0 {
			t.Errorf("%v did not wait", order)
		}
		leave()
		wg.Wait()
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
			t.Errorf("they came in the order %v", order)
		}
		if len(q.locks) != 0 {
			t.Errorf("%d lines are left behind", len(q.locks))
		}
	})
}

func TestQueueKeysAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q keyedLock
		leaveA, err := q.lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		leaveB, err := q.lock(t.Context(), "/b") // in this bubble, waiting for ever would fail the test
		if err != nil {
			t.Fatal(err)
		}
		leaveA()
		leaveB()
		if len(q.locks) != 0 {
			t.Errorf("%d lines are left behind", len(q.locks))
		}
	})
}

func TestQueueCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q keyedLock
		leave, err := q.lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		impatient, cancel := context.WithCancel(t.Context())
		var first, second error
		var wg sync.WaitGroup
		wg.Go(func() { _, first = q.lock(impatient, "/a") })
		synctest.Wait()
		wg.Go(func() {
			var leave func()
			if leave, second = q.lock(t.Context(), "/a"); second == nil {
				leave()
			}
		})
		synctest.Wait()

		cancel()
		synctest.Wait() // the first is gone while the turn is still taken
		if !errors.Is(first, context.Canceled) {
			t.Errorf("the one who gave up got %v", first)
		}
		if len(q.locks) != 1 || q.locks["/a"].users != 2 {
			t.Error("the one who gave up is still counted")
		}
		leave()
		wg.Wait()
		if second != nil {
			t.Errorf("the one behind got %v", second)
		}
		if len(q.locks) != 0 {
			t.Errorf("%d lines are left behind", len(q.locks))
		}
	})
}
