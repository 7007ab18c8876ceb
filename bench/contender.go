package main

import (
	"context"
	"time"
)

// A contender is one side of the comparison: a store, and a way to call its tool.
type contender interface {
	// replay executes the calls of a step, each lane's in order and the lanes at
	// once, and again until atLeast has passed. An answer that is an error ends
	// it. Reading and parsing the file is not in the time.
	replay(ctx context.Context, file string, atLeast time.Duration) (measure, error)
	// settle does the work that the calls have put off, so that nobody else is
	// measured meanwhile, and returns how long that took.
	settle(ctx context.Context) (time.Duration, error)
	// notes returns what the store holds: text by path, as the agent says it.
	notes(ctx context.Context) (map[string]string, error)
	close() error
}

// A measure is how long a number of calls took.
type measure struct {
	Calls int   `json:"calls"`
	Nanos int64 `json:"nanos"`
}

func (m measure) perSecond() float64 { return float64(m.Calls) / (float64(m.Nanos) / 1e9) }
