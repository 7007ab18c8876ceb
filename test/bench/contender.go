package main

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// A contender is one side of a comparison: a store, and a way to call its tool.
type contender interface {
	// name is the head of its column.
	name() string
	// replay executes the calls of a step, each caller's in order and the callers
	// concurrently, and repeats them until atLeast has passed. A tool result that is
	// an error ends it. The time to read and parse the file is not measured.
	replay(ctx context.Context, file string, atLeast time.Duration) (measure, error)
	// finishDeferred does the work that the calls have deferred, so that it does not
	// run while another contender is measured, and returns how long it took.
	finishDeferred(ctx context.Context) (time.Duration, error)
	// notes returns the texts in the store, by path with /memories.
	notes(ctx context.Context) (map[string]string, error)
	close() error
}

// A measure is how long a number of calls took.
type measure struct {
	Calls int   `json:"calls"`
	Nanos int64 `json:"nanos"`
}

func (m measure) perSecond() float64 { return float64(m.Calls) / (float64(m.Nanos) / 1e9) }

// repeatCalls has each caller call run over and over, concurrently, until atLeast
// has passed. run returns the number of calls that it made.
func repeatCalls(callers int, atLeast time.Duration, run func(caller int) (int, error)) (measure, error) {
	runtime.GC()
	start := time.Now()
	var m measure
	for {
		var wg sync.WaitGroup
		calls, errs := make([]int, callers), make([]error, callers)
		for i := range callers {
			wg.Go(func() { calls[i], errs[i] = run(i) })
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				return measure{}, err
			}
			m.Calls += calls[i]
		}
		if took := time.Since(start); took >= atLeast {
			m.Nanos = took.Nanoseconds()
			return m, nil
		}
	}
}

// replayFile executes the calls of a step's file through run, as replay of a
// contender says.
func replayFile(file string, atLeast time.Duration, run func(input []byte) error) (measure, error) {
	calls, err := readCalls(file)
	if err != nil {
		return measure{}, err
	}
	return repeatCalls(len(calls), atLeast, func(caller int) (int, error) {
		for _, in := range calls[caller] {
			if err := run(in); err != nil {
				return 0, err
			}
		}
		return len(calls[caller]), nil
	})
}
