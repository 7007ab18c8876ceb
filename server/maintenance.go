package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"memento"
)

// maintenance has every store do what its settings ask for as time goes by, now
// and then, in one goroutine. Of several servers on one backend that knows of them,
// one does it.
type maintenance struct {
	backend  memento.Backend
	interval time.Duration
	keeper   *memento.Maintainer
	logger   *slog.Logger
	metrics  *metrics
	health   *health
	held     logDedup

	mu   sync.Mutex
	seen map[memento.Workspace]bool // by requests; tokens may name some that have no keys
}

// note remembers a workspace.
func (m *maintenance) note(ws memento.Workspace) {
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

// firstRun is how long after the start the first run is, at most: a server that is
// started again and again should not do nothing else, nor never do it.
const firstRun = time.Minute

// startTime is how long the judgement of the clock at the start may take.
const startTime = 10 * time.Second

// start judges the clock before requests are answered, so that the mark of a clock that
// is right is there before anything else happens.
func (m *maintenance) start(ctx context.Context) {
	if m.interval <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	j, err := m.keeper.CheckClockAtStart(ctx)
	m.judged(j, err)
}

// run works until ctx ends.
func (m *maintenance) run(ctx context.Context) {
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

// maintenanceDuty names the duty in elections. Servers of other releases share it.
const maintenanceDuty = "maintenance"

// chosen reports whether the run is for this server to make. The term is the
// interval: while the one that was chosen lives, no other makes a run, and if it does
// not, another makes the next.
func (m *maintenance) chosen(ctx context.Context) bool {
	elector, ok := m.backend.(memento.Leaser)
	if !ok {
		return true
	}
	chosen, err := elector.AcquireLease(ctx, maintenanceDuty, m.interval)
	switch {
	case err != nil && ctx.Err() == nil:
		m.logger.Error("maintenance lease could not be acquired", "error", safeError(err))
	case !chosen:
		m.logger.Debug("maintenance is another server's")
	}
	return chosen && err == nil
}

// once goes through all stores. The clock is judged before a server is chosen: one
// whose clock is wrong must not have the duty that another could do.
func (m *maintenance) once(ctx context.Context) {
	j, err := m.keeper.CheckClock(ctx)
	if ctx.Err() != nil || !m.judged(j, err) || !m.chosen(ctx) {
		return
	}
	began := time.Now()
	stores, failed := 0, 0
	spaces, err := m.workspaces(ctx)
	if err != nil && ctx.Err() == nil {
		failed++
		m.logger.Error("workspaces could not be listed", "error", safeError(err))
	}
	held := map[memento.StoreID]string{}
	for ws := range spaces {
		for u, err := range m.keeper.Maintain(ctx, ws, j) {
			if ctx.Err() != nil {
				return
			}
			stores++
			m.metrics.maintained(u, err)
			for _, h := range u.Held {
				held[u.Store.ID] += heldText(h)
				if m.held.changed(string(u.Store.ID)+h.What, heldText(h)) {
					m.logger.Warn("maintenance of a store is held: more than usual would be removed, and nothing was",
						"workspace", string(ws), "store", string(u.Store.ID), "what", h.What, "count", h.Count, "of", h.Of, "share", h.Share,
						"next", heldCommand(u.Store.ID, h.What))
				}
			}
			if err != nil {
				failed++
				m.logger.Error("store could not be maintained", "workspace", string(ws), "store", string(u.Store.ID), "error", safeError(err))
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

// workspaces are those that have stores or, if the backend does not know them, those
// that have keys, those that were asked for, and the default.
func (m *maintenance) workspaces(ctx context.Context) (map[memento.Workspace]bool, error) {
	spaces := map[memento.Workspace]bool{}
	if lister, ok := m.backend.(memento.WorkspaceLister); ok {
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
	keeper, ok := m.backend.(memento.KeyKeeper)
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

// safeError is the text of an error without the path of a memory.
func safeError(err error) string {
	if at, ok := errors.AsType[*memento.Error](err); ok && at.Path != "" {
		err = &memento.Error{Op: at.Op, Err: at.Err}
	}
	if _, ok := errors.AsType[*memento.PathError](err); ok {
		err = memento.ErrInvalidPath
	}
	return err.Error()
}
