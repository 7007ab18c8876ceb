package main

import (
	"runtime"
	"sync"
	"time"
)

// replayLanes reads the calls of a step and executes them, each lane's in order and
// the lanes at once, and again until atLeast has passed.
func replayLanes(file string, atLeast time.Duration, run func(inputs [][]byte) error) (measure, error) {
	lanes, err := readLanes(file)
	if err != nil {
		return measure{}, err
	}
	runtime.GC()
	start := time.Now()
	var m measure
	for {
		var wg sync.WaitGroup
		faults := make([]error, len(lanes))
		for i, inputs := range lanes {
			wg.Go(func() { faults[i] = run(inputs) })
		}
		wg.Wait()
		for i, err := range faults {
			if err != nil {
				return measure{}, err
			}
			m.Calls += len(lanes[i])
		}
		if took := time.Since(start); took >= atLeast {
			m.Nanos = took.Nanoseconds()
			return m, nil
		}
	}
}
