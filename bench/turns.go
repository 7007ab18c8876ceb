package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A runner makes calls until atLeast has passed.
type runner func(ctx context.Context, atLeast time.Duration) (measure, error)

// takeTurns has the sides run in turns, and returns the median rate of each, in
// calls a second. The first round warms up and does not count.
func (b *bench) takeTurns(ctx context.Context, what operation, atLeast time.Duration, sides ...runner) ([]float64, error) {
	rates := make([][]float64, len(sides))
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	for round := range b.rounds + 1 {
		for _, i := range order {
			syncDisk()
			runtime.GC()
			m, err := sides[i](ctx, atLeast)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(b.progress, "  round %d of %d: %s, side %d: %s a second\n", round, b.rounds, what, i+1, rate(m.perSecond()))
			if round > 0 {
				rates[i] = append(rates[i], m.perSecond())
			}
		}
		slices.Reverse(order) // nobody always goes first
	}
	medians := make([]float64, len(sides))
	for i := range sides {
		medians[i] = median(rates[i])
	}
	return medians, nil
}

// callAll has callers make calls at once, one after the other each, until atLeast
// has passed. A caller's calls are numbered from 0.
func callAll(ctx context.Context, callers int, atLeast time.Duration, call func(ctx context.Context, caller, i int) error) (measure, error) {
	start := time.Now()
	counts, faults := make([]int, callers), make([]error, callers)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for time.Since(start) < atLeast && faults[caller] == nil {
				faults[caller] = call(ctx, caller, counts[caller])
				counts[caller]++
			}
		})
	}
	wg.Wait()
	m := measure{Nanos: time.Since(start).Nanoseconds()}
	for _, n := range counts {
		m.Calls += n
	}
	return m, errors.Join(faults...)
}

// byTeam is a call as a runner, by as many callers as a team has.
func byTeam(call func(ctx context.Context, caller, i int) error) runner {
	return func(ctx context.Context, atLeast time.Duration) (measure, error) {
		return callAll(ctx, teamSize, atLeast, call)
	}
}

// A contest is one operation of a team's, beside what the medium itself can do.
type contest struct {
	op          operation
	beside      string  // what the other is
	target      float64 // as of a besideRow
	other, ours runner
}

// hold has the sides of each contest run in turns, and adds a row for it.
func (b *bench) hold(ctx context.Context, f *besideFigures, contests ...contest) error {
	for _, c := range contests {
		rates, err := b.takeTurns(ctx, c.op, b.turnTime(), c.other, c.ours)
		if err != nil {
			return fmt.Errorf("%s: %w", c.op, err)
		}
		f.Rows = append(f.Rows, besideRow{c.op, teamSize, c.beside, rates[0], rates[1], c.target})
	}
	return nil
}

// turnTime is how long a side runs in one round.
func (b *bench) turnTime() time.Duration {
	if b.quick {
		return 300 * time.Millisecond
	}
	return 5 * time.Second
}
