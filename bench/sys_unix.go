//go:build linux || darwin

package main

import (
	"os"
	"runtime"
	"syscall"
)

// syncDisk writes out everything that waits in memory.
func syncDisk() { syscall.Sync() }

// exitPeak returns the most memory an ended process held, in bytes, by the
// account of wait4. On Linux it is at least what this process held when it
// started the other, so that it only serves where there is no /proc.
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
