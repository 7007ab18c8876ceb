package keyedlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestLockKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string]()
		unlock, err := l.Lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				unlock, err := l.Lock(t.Context(), "/a")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i) // guarded by the lock
				unlock()
			})
			synctest.Wait() // until it waits
		}
		if len(order) != 0 {
			t.Errorf("%v did not wait", order)
		}
		unlock()
		wg.Wait()
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
			t.Errorf("they came in the order %v", order)
		}
		if l.free.Len() != 0 {
			t.Errorf("%d locks are left over", l.free.Len())
		}
	})
}

func TestKeysAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string]()
		unlockA, err := l.Lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		unlockB, err := l.Lock(t.Context(), "/b") // in this bubble, waiting for ever would fail the test
		if err != nil {
			t.Fatal(err)
		}
		unlockA()
		unlockB()
		if l.free.Len() != 0 {
			t.Errorf("%d locks are left over", l.free.Len())
		}
	})
}

func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string]()
		unlock, err := l.Lock(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		impatient, cancel := context.WithCancel(t.Context())
		var first, second error
		var wg sync.WaitGroup
		wg.Go(func() { _, first = l.Lock(impatient, "/a") })
		synctest.Wait()
		wg.Go(func() {
			var unlock func()
			if unlock, second = l.Lock(t.Context(), "/a"); second == nil {
				unlock()
			}
		})
		synctest.Wait()

		cancel()
		synctest.Wait() // the first is gone while the lock is still held
		if !errors.Is(first, context.Canceled) {
			t.Errorf("the one who gave up got %v", first)
		}
		if l.free.Len() != 1 || l.free.Users("/a") != 2 {
			t.Error("the one who gave up is still counted")
		}
		unlock()
		wg.Wait()
		if second != nil {
			t.Errorf("the one after it got %v", second)
		}
		if l.free.Len() != 0 {
			t.Errorf("%d locks are left over", l.free.Len())
		}
	})
}
