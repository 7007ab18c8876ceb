package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// startupFigures are the time to start `memento tool`, and its memory.
type startupFigures struct {
	files     int
	firstDir  float64 // milliseconds from start to the answer, the median
	firstFile float64
	peakMB    float64 // after viewing /memories and 100 files; 0 if unknown
}

// measureStartup starts `memento tool` on the largest store.
func (b *bench) measureStartup(ctx context.Context, r *report) (err error) {
	f := &startupFigures{files: b.sizes[len(b.sizes)-1]}
	starts := 20
	if b.quick {
		starts = 3
	}
	file := filepath.Join(b.work, "startup.db")
	w, err := newWorkload(b.seed, f.files, 1, counts{})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "%d files: the binary's start and memory\n", f.files)
	if err := fillFile(ctx, file, w.notes); err != nil {
		return err
	}
	directory := append(viewInput("/memories"), '\n')
	if f.firstDir, err = b.firstAnswer(ctx, file, directory, starts); err != nil {
		return err
	}
	if f.firstFile, err = b.firstAnswer(ctx, file, append(viewInput(w.notes[f.files/2].path), '\n'), starts); err != nil {
		return err
	}

	c, err := startCoprocess(ctx, b.binary, file)
	if err != nil {
		return err
	}
	lines := [][]byte{directory}
	rng := rand.New(rand.NewPCG(b.seed, 0))
	for range 100 {
		lines = append(lines, append(viewInput(w.notes[rng.IntN(f.files)].path), '\n'))
	}
	for _, line := range lines {
		if err := c.call(line); err != nil {
			return errors.Join(err, c.close())
		}
	}
	peak := livePeak(c.process.cmd.Process.Pid)
	if err := c.close(); err != nil {
		return err
	}
	if peak == 0 {
		peak = exitPeak(c.process.cmd.ProcessState)
	}
	f.peakMB = float64(peak) / 1e6
	r.startup = f
	return nil
}

// firstAnswer returns the median time, in milliseconds, from starting `memento
// tool` to its answer to one line.
func (b *bench) firstAnswer(ctx context.Context, file string, line []byte, starts int) (float64, error) {
	var times []float64
	for range starts {
		start := time.Now()
		c, err := startCoprocess(ctx, b.binary, file)
		if err != nil {
			return 0, err
		}
		err = c.call(line)
		took := time.Since(start)
		if err := errors.Join(err, c.close()); err != nil {
			return 0, err
		}
		times = append(times, float64(took.Microseconds())/1000)
	}
	return median(times), nil
}

func viewInput(path string) []byte {
	text, err := json.Marshal(input{Command: "view", Path: path})
	if err != nil {
		panic(err) // a struct of strings
	}
	return text
}

// livePeak returns the peak memory of a running process, in bytes; 0 where the
// system does not report it.
func livePeak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kb * 1024
}
