package main

import (
	"runtime/debug"
	"time"
)

// idleAfter is how long nothing happens until memory is given back to the system.
const idleAfter = 2 * time.Second

// An idleTimer gives memory back to the system when nothing has happened for idleAfter: of
// the programs that agents start, most wait most of the time, and there may be many.
type idleTimer struct{ timer *time.Timer }

func startIdleTimer() idleTimer {
	return idleTimer{time.AfterFunc(idleAfter, func() {
		debug.FreeOSMemory()
		_ = unmapProgram() // it only saves memory
	})}
}

// used says that something happens.
func (i idleTimer) used() { i.timer.Reset(idleAfter) }

func (i idleTimer) stop() { i.timer.Stop() }
