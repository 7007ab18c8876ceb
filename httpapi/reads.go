package httpapi

import (
	"memento"
)

// markReads notes that memories were read, for clients that keep copies.
func (a *API) markReads(c *call) error {
	info, err := c.info()
	if err != nil {
		return err
	}
	var body struct {
		Memories []memento.MemoryID `json:"memory_ids"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	if n := len(body.Memories); n > maxChanges {
		return invalid("memory_ids: has %d entries; at most %d are allowed", n, maxChanges)
	}
	marker, ok := a.backend.(memento.ReadMarker)
	if ok {
		for _, id := range body.Memories {
			marker.MarkRead(info.ID, id)
		}
		if err := marker.SyncReads(c.context()); err != nil {
			return err
		}
	}
	return c.answer(struct {
		Type   string `json:"type"`   // "memory_reads"
		Marked bool   `json:"marked"` // false if the server's storage does not keep such times
	}{"memory_reads", ok})
}
