package httpstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"memento"
	"memento/internal/wire"
)

const storesPath = "/v1/memory_stores"

// storePath returns the URL path of a store, or of what is below it. ok is false if the
// ID does not have the form of a store's ID.
func storePath(id memento.StoreID, below string) (path string, ok bool) {
	return storesPath + "/" + string(id) + below, isID(string(id), "memstore_")
}

func noStore(op string) error { return &memento.Error{Op: op, Err: memento.ErrNoStore} }

// isID reports whether s has the form of an ID. Other texts name nothing, and are not put
// into URLs.
func isID(s, prefix string) bool {
	if len(s) <= len(prefix) || s[:len(prefix)] != prefix || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// in makes a request about a store.
func (b *Backend) in(ctx context.Context, id memento.StoreID, r request, answer any) error {
	path, ok := storePath(id, r.path)
	if !ok {
		return b.absent(ctx, r.op, noStore(r.op))
	}
	r.path = path
	return b.call(ctx, r, answer)
}

// absent returns err, the error for something that cannot exist, unless the backend is
// closed or the context is done.
func (b *Backend) absent(ctx context.Context, op string, err error) error {
	leave, closed := b.enter(op)
	if closed != nil {
		return closed
	}
	leave()
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// exists returns an error if a store does not exist. It is for cases in which the server
// need not be asked for more.
func (b *Backend) exists(ctx context.Context, op string, id memento.StoreID) error {
	return b.in(ctx, id, request{op: op, method: http.MethodGet, safe: true}, nil)
}

// A storeBody is the body of a request that makes or changes a store. Nil fields are not
// sent, since only admins may set limits and settings.
type storeBody struct {
	Name        *string            `json:"name,omitempty"`
	Description *string            `json:"description,omitempty"`
	Metadata    map[string]*string `json:"metadata,omitempty"`
	Limits      *wire.Limits       `json:"limits,omitempty"`
	Settings    *memento.Settings  `json:"settings,omitempty"`
	UniqueName  bool               `json:"unique_name,omitempty"`
	Archive     bool               `json:"archive,omitempty"`
	Unarchive   bool               `json:"unarchive,omitempty"`
	IfUpdatedAt *time.Time         `json:"if_updated_at,omitempty"`

	ID        memento.StoreID `json:"id,omitempty"`
	CreatedAt *time.Time      `json:"created_at,omitempty"`
}

// CreateStore makes an empty store.
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	const op = "create store"
	// JSON has only valid UTF-8. All other rules are checked by the server.
	if _, err := spec.NewInfo(ws, time.Now()); err != nil {
		return memento.StoreInfo{}, b.absent(ctx, op, err)
	}
	if spec.Envelope != "" {
		return memento.StoreInfo{}, b.absent(ctx, op, &memento.Error{Op: op, Err: errEnvelope})
	}
	body := storeBody{Name: &spec.Name, UniqueName: spec.UniqueName, Metadata: map[string]*string{}, ID: spec.ID}
	if !spec.CreatedAt.IsZero() {
		body.CreatedAt = &spec.CreatedAt
	}
	if spec.Description != "" {
		body.Description = &spec.Description
	}
	for k, v := range spec.Metadata {
		body.Metadata[k] = &v
	}
	if spec.Limits.WithDefaults() != memento.DefaultLimits() {
		limits := wire.Limits(spec.Limits)
		body.Limits = &limits
	}
	if standard := memento.DefaultSettings(); spec.Settings != nil && !spec.Settings.Equal(&standard) {
		body.Settings = spec.Settings
	}
	var answer wire.Store
	err := b.call(ctx, request{op: op, method: http.MethodPost, path: storesPath, body: body}, &answer)
	if errors.Is(err, memento.ErrExist) && spec.ID == "" {
		err = &memento.Error{Op: op, Err: fmt.Errorf("%w: a store named %q", memento.ErrExist, spec.Name)}
	}
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return answer.Info(ws), nil
}

// errEnvelope refuses what wrappers keep with stores, which the HTTP API does not show.
var errEnvelope = fmt.Errorf("%w: a server does not accept encrypted stores; use the encryption of the server", memento.ErrUnsupported)

// GetStore returns the description of a store.
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	var answer wire.Store
	if err := b.in(ctx, id, request{op: "get store", method: http.MethodGet, safe: true}, &answer); err != nil {
		return memento.StoreInfo{}, err
	}
	return answer.Info(ws), nil
}

// UpdateStore changes a store's description.
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	const op = "update store"
	if u.Envelope != nil || u.IfEnvelope != nil {
		return memento.StoreInfo{}, b.absent(ctx, op, &memento.Error{Op: op, Err: errEnvelope})
	}
	body := storeBody{Name: u.Name, Description: u.Description, Metadata: u.Metadata, Settings: u.Settings, Archive: u.Archive, Unarchive: u.Unarchive}
	for _, text := range texts(u) {
		if !utf8.ValidString(text) {
			return memento.StoreInfo{}, b.absent(ctx, op, &memento.Error{Op: op, Err: invalid("a text is not valid UTF-8")})
		}
	}
	if u.Limits != nil {
		limits := wire.Limits(*u.Limits)
		body.Limits = &limits
	}
	if !u.IfUpdatedAt.IsZero() {
		body.IfUpdatedAt = &u.IfUpdatedAt
	}
	r := request{op: op, method: http.MethodPost, body: body}
	if u.Name == nil && u.Description == nil && u.Metadata == nil && u.Limits == nil && u.Settings == nil {
		switch {
		case u.Unarchive:
		case !u.Archive: // over HTTP, an archived store refuses even an empty update
			return b.unchanged(ctx, op, ws, id, u.IfUpdatedAt)
		case u.IfUpdatedAt.IsZero():
			r.path, r.body = "/archive", nil
		}
	}
	var answer wire.Store
	if err := b.in(ctx, id, r, &answer); err != nil {
		return memento.StoreInfo{}, err
	}
	return answer.Info(ws), nil
}

// unchanged is UpdateStore without anything to update.
func (b *Backend) unchanged(ctx context.Context, op string, ws memento.Workspace, id memento.StoreID, ifUpdatedAt time.Time) (memento.StoreInfo, error) {
	info, err := b.GetStore(ctx, ws, id)
	if err == nil && !ifUpdatedAt.IsZero() && !ifUpdatedAt.Equal(info.UpdatedAt) {
		return memento.StoreInfo{}, &memento.Error{Op: op, Err: memento.ErrConflict}
	}
	return info, err
}

// texts returns the texts of an update.
func texts(u memento.StoreUpdate) (texts []string) {
	for _, s := range []*string{u.Name, u.Description} {
		if s != nil {
			texts = append(texts, *s)
		}
	}
	for k, v := range u.Metadata {
		texts = append(texts, k)
		if v != nil {
			texts = append(texts, *v)
		}
	}
	return texts
}

// DeleteStore removes a store permanently.
func (b *Backend) DeleteStore(ctx context.Context, _ memento.Workspace, id memento.StoreID) error {
	return b.in(ctx, id, request{op: "delete store", method: http.MethodDelete}, nil)
}

const pageSize = 100 // maximum page size of the server

// ListStores yields the stores of the key's workspace, newest first.
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	const op = "list stores"
	return func(yield func(memento.StoreInfo, error) bool) {
		if !utf8.ValidString(opts.Name) { // no store has such a name
			if err := b.absent(ctx, op, nil); err != nil {
				yield(memento.StoreInfo{}, err)
			}
			return
		}
		query := url.Values{}
		set(query, "name", opts.Name)
		set(query, "after", string(opts.After))
		setTime(query, "created_at[gte]", opts.CreatedFrom)
		setTime(query, "created_at[lte]", opts.CreatedTo)
		if opts.IncludeArchived {
			query.Set("include_archived", "true")
		}
		for left := opts.Limit; ; {
			size := pageSize
			if opts.Limit > 0 {
				size = min(size, left)
			}
			query.Set("limit", strconv.Itoa(size))
			var page struct {
				Data []wire.Store `json:"data"`
				Next string       `json:"next_page"`
			}
			if err := b.call(ctx, request{op: op, method: http.MethodGet, path: storesPath, query: query, safe: true}, &page); err != nil {
				yield(memento.StoreInfo{}, err)
				return
			}
			for i := range page.Data {
				if !yield(page.Data[i].Info(ws), nil) {
					return
				}
			}
			if left -= len(page.Data); page.Next == "" || opts.Limit > 0 && left <= 0 {
				return
			}
			query.Del("after")
			query.Set("page", page.Next)
		}
	}
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func setTime(query url.Values, name string, t time.Time) {
	if !t.IsZero() {
		query.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}
