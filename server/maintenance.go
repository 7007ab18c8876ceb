package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/maintenance"
)

// maintenance regularly applies expiry and pruning to all stores, in one goroutine. If
// several servers share a backend that supports leases, one of them does it.
type maintainer struct {
	backend  memento.Backend
	interval time.Duration
	keeper   *maintenance.Runner
	logger   *slog.Logger
	metrics  *metrics
	health   *health
	held     logDedup

	mu   sync.Mutex
	seen map[memento.Workspace]bool // from requests; tokens may name workspaces without keys
}

// note records a workspace that a request used.
func (m *maintainer) note(ws memento.Workspace) {
	if ws == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[memento.Workspace]bool{}
	}
	m.seen[ws] = true
}

// firstRun is the longest time from the start to the first run. A server that is
// restarted often should not run maintenance at every start, but it should not skip it
// forever either.
const firstRun = time.Minute

// startTime is the time limit of the clock check at the start.
const startTime = 10 * time.Second

// start checks the clock before requests are answered, so that the time of a correct
// clock is recorded before anything else happens.
func (m *maintainer) start(ctx context.Context) {
	if m.interval <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	j, err := m.keeper.CheckClockAtStart(ctx)
	m.judged(j, err)
}

// run runs maintenance regularly until ctx ends.
func (m *maintainer) run(ctx context.Context) {
	if m.interval <= 0 {
		return
	}
	timer := time.NewTimer(min(m.interval, firstRun))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		m.once(ctx)
		timer.Reset(m.interval)
	}
}

// maintenanceDuty is the name of the lease. Servers of other releases use the same
// name.
const maintenanceDuty = "maintenance"

// chosen reports whether this server has the lease for the run. The lease lasts for one
// interval: while its holder lives, no other server runs maintenance, and if the holder
// does not renew it, another server does the next run.
func (m *maintainer) chosen(ctx context.Context) bool {
	leaser, ok := m.backend.(backend.Leaser)
	if !ok {
		return true
	}
	chosen, err := leaser.AcquireLease(ctx, maintenanceDuty, m.interval)
	switch {
	case err != nil && ctx.Err() == nil:
		m.logger.Error("maintenance lease could not be acquired", "error", safeError(err))
	case !chosen:
		m.logger.Debug("another server holds the maintenance lease")
	}
	return chosen && err == nil
}

// once runs maintenance on all stores. It checks the clock before it acquires the
// lease, so that a server with a wrong clock does not hold a lease that another server
// could use.
func (m *maintainer) once(ctx context.Context) {
	j, err := m.keeper.CheckClock(ctx)
	if ctx.Err() != nil || !m.judged(j, err) || !m.chosen(ctx) {
		return
	}
	began := time.Now()
	stores, failed := 0, 0
	spaces, err := m.workspaces(ctx)
	if err != nil && ctx.Err() == nil {
		failed++
		m.logger.Error("cannot list workspaces", "error", safeError(err))
	}
	held := map[memento.StoreID]string{}
	for ws := range spaces {
		for u, err := range m.keeper.Run(ctx, ws, j) {
			if ctx.Err() != nil {
				return
			}
			stores++
			m.metrics.maintained(u, err)
			for _, h := range u.Held {
				held[u.Store.ID] += heldText(h)
				if m.held.changed(string(u.Store.ID)+h.What, heldText(h)) {
					m.logger.Warn("maintenance of a store is held: it would remove more than usual; nothing was removed",
						"workspace", string(ws), "store", string(u.Store.ID), "what", h.What, "count", h.Count, "of", h.Of, "share", h.Share,
						"next", heldCommand(u.Store.ID, h.What))
				}
			}
			if err != nil {
				failed++
				m.logger.Error("maintenance of a store failed", "workspace", string(ws), "store", string(u.Store.ID), "error", safeError(err))
			} else if len(u.Expired) > 0 || u.Pruned.Versions > 0 {
				m.logger.Info("store maintained", "workspace", string(ws), "store", string(u.Store.ID),
					"expired", len(u.Expired), "pruned_versions", u.Pruned.Versions, "pruned_bytes", u.Pruned.Bytes)
			}
		}
	}
	m.metrics.maintenanceHeld.WithLabelValues(heldShare).Set(float64(len(held)))
	warning := ""
	if len(held) > 0 {
		warning = "maintenance is held in some stores: it would remove more than usual; the log says which, and what to do"
	}
	m.health.warn(heldShare, warning)
	m.logger.Debug("maintenance done", "stores", stores, "failed", failed, "took_ms", time.Since(began).Milliseconds())
}

// workspaces returns the workspaces that have stores. If the backend cannot list them,
// it returns the workspaces that have keys, those that requests used, and the default
// one.
func (m *maintainer) workspaces(ctx context.Context) (map[memento.Workspace]bool, error) {
	spaces := map[memento.Workspace]bool{}
	if lister, ok := m.backend.(backend.WorkspaceLister); ok {
		found, err := lister.Workspaces(ctx)
		for _, ws := range found {
			spaces[ws] = true
		}
		return spaces, err
	}
	spaces[memento.DefaultWorkspace] = true
	m.mu.Lock()
	for ws := range m.seen {
		spaces[ws] = true
	}
	m.mu.Unlock()
	keeper, ok := m.backend.(apikey.Keeper)
	if !ok {
		return spaces, nil
	}
	for k, err := range keeper.ListKeys(ctx, "") {
		if err != nil {
			return spaces, err
		}
		spaces[k.Workspace] = true
	}
	return spaces, nil
}

// safeError returns the text of an error without the path of a memory.
func safeError(err error) string {
	if at, ok := errors.AsType[*memento.Error](err); ok && at.Path != "" {
		err = &memento.Error{Op: at.Op, Err: at.Err}
	}
	if _, ok := errors.AsType[*memento.PathError](err); ok {
		err = memento.ErrInvalidPath
	}
	return err.Error()
}
