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

// The contenders, by the name of their column.
const (
	nameSDK       = "SDK"
	nameLibrary   = "memento"
	nameCoprocess = "memento tool"
	nameServing   = "memento serve"
)

// A row is the medians of one operation on one store with so many callers, in
// calls a second.
type row struct {
	Operation operation `json:"operation"`
	Files     int       `json:"files"`
	Callers   int       `json:"callers"`
	SDK       float64   `json:"sdk_per_second"`
	Memento   float64   `json:"memento_per_second"`
	PutOff    float64   `json:"memento_put_off_micros"`             // work a call leaves for quiet moments, in microseconds
	Coprocess float64   `json:"memento_tool_per_second,omitempty"`  // 0 unless there is one caller
	Serving   float64   `json:"memento_serve_per_second,omitempty"` // 0 if there is one caller
}

// An arena is one workload, and the sides that compete on it.
type arena struct {
	size, callers int
	round         []step
	sides         []side
	rates         map[operation]map[string][]float64 // by side, in calls a second
	putOff        map[operation][]float64            // of memento, in microseconds a call
}

// A side is a contender with its name.
type side struct {
	name string
	contender
}

func (a *arena) String() string {
	return fmt.Sprintf("%s files, callers: %d", thousands(a.size), a.callers)
}

// open makes an arena in which each contender has a store with the workload's
// notes. It returns the arena even with an error.
func (b *bench) open(ctx context.Context, node *process, size, callers int) (*arena, error) {
	a := &arena{size: size, callers: callers, rates: map[operation]map[string][]float64{}, putOff: map[operation][]float64{}}
	w, err := newWorkload(b.seed, size, callers, b.amounts(size, callers))
	if err != nil {
		return a, err
	}
	dir, err := os.MkdirTemp(b.work, "")
	if err != nil {
		return a, err
	}
	if err := w.write(dir); err != nil {
		return a, err
	}
	a.round = w.round
	for i := range a.round {
		a.round[i].calls = nil // they are in the file, and not in the garbage collector's way
	}
	if err := a.start(ctx, b, dir, node, w.notes); err != nil {
		return a, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *arena) start(ctx context.Context, b *bench, dir string, node *process, notes []note) error {
	s, err := newSDK(node, filepath.Join(dir, "sdk"), notes)
	if err != nil {
		return err
	}
	a.sides = append(a.sides, side{nameSDK, s})
	l, err := openLibrary(ctx, filepath.Join(dir, "library.db"), notes)
	if err != nil {
		return err
	}
	a.sides = append(a.sides, side{nameLibrary, l})
	file := filepath.Join(dir, "process.db")
	if err := fillFile(ctx, file, notes); err != nil {
		return err
	}
	if a.callers > 1 {
		s, err := startServing(ctx, b.binary, file)
		if err != nil {
			return err
		}
		a.sides = append(a.sides, side{nameServing, s})
		return nil
	}
	c, err := startCoprocess(ctx, b.binary, file)
	if err != nil {
		return err
	}
	a.sides = append(a.sides, side{nameCoprocess, c})
	return nil
}

func (a *arena) close() error {
	var err error
	for _, s := range a.sides {
		err = errors.Join(err, s.close())
	}
	return err
}

// note keeps a measure.
func (a *arena) note(op operation, name string, m measure, putOff time.Duration) {
	if a.rates[op] == nil {
		a.rates[op] = map[string][]float64{}
	}
	a.rates[op][name] = append(a.rates[op][name], m.perSecond())
	if name == nameLibrary {
		a.putOff[op] = append(a.putOff[op], float64(putOff.Microseconds())/float64(m.Calls))
	}
}

func (a *arena) rows() []row {
	var rows []row
	for _, op := range operations {
		r := a.rates[op]
		rows = append(rows, row{op, a.size, a.callers,
			median(r[nameSDK]), median(r[nameLibrary]), median(a.putOff[op]), median(r[nameCoprocess]), median(r[nameServing])})
	}
	return rows
}

// sameNotes checks that all sides hold the same, which shows that they all did
// the work.
func (a *arena) sameNotes(ctx context.Context) error {
	first, err := a.sides[0].notes(ctx)
	if err != nil {
		return err
	}
	for _, s := range a.sides[1:] {
		other, err := s.notes(ctx)
		if err != nil {
			return err
		}
		if len(first) != len(other) {
			return fmt.Errorf("%s holds %d notes, %s %d", a.sides[0].name, len(first), s.name, len(other))
		}
		for path, text := range first {
			if other[path] != text {
				return fmt.Errorf("%s holds another text than %s at %s", s.name, a.sides[0].name, path)
			}
		}
	}
	return nil
}

// median returns the middle value, or the mean of the two; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
