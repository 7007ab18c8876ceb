//go:build linux || darwin

package main

import (
	"os"
	"runtime"
	"syscall"
)

// syncDisk flushes all buffered writes of the system.
func syncDisk() { syscall.Sync() }

// exitPeak returns the peak memory of an ended process, in bytes, as wait4 reports
// it. On Linux that is at least what this process held when it started the other, so
// livePeak is used there.
func exitPeak(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024
}
