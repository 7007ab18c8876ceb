package httpapi

import (
	"time"

	"memento"
	"memento/history"
	"memento/internal/wire"
)

// undo reverts the changes that one actor, or one key, made in a store. It makes no
// change that the caller could not make otherwise.
func (a *API) undo(c *call, store *memento.Store, id memento.StoreID, by memento.Actor) error {
	var body struct {
		Session string        `json:"session_id"`
		Key     memento.KeyID `json:"api_key_id"`
		Actor   *struct {
			Kind memento.ActorKind `json:"kind"`
			ID   string            `json:"id"`
		} `json:"actor"`
		Since  *time.Time `json:"since"`
		Until  *time.Time `json:"until"`
		DryRun bool       `json:"dry_run"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	opts := history.UndoOptions{DryRun: body.DryRun}
	named := 0
	if body.Session != "" {
		opts.By = memento.Actor{Kind: memento.ActorSession, ID: body.Session}
		named++
	}
	if body.Key != "" {
		opts.By.Key = body.Key
		named++
	}
	if body.Actor != nil {
		opts.By = memento.Actor{Kind: body.Actor.Kind, ID: body.Actor.ID}
		named++
	}
	if named != 1 {
		return invalid("exactly one of session_id, api_key_id and actor is required")
	}
	since, err := required("since", body.Since)
	if err != nil {
		return err
	}
	opts.Since = since.UTC()
	if body.Until != nil {
		opts.Until = body.Until.UTC()
	}
	info, err := c.info()
	if err != nil {
		return err
	}
	// The changes may write back all contents, and each memory's newest version is read.
	if err := c.charge(restoreCost*info.Usage.Bytes + memoryCost*info.Usage.Memories); err != nil {
		return err
	}
	done, err := history.Undo(c.context(), store, by, opts)
	if err != nil {
		return err
	}
	return c.answer(wire.FromUndone(id, done, body.DryRun))
}
