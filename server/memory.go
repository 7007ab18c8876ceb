package server

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"memento/httpapi"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// availableMemory returns how many bytes this process may use: the minimum of the
// limits of its control groups, the machine's memory, and GOMEMLIMIT. If none is known,
// it assumes a small machine.
func availableMemory() int64 {
	const unknown = 1 << 30
	least := int64(math.MaxInt64)
	for _, find := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := find(); err == nil && n > 0 && n < math.MaxInt64 {
			least = min(least, int64(n))
		}
	}
	if least == math.MaxInt64 {
		least = unknown
	}
	return min(least, debug.SetMemoryLimit(-1)) // a negative argument only reads the limit
}

const (
	processMemory = 64 << 20 // bytes that the process uses without any load
	cachePerCPU   = 24 << 20 // bytes for each processor that SQLite's connections cache outside of Go's heap
	leastBudget   = 16 << 20 // bytes; enough for one request of the largest kind
	mostBudget    = 2 << 30
)

// memoryBudget returns how many of the available bytes requests may use: two thirds of
// what the process itself does not need. The rest is for garbage and connections.
func memoryBudget(available int64, processors int) int64 {
	own := min(processMemory+cachePerCPU*int64(processors), available/2)
	return min(max((available-own)/3*2, leastBudget), mostBudget)
}

// goMemory returns how many of the available bytes Go's heap may use.
func goMemory(available int64, processors int) int64 {
	return max(available-available/10-cachePerCPU*int64(processors), available/2)
}

// LimitMemory sets Go's memory limit from the available memory, so that garbage is
// collected before a container is killed. A limit set by GOMEMLIMIT stays.
func LimitMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(goMemory(availableMemory(), runtime.GOMAXPROCS(0)))
	}
}

// giveBackMemory returns memory to the operating system after requests have used much
// of it. Go by itself keeps it for minutes.
func giveBackMemory(ctx context.Context, api *httpapi.API, budget int64) {
	const interval, rest = 5 * time.Second, 3 // times the interval
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	much, since := false, rest
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		peak, taken := api.PeakMemory()
		much = much || peak >= budget/8
		if since++; much && taken < budget/16 && since >= rest {
			debug.FreeOSMemory()
			much, since = false, 0
		}
	}
}
