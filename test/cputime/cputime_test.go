package cputime

import (
	"testing"
	"time"
)

// Waiting costs nothing, and work costs what it takes.
func TestLeast(t *testing.T) {
	if took := Least(3, 0, func() { time.Sleep(100 * time.Millisecond) }); took > 50*time.Millisecond {
		t.Errorf("waiting took %v", took)
	}
	// A second of work, however long that takes on a busy machine.
	var until time.Duration
	if took := Least(1, 0, func() {
		for until = Used() + time.Second; Used() < until; {
		}
	}); took < time.Second {
		t.Errorf("a second of work took %v", took)
	}
}

// The calls end with the first that is within the limit.
func TestLimit(t *testing.T) {
	calls := 0
	Least(5, time.Hour, func() { calls++ })
	if calls != 1 {
		t.Errorf("%d calls within the limit", calls)
	}
	calls = 0
	Least(5, -1, func() { calls++ })
	if calls != 5 {
		t.Errorf("%d calls beyond the limit", calls)
	}
}
