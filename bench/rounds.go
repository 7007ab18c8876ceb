package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A bench runs the comparison.
type bench struct {
	config
	work     string    // an empty directory of its own
	sdkDir   string    // of the Node program
	binary   string    // the built command
	progress io.Writer // for people

	made map[engineName]engine // see engine
}

// amounts returns how many calls a step has. A directory view takes the SDK a
// time proportional to the files, so it gets fewer of them.
func (b *bench) amounts(size, callers int) counts {
	switch {
	case b.quick:
		return counts{views: 64, dirs: callers, writes: 64}
	case callers == 1:
		return counts{views: 2000, dirs: max(1, 2000/size), writes: 320}
	}
	return counts{views: 4000, dirs: max(callers, 2000/size), writes: 960}
}

// readTime is how long an operation that changes nothing is repeated, so that a
// fast one is timed over more than a blink.
func (b *bench) readTime() time.Duration {
	if b.quick {
		return 10 * time.Millisecond
	}
	return 250 * time.Millisecond
}

func (b *bench) floorTime() time.Duration {
	if b.quick {
		return 50 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// compare plays the rounds and returns a row for each operation on each store
// with each number of callers, and how fast the disk was before each round of each.
//
// A round goes through all stores, so that a machine that is busier for a while
// is so for all of them.
func (b *bench) compare(ctx context.Context) (rows []row, floors []float64, err error) {
	node, err := startNode(ctx, b.sdkDir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, node.close()) }()
	var arenas []*arena
	defer func() {
		for _, a := range arenas {
			err = errors.Join(err, a.close())
		}
	}()
	for _, size := range b.sizes {
		for _, callers := range b.callers {
			a, err := b.open(ctx, node, size, callers)
			if err != nil {
				return nil, nil, fmt.Errorf("%v: %w", a, err)
			}
			arenas = append(arenas, a)
		}
	}
	for round := range b.rounds + 1 {
		for _, a := range arenas {
			floor, err := fsyncFloor(b.work, b.floorTime())
			if err != nil {
				return nil, nil, err
			}
			floors = append(floors, floor)
			fmt.Fprintf(b.progress, "round %d of %d: %v\n", round, b.rounds, a)
			if err := b.play(ctx, a, round); err != nil {
				return nil, nil, fmt.Errorf("%v: %w", a, err)
			}
		}
	}
	for _, a := range arenas {
		if err := a.sameNotes(ctx); err != nil {
			return nil, nil, fmt.Errorf("%v: %w", a, err)
		}
		rows = append(rows, a.rows()...)
	}
	return rows, floors, nil
}

// play plays one round. The first, 0, does not count: it warms up, and checks
// after every write that all sides did the same.
func (b *bench) play(ctx context.Context, a *arena, round int) error {
	for _, s := range a.round {
		for _, side := range a.sides {
			if err := ctx.Err(); err != nil {
				return err
			}
			atLeast := time.Duration(0)
			if s.op.reads() && s.timed && round > 0 {
				atLeast = b.readTime()
			}
			// Nobody shall pay for what another left unwritten: an fsync often
			// carries along what others changed in the same file system.
			syncDisk()
			m, err := side.replay(ctx, s.file, atLeast)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", side.name, s.op, err)
			}
			putOff, err := side.settle(ctx)
			if err != nil {
				return fmt.Errorf("%s, after %s: %w", side.name, s.op, err)
			}
			if round > 0 && s.timed {
				a.note(s.op, side.name, m, putOff)
			}
		}
		if round == 0 && !s.op.reads() {
			if err := a.sameNotes(ctx); err != nil {
				return fmt.Errorf("after %s: %w", s.op, err)
			}
		}
	}
	slices.Reverse(a.sides) // nobody always goes first
	return nil
}
