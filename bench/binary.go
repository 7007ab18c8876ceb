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

// binaryFigures describe the command: how soon it answers, how much it holds.
type binaryFigures struct {
	Files       int     `json:"files"`
	FirstDirMS  float64 `json:"first_directory_view_ms"` // from exec to the answer, the median
	FirstFileMS float64 `json:"first_file_view_ms"`
	PeakMB      float64 `json:"peak_mb"` // after a view of the directory and of 100 files; 0 if it cannot be told
	Starts      int     `json:"starts"`
}

func (b *bench) measureBinary(ctx context.Context, size int) (f binaryFigures, err error) {
	f.Files, f.Starts = size, 20
	if b.quick {
		f.Starts = 3
	}
	file := filepath.Join(b.work, "binary.db")
	w, err := newWorkload(b.seed, size, 1, counts{})
	if err != nil {
		return f, err
	}
	fmt.Fprintf(b.progress, "%d files: the binary's start and memory\n", size)
	if err := fillFile(ctx, file, w.notes); err != nil {
		return f, err
	}
	directory := viewLine("/memories")
	if f.FirstDirMS, err = b.firstAnswer(ctx, file, directory, f.Starts); err != nil {
		return f, err
	}
	if f.FirstFileMS, err = b.firstAnswer(ctx, file, viewLine(w.notes[size/2].path), f.Starts); err != nil {
		return f, err
	}

	c, err := startCoprocess(ctx, b.binary, file)
	if err != nil {
		return f, err
	}
	lines := [][]byte{directory}
	rng := rand.New(rand.NewPCG(b.seed, 0))
	for range 100 {
		lines = append(lines, viewLine(w.notes[rng.IntN(size)].path))
	}
	for _, line := range lines {
		if err := c.call(line); err != nil {
			return f, errors.Join(err, c.close())
		}
	}
	peak := livePeak(c.process.cmd.Process.Pid)
	if err := c.close(); err != nil {
		return f, err
	}
	if peak == 0 {
		peak = exitPeak(c.process.cmd.ProcessState)
	}
	f.PeakMB = float64(peak) / 1e6
	return f, nil
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

func viewLine(path string) []byte {
	line, err := json.Marshal(input{Command: "view", Path: path})
	if err != nil {
		panic(err) // a struct of strings
	}
	return append(line, '\n')
}

// livePeak returns the most memory a running process has held, in bytes; 0
// where the system does not say.
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
