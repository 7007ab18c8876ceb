package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// fsyncRate returns how often a second 4 KB can be overwritten in one file in dir,
// each write followed by an fsync. It is an upper bound of the durable writes of a
// single caller.
func fsyncRate(dir string, atLeast time.Duration) (perSecond float64, err error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, 4096)
	write := func() error {
		page[0]++
		if _, err := f.WriteAt(page, 0); err != nil {
			return err
		}
		return f.Sync()
	}
	if err := write(); err != nil { // the first one also allocates
		return 0, err
	}
	syncDisk()
	start := time.Now()
	for n := 1; ; n++ {
		if err := write(); err != nil {
			return 0, err
		}
		if took := time.Since(start); took >= atLeast {
			return float64(n) / took.Seconds(), nil
		}
	}
}
