package httpapi

import (
	"time"

	"memento"
	"memento/history"
	"memento/internal/wire"
	"memento/maintenance"
)

const (
	standardDays = 30
	maxDays      = 366

	// aWeek is how far ahead getExpiring looks by default.
	aWeek = 7 * 24 * time.Hour
)

// getUsage says how much a store holds.
func (a *API) getUsage(c *call) error {
	info, err := c.info()
	if err != nil {
		return err
	}
	near := []memento.Limit{}
	if memento.NearLimit(info.Usage.Memories, info.Limits.Memories) {
		near = append(near, memento.LimitMemories)
	}
	if memento.NearLimit(info.Usage.Bytes, info.Limits.Bytes) {
		near = append(near, memento.LimitBytes)
	}
	return c.answer(struct {
		Type  string          `json:"type"` // "memory_store_usage"
		Store memento.StoreID `json:"memory_store_id"`
		wire.Usage
		Limits wire.Limits     `json:"limits"`
		Near   []memento.Limit `json:"near_limits"` // of which more than 80 % are used
	}{"memory_store_usage", info.ID, wire.Usage(info.Usage), wire.Limits(info.Limits), near})
}

// getDailyUsage says how much a store held on each of the last days.
func (a *API) getDailyUsage(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	days := int(q.integer("days", standardDays, 1, maxDays))
	if q.err != nil {
		return q.err
	}
	slot, err := c.scan(true) // it reads the whole history
	if err != nil {
		return err
	}
	defer slot.release()
	list, err := history.Daily(c.context(), store, a.opts.Now(), days)
	if err != nil {
		return err
	}
	type day struct {
		Date    string `json:"date"`
		Changes int64  `json:"changes"`
		wire.Usage
	}
	data := make([]day, len(list))
	for i, d := range list {
		data[i] = day{d.Start.Format(time.DateOnly), d.Changes, wire.Usage(d.Usage)}
	}
	return c.answer(struct {
		Type  string          `json:"type"` // "memory_store_daily_usage"
		Store memento.StoreID `json:"memory_store_id"`
		Data  []day           `json:"data"`
	}{"memory_store_daily_usage", id, data})
}

// getExpiring lists the memories that expire by a time unless somebody uses them before.
func (a *API) getExpiring(c *call, store *memento.Store, id memento.StoreID) error {
	q := c.query()
	before := q.time("before")
	limit := q.limit(false)
	if q.err != nil {
		return q.err
	}
	if before.IsZero() {
		before = a.opts.Now().UTC().Add(aWeek)
	}
	slot, err := c.scan(true) // it lists the whole store
	if err != nil {
		return err
	}
	defer slot.release()
	found, err := maintenance.Expire(c.context(), store, before, true)
	if err != nil {
		return err
	}
	type expiring struct {
		Memory  memento.MemoryID `json:"memory_id"`
		Path    memento.Path     `json:"path"`
		Size    int64            `json:"content_size_bytes"`
		Used    time.Time        `json:"used_at"`
		Expires time.Time        `json:"expires_at"`
	}
	data := []expiring{}
	for _, x := range found[:min(limit, len(found))] {
		data = append(data, expiring{x.Memory.ID, x.Memory.Path, x.Memory.Size, x.Used, x.At})
	}
	return c.answer(struct {
		Type   string          `json:"type"` // "expiring_memories"
		Store  memento.StoreID `json:"memory_store_id"`
		Before time.Time       `json:"before"`
		Total  int             `json:"total"`
		Data   []expiring      `json:"data"`
	}{"expiring_memories", id, before, len(found), data})
}
