package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/internal/wire"
)

// A storeBody is the body of a request that creates a store.
type storeBody struct {
	Name        *string            `json:"name"`
	Description *string            `json:"description"`
	Metadata    map[string]*string `json:"metadata"`
	Limits      *wire.Limits       `json:"limits"`
	Settings    *memento.Settings  `json:"settings"`
	UniqueName  bool               `json:"unique_name"`

	ID        *string    `json:"id"`         // of the store that is copied
	CreatedAt *time.Time `json:"created_at"` // of that store
}

// spec reads a storeBody. Limits, settings and copies need the role admin.
func (c *call) spec() (spec memento.StoreSpec, err error) {
	// Settings in the body replace the defaults, one by one.
	settings := memento.DefaultSettings()
	body := storeBody{Settings: &settings}
	given, err := c.decodeGiven(&body)
	if err != nil {
		return spec, err
	}
	copied := given.has("id") || given.has("created_at")
	if (given.has("limits") || given.has("settings") || copied) && !c.who.Role.Allows(apikey.RoleAdmin) {
		return spec, needsRole(apikey.RoleAdmin)
	}
	if spec.Name, err = required("name", body.Name); err != nil {
		return spec, err
	}
	if spec.Name == "" { // in a listing, an empty name means any store
		return spec, invalid("name: field required")
	}
	if body.Description != nil {
		spec.Description = *body.Description
	}
	spec.Metadata = map[string]string{}
	for k, v := range body.Metadata {
		if v == nil {
			return spec, invalid("%s: must be a string, not null", fieldPath("metadata", k))
		}
		spec.Metadata[k] = *v
	}
	if body.Limits != nil {
		spec.Limits = memento.Limits(*body.Limits)
	}
	spec.Settings, spec.UniqueName = body.Settings, body.UniqueName
	if body.ID != nil {
		spec.ID = memento.StoreID(*body.ID)
	}
	if body.CreatedAt != nil {
		spec.CreatedAt = *body.CreatedAt
	}
	return spec, nil
}

func (a *API) createStore(c *call) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	info, err := a.backend.CreateStore(c.context(), c.who.Workspace, spec)
	if errors.Is(err, memento.ErrExist) && spec.ID != "" {
		return &apiError{status: http.StatusConflict, kind: conflictError, message: "a memory store with this ID or name already exists", shouldRetry: "false", extra: errorDetails(err)}
	}
	if errors.Is(err, memento.ErrExist) {
		return nameTaken(err)
	}
	if err != nil {
		return err
	}
	a.sendStoreEvent(c.context(), "created", c.who.Workspace, info.ID)
	return c.answer(wire.FromStore(info))
}

func nameTaken(err error) error {
	return &apiError{status: http.StatusConflict, kind: conflictError, message: "a memory store with this name already exists", shouldRetry: "false", extra: errorDetails(err)}
}

// storeByName returns the store with a name, and creates it if there is none.
func (a *API) storeByName(c *call) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	if spec.ID != "" || !spec.CreatedAt.IsZero() {
		return invalid("id, created_at: are allowed in POST /v1/memory_stores only")
	}
	spec.UniqueName = true
	for {
		var found []memento.StoreInfo
		for info, err := range a.backend.ListStores(c.context(), c.who.Workspace, memento.StoreListOptions{Name: spec.Name, Limit: 2}) {
			if err != nil {
				return err
			}
			found = append(found, info)
		}
		switch len(found) {
		case 1:
			return c.answer(wire.FromStore(found[0]))
		case 2:
			return &apiError{status: http.StatusConflict, kind: conflictError, message: "several memory stores have this name; use the ID", shouldRetry: "false"}
		}
		info, err := a.backend.CreateStore(c.context(), c.who.Workspace, spec)
		if errors.Is(err, memento.ErrExist) {
			continue // another request created it meanwhile
		}
		if err != nil {
			return err
		}
		a.sendStoreEvent(c.context(), "created", c.who.Workspace, info.ID)
		return c.answer(wire.FromStore(info))
	}
}

func (a *API) listStores(c *call) error {
	q := c.query()
	limit := q.limit(false)
	opts := memento.StoreListOptions{
		Name:            q.text("name"),
		IncludeArchived: q.boolean("include_archived"),
		CreatedFrom:     q.time("created_at[gte]"),
		CreatedTo:       q.time("created_at[lte]"),
		After:           cmp.Or(q.afterStore(), memento.StoreID(q.text("after"))), // memento's own clients continue after any store
		Limit:           limit + 1,
	}
	if q.err != nil {
		return q.err
	}
	answer := page[wire.Store]{Data: []wire.Store{}}
	for info, err := range a.backend.ListStores(c.context(), c.who.Workspace, opts) {
		if err != nil {
			return err
		}
		if len(answer.Data) == limit {
			answer.Next = pageAfter('s', string(answer.Data[limit-1].ID))
			break
		}
		answer.Data = append(answer.Data, wire.FromStore(info))
	}
	return c.answer(answer)
}

// info returns the description of the store that the path names.
func (c *call) info() (memento.StoreInfo, error) {
	id, err := c.pathID("store", "memstore_", "memory store")
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return c.api.backend.GetStore(c.context(), c.who.Workspace, memento.StoreID(id))
}

func (a *API) getStore(c *call) error {
	info, err := c.info()
	if err != nil {
		return err
	}
	return c.answer(wire.FromStore(info))
}

type storeUpdateBody struct {
	Name        *string            `json:"name"`
	Description *string            `json:"description"`
	Metadata    map[string]*string `json:"metadata"`
	Limits      *wire.Limits       `json:"limits"`
	Settings    *memento.Settings  `json:"settings"`
	IfUpdatedAt *time.Time         `json:"if_updated_at"`
	Archive     bool               `json:"archive"`   // atomically with the update
	Unarchive   bool               `json:"unarchive"` // as Archive
}

func (a *API) updateStore(c *call) error {
	id, err := c.pathID("store", "memstore_", "memory store")
	if err != nil {
		return err
	}
	// Settings are replaced as a whole: those that the body lacks get their defaults.
	settings := memento.DefaultSettings()
	body := storeUpdateBody{Settings: &settings}
	given, err := c.decodeGiven(&body)
	if err != nil {
		return err
	}
	if (given.has("limits") || given.has("settings")) && !c.who.Role.Allows(apikey.RoleAdmin) {
		return needsRole(apikey.RoleAdmin)
	}
	u := memento.StoreUpdate{Name: body.Name, Description: body.Description, Metadata: body.Metadata, Unarchive: body.Unarchive}
	if given.has("settings") {
		u.Settings = body.Settings
	}
	if body.Limits != nil {
		limits := memento.Limits(*body.Limits)
		u.Limits = &limits
	}
	if body.IfUpdatedAt != nil {
		if u.IfUpdatedAt = *body.IfUpdatedAt; u.IfUpdatedAt.IsZero() {
			return invalid("if_updated_at: must be the updated_at of a memory store")
		}
	}
	if u.Archive = body.Archive; u.Archive && u.Name == nil && u.Description == nil && u.Metadata == nil && u.Limits == nil && u.Settings == nil && body.IfUpdatedAt == nil {
		return invalid("archive: must accompany an update; to archive only, POST to the path of the store and /archive")
	}
	info, err := a.updateInfo(c, memento.StoreID(id), u)
	if err != nil {
		return err
	}
	if u.Archive && !info.UpdatedAt.Equal(u.IfUpdatedAt) { // archived by this request: an archived store does not change any more
		a.sendStoreEvent(c.context(), "archived", c.who.Workspace, info.ID)
	}
	return c.answer(wire.FromStore(info))
}

// updateInfo changes the description of a store.
func (a *API) updateInfo(c *call, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	info, err := a.backend.UpdateStore(c.context(), c.who.Workspace, id, u)
	if errors.Is(err, memento.ErrConflict) {
		err = &apiError{status: http.StatusConflict, kind: conflictError, message: "the memory store was changed since it was read", shouldRetry: "false", extra: errorDetails(err)}
	}
	if err == nil && info.Archived() && !u.Archive {
		// The backend accepts an update without fields, even of an archived store.
		err = &memento.Error{Op: "update store", Err: memento.ErrArchived}
	}
	return info, err
}

func (a *API) archiveStore(c *call) error {
	if err := c.decode(&struct{}{}); err != nil {
		return err
	}
	for {
		info, err := c.info()
		if err != nil {
			return err
		}
		if info.Archived() {
			return c.answer(wire.FromStore(info))
		}
		// With the condition, only one of several concurrent requests archives the store
		// and sends the event.
		u := memento.StoreUpdate{Archive: true, IfUpdatedAt: info.UpdatedAt}
		info, err = a.backend.UpdateStore(c.context(), c.who.Workspace, info.ID, u)
		if errors.Is(err, memento.ErrConflict) && c.context().Err() == nil {
			continue // another request was faster
		}
		if err != nil {
			return err
		}
		a.sendStoreEvent(c.context(), "archived", c.who.Workspace, info.ID)
		return c.answer(wire.FromStore(info))
	}
}

func (a *API) deleteStore(c *call) error {
	id, err := c.pathID("store", "memstore_", "memory store")
	if err != nil {
		return err
	}
	info, err := c.info()
	if err != nil {
		return err
	}
	if len(info.Settings.ReadOnly) > 0 && !c.who.Role.Allows(apikey.RoleAdmin) { // only an admin may delete read-only memories
		return needsRole(apikey.RoleAdmin)
	}
	if err := a.backend.DeleteStore(c.context(), c.who.Workspace, memento.StoreID(id)); err != nil {
		return err
	}
	a.changes.notify(memento.StoreID(id)) // ends the streams of the store
	a.sendStoreEvent(c.context(), "deleted", c.who.Workspace, memento.StoreID(id))
	return c.answer(wire.Deleted{ID: id, Type: "memory_store_deleted"})
}

// settingsAnswer is the answer with the limits and settings of a store.
type settingsAnswer struct {
	Type     string           `json:"type"` // "memory_store_settings"
	Store    memento.StoreID  `json:"memory_store_id"`
	Limits   wire.Limits      `json:"limits"`
	Settings memento.Settings `json:"settings"`
}

func settingsOf(info memento.StoreInfo) settingsAnswer {
	return settingsAnswer{"memory_store_settings", info.ID, wire.Limits(info.Limits), info.Settings}
}

func (a *API) getSettings(c *call) error {
	info, err := c.info()
	if err != nil {
		return err
	}
	return c.answer(settingsOf(info))
}

// updateSettings replaces the members that the body has, and keeps the others.
func (a *API) updateSettings(c *call) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	for {
		info, err := c.info()
		if err != nil {
			return err
		}
		limits := wire.Limits(info.Limits)
		body := struct {
			Limits   *wire.Limits      `json:"limits"`
			Settings *memento.Settings `json:"settings"`
		}{&limits, &info.Settings}
		if _, err := decode(text, &body); err != nil {
			return err
		}
		u := memento.StoreUpdate{Settings: body.Settings, IfUpdatedAt: info.UpdatedAt}
		if body.Limits != nil {
			l := memento.Limits(*body.Limits)
			u.Limits = &l
		}
		next, err := a.backend.UpdateStore(c.context(), c.who.Workspace, info.ID, u)
		if errors.Is(err, memento.ErrConflict) && c.context().Err() == nil {
			continue // another request was faster
		}
		if err != nil {
			return err
		}
		return c.answer(settingsOf(next))
	}
}
