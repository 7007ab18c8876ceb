package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A comparison replays one workload through several contenders.
type comparison struct {
	size, callers int
	round         []step
	contenders    []contender
	rates         map[operation]map[string][]float64 // in calls a second, by contender
	deferred      map[operation]map[string][]float64 // in microseconds a call, by contender
}

// A row is the medians of one operation on one store with so many callers.
type row struct {
	op             operation
	files, callers int
	rates          map[string]float64 // in calls a second, by contender
	deferred       map[string]float64 // in microseconds a call, by contender
}

func (c *comparison) String() string {
	return fmt.Sprintf("%s files, callers: %d", thousands(c.size), c.callers)
}

// newComparison generates the workload and writes its calls to a new directory, in
// which open creates the contenders, each with the notes in its store. open returns
// those it has created even with an error.
func (b *bench) newComparison(size, callers int, open func(dir string, notes []note) ([]contender, error)) (*comparison, error) {
	c := &comparison{size: size, callers: callers, rates: map[operation]map[string][]float64{}, deferred: map[operation]map[string][]float64{}}
	w, err := newWorkload(b.seed, size, callers, b.counts(size, callers))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.work, "")
	if err != nil {
		return nil, err
	}
	if err := w.write(dir); err != nil {
		return nil, err
	}
	c.round = w.round
	for i := range c.round {
		c.round[i].calls = nil // they are in the file; this spares the garbage collector
	}
	if c.contenders, err = open(dir, w.notes); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *comparison) close() error {
	var err error
	for _, side := range c.contenders {
		err = errors.Join(err, side.close())
	}
	return err
}

// playRound has the contenders take turns at each step of the round. Round 0 is a
// warm-up: it is not counted, and after each write it checks that all contenders did
// the same.
func (b *bench) playRound(ctx context.Context, c *comparison, round int) error {
	for _, s := range c.round {
		for _, side := range c.contenders {
			if err := ctx.Err(); err != nil {
				return err
			}
			atLeast := time.Duration(0)
			if s.op.reads() && s.timed && round > 0 {
				atLeast = b.readTime()
			}
			// An fsync often writes out what others changed in the same file system.
			// Nobody shall pay for that.
			syncDisk()
			m, err := side.replay(ctx, s.file, atLeast)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", side.name(), s.op, err)
			}
			deferred, err := side.finishDeferred(ctx)
			if err != nil {
				return fmt.Errorf("%s, after %s: %w", side.name(), s.op, err)
			}
			if round > 0 && s.timed {
				c.add(s.op, side.name(), m, deferred)
			}
		}
		if round == 0 && !s.op.reads() {
			if err := c.sameNotes(ctx); err != nil {
				return fmt.Errorf("after %s: %w", s.op, err)
			}
		}
	}
	slices.Reverse(c.contenders) // so that the order favors nobody
	return nil
}

func (c *comparison) add(op operation, name string, m measure, deferred time.Duration) {
	if c.rates[op] == nil {
		c.rates[op], c.deferred[op] = map[string][]float64{}, map[string][]float64{}
	}
	c.rates[op][name] = append(c.rates[op][name], m.perSecond())
	c.deferred[op][name] = append(c.deferred[op][name], float64(deferred.Microseconds())/float64(m.Calls))
}

func (c *comparison) rows() []row {
	var rows []row
	for _, op := range operations {
		r := row{op, c.size, c.callers, map[string]float64{}, map[string]float64{}}
		for name := range c.rates[op] {
			r.rates[name], r.deferred[name] = median(c.rates[op][name]), median(c.deferred[op][name])
		}
		rows = append(rows, r)
	}
	return rows
}

// sameNotes checks that all contenders hold the same notes, which shows that they
// all did the work.
func (c *comparison) sameNotes(ctx context.Context) error {
	first := c.contenders[0]
	want, err := first.notes(ctx)
	if err != nil {
		return err
	}
	for _, side := range c.contenders[1:] {
		got, err := side.notes(ctx)
		if err != nil {
			return err
		}
		if len(want) != len(got) {
			return fmt.Errorf("%s holds %d notes, %s %d", first.name(), len(want), side.name(), len(got))
		}
		for path, text := range want {
			if got[path] != text {
				return fmt.Errorf("%s and %s hold different texts at %s", side.name(), first.name(), path)
			}
		}
	}
	return nil
}

// compare runs all rounds of some comparisons, and closes them. Each round goes
// through all of them, so that a machine that is busy for a while is busy for all.
// It returns their rows, and the fsync rates measured before each round of each.
func (b *bench) compare(ctx context.Context, comparisons []*comparison) (rows []row, fsyncs []float64, err error) {
	defer func() {
		for _, c := range comparisons {
			err = errors.Join(err, c.close())
		}
	}()
	for round := range b.rounds + 1 {
		for _, c := range comparisons {
			fsync, err := fsyncRate(b.work, b.fsyncTime())
			if err != nil {
				return nil, nil, err
			}
			fsyncs = append(fsyncs, fsync)
			fmt.Fprintf(b.progress, "round %d of %d: %v\n", round, b.rounds, c)
			if err := b.playRound(ctx, c, round); err != nil {
				return nil, nil, fmt.Errorf("%v: %w", c, err)
			}
		}
	}
	for _, c := range comparisons {
		if err := c.sameNotes(ctx); err != nil {
			return nil, nil, fmt.Errorf("%v: %w", c, err)
		}
		rows = append(rows, c.rows()...)
	}
	return rows, fsyncs, nil
}

// compareWithSDK compares memento with the SDK's tool, for all sizes and numbers of
// callers.
func (b *bench) compareWithSDK(ctx context.Context, r *report) (err error) {
	node, err := startNode(ctx, b.sdkDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.close()) }()
	var comparisons []*comparison
	for _, size := range b.sizes {
		for _, callers := range b.callers {
			c, err := b.newComparison(size, callers, func(dir string, notes []note) ([]contender, error) {
				return b.openContenders(ctx, dir, node, callers, notes)
			})
			if err != nil {
				for _, c := range comparisons {
					err = errors.Join(err, c.close())
				}
				return fmt.Errorf("%d files, %d callers: %w", size, callers, err)
			}
			comparisons = append(comparisons, c)
		}
	}
	r.sdk, r.fsyncs, err = b.compare(ctx, comparisons)
	return err
}

func (b *bench) openContenders(ctx context.Context, dir string, node *process, callers int, notes []note) (open []contender, err error) {
	s, err := newSDK(node, filepath.Join(dir, "sdk"), notes)
	if err != nil {
		return open, err
	}
	open = append(open, s)
	l, err := openLibrary(ctx, filepath.Join(dir, "library.db"), notes)
	if err != nil {
		return open, err
	}
	open = append(open, l)
	file := filepath.Join(dir, "process.db")
	if err := fillFile(ctx, file, notes); err != nil {
		return open, err
	}
	if callers == 1 {
		c, err := startCoprocess(ctx, b.binary, file)
		if err != nil {
			return open, err
		}
		return append(open, c), nil
	}
	served, err := startServer(ctx, b.binary, file)
	if err != nil {
		return open, err
	}
	return append(open, served), nil
}

// median returns the middle value, or the mean of the two; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
