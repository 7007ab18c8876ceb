package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"memento"
	"memento/cryptstore"
)

// sealedFiles is the number of notes in the stores of this part.
const sealedFiles = 1000

// measureEncryption compares engines with and without encryption, on the same
// calls of single callers and of many.
func (b *bench) measureEncryption(ctx context.Context) ([]sealedRow, error) {
	var rows []sealedRow
	for _, name := range []engineName{engineSQLite, enginePostgres} {
		if !b.covers(name) {
			continue
		}
		for _, callers := range []int{1, teamSize} {
			fmt.Fprintf(b.progress, "%s with encryption and without, callers: %d\n", name, callers)
			more, err := b.encryption(ctx, name, callers)
			if err != nil {
				return nil, fmt.Errorf("%s, callers: %d: %w", name, callers, err)
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

func (b *bench) encryption(ctx context.Context, name engineName, callers int) (rows []sealedRow, err error) {
	files := sealedFiles
	amounts := counts{views: 4000, writes: 960}
	if b.quick {
		files, amounts = 20, counts{views: 64, writes: 64}
	}
	e, err := b.engine(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := newWorkload(b.seed, files, callers, amounts)
	if err != nil {
		return nil, err
	}
	// The steps until str_replace leave the notes as they were.
	last := slices.IndexFunc(w.round, func(s step) bool { return s.op == strReplace })
	w.round = slices.DeleteFunc(w.round[:last+1], func(s step) bool { return s.op == viewDir })
	dir := filepath.Join(b.work, fmt.Sprintf("encryption-%s-%d", name, callers))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := w.write(dir); err != nil {
		return nil, err
	}
	keys, err := cryptstore.NewKeys()
	if err != nil {
		return nil, err
	}
	var sides [2]*library // in clear, and encrypted
	var kept [2]memento.Backend
	for i := range sides {
		if kept[i], err = e.open(ctx, fmt.Sprintf("encryption%d_%d", i, callers)); err != nil {
			return nil, err
		}
		backend := kept[i]
		if i == 1 {
			if backend, err = cryptstore.Wrap(ctx, backend, keys, nil); err != nil {
				return nil, errors.Join(err, kept[i].Close())
			}
		}
		if sides[i], err = newLibrary(ctx, backend, w.notes); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, sides[i].close()) }()
	}
	// What is put off is done by the engine itself: encrypted, nothing else is searched.
	settle := func(i int) error {
		store, err := sides[i].store.ID(ctx)
		if s, searches := kept[i].(memento.Searcher); searches && err == nil {
			_, err = s.Search(ctx, store, memento.SearchOptions{Query: "nosuchword", Limit: 1})
		}
		return err
	}
	rates := map[operation]*[2][]float64{}
	for round := range b.rounds + 1 {
		for n, s := range w.round {
			for turn := range sides {
				i := (round + n + turn) % len(sides) // nobody always goes first
				atLeast := time.Duration(0)
				if s.op.reads() && s.timed && round > 0 {
					atLeast = b.readTime()
				}
				syncDisk()
				m, err := sides[i].replay(ctx, s.file, atLeast)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.op, err)
				}
				if err := settle(i); err != nil {
					return nil, fmt.Errorf("after %s: %w", s.op, err)
				}
				if round > 0 && s.timed {
					if rates[s.op] == nil {
						rates[s.op] = &[2][]float64{}
					}
					rates[s.op][i] = append(rates[s.op][i], m.perSecond())
				}
			}
		}
	}
	for _, op := range operations {
		if r := rates[op]; r != nil {
			rows = append(rows, sealedRow{name, op, callers, median(r[0]), median(r[1])})
		}
	}
	return rows, sameHeld(ctx, sides)
}

// sameHeld checks that both sides hold the same notes, which shows that both did the work.
func sameHeld(ctx context.Context, sides [2]*library) error {
	a := arena{sides: []side{{"in clear", sides[0]}, {"encrypted", sides[1]}}}
	return a.sameNotes(ctx)
}
