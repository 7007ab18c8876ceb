package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"memento"

	"github.com/prometheus/client_golang/prometheus"
)

// inventory is a collector of how much is stored. Counting reads the description of every
// store, so it happens beside the scrapes, and only after one: a scrape shows the last count,
// and starts the next one if that is old.
type inventory struct {
	backend    memento.Backend
	workspaces func(context.Context) (map[memento.Workspace]bool, error)
	logger     *slog.Logger
	ctx        context.Context // ends with close
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu       sync.Mutex
	counting bool
	closed   bool
	next     time.Time // when another count may begin
	counted  *counts   // nil before the first count
}

// counts are sums over all stores of all workspaces.
type counts struct{ stores, archived, memories, bytes int64 }

// A count begins at most once a minute, and takes at most a twentieth of the time.
const (
	inventoryInterval = time.Minute
	inventoryShare    = 20
)

var (
	storesHeld    = prometheus.NewDesc("memento_stores", "Stores in all workspaces, counted at most once a minute.", []string{"state"}, nil)
	memoriesHeld  = prometheus.NewDesc("memento_memories", "Memories in all stores, without history.", nil, nil)
	memoriesBytes = prometheus.NewDesc("memento_memories_bytes", "Size of the contents of all memories in bytes, without history.", nil, nil)
)

func newInventory(b memento.Backend, workspaces func(context.Context) (map[memento.Workspace]bool, error), logger *slog.Logger) *inventory {
	n := &inventory{backend: b, workspaces: workspaces, logger: logger}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Describe implements prometheus.Collector.
func (n *inventory) Describe(descs chan<- *prometheus.Desc) {
	descs <- storesHeld
	descs <- memoriesHeld
	descs <- memoriesBytes
}

// Collect implements prometheus.Collector. Before the first count it sends nothing.
func (n *inventory) Collect(found chan<- prometheus.Metric) {
	n.mu.Lock()
	if !n.counting && !n.closed && !time.Now().Before(n.next) {
		n.counting = true
		n.running.Go(n.count)
	}
	c := n.counted
	n.mu.Unlock()
	if c == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value int64, labels ...string) {
		found <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	gauge(storesHeld, c.stores-c.archived, "active")
	gauge(storesHeld, c.archived, "archived")
	gauge(memoriesHeld, c.memories)
	gauge(memoriesBytes, c.bytes)
}

// count counts once. If it fails, the last count stays.
func (n *inventory) count() {
	began := time.Now()
	c, err := n.sum(n.ctx)
	took := time.Since(began)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counting, n.next = false, began.Add(max(inventoryInterval, inventoryShare*took))
	switch {
	case err == nil:
		n.counted = &c
	case n.ctx.Err() == nil:
		n.logger.Warn("stores could not be counted", "error", safeError(err))
	}
}

func (n *inventory) sum(ctx context.Context) (c counts, err error) {
	spaces, err := n.workspaces(ctx)
	if err != nil {
		return c, err
	}
	for ws := range spaces {
		for info, err := range n.backend.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return c, err
			}
			c.stores++
			if info.Archived() {
				c.archived++
			}
			c.memories += info.Usage.Memories
			c.bytes += info.Usage.Bytes
		}
	}
	return c, nil
}

// close ends a count that is running, and prevents others: the backend is closed next. It
// waits for a backend that ignores its context no longer than others do.
func (n *inventory) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.cancel()
	waitFor(&n.running, lastGrace)
}
