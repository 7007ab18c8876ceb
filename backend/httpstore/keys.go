package httpstore

import (
	"context"
	"encoding/hex"
	"iter"
	"net/http"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/internal/wire"
)

const keysPath = "/v1/admin/keys"

// Keys yields the API keys of the key's own workspace, oldest first, including those that
// are no longer active. Their hashes stay on the server. Like the other methods about
// keys, it requires the role admin.
func (b *Backend) Keys(ctx context.Context) iter.Seq2[apikey.Key, error] {
	return func(yield func(apikey.Key, error) bool) {
		var page struct {
			Data []wire.Key `json:"data"`
		}
		if err := b.call(ctx, request{op: "list keys", method: http.MethodGet, path: keysPath, safe: true}, &page); err != nil {
			yield(apikey.Key{}, err)
			return
		}
		for i := range page.Data {
			if !yield(page.Data[i].Key(), nil) {
				return
			}
		}
	}
}

// A keyBody makes a key whose secret stays with the client.
type keyBody struct {
	ID        memento.KeyID `json:"id"`
	Name      string        `json:"name,omitempty"`
	Role      apikey.Role   `json:"role,omitempty"`
	ExpiresAt *time.Time    `json:"expires_at,omitempty"`
	SHA256    string        `json:"key_sha256"`
	Hint      string        `json:"hint,omitempty"`
	Grace     *int64        `json:"grace_seconds,omitempty"`
}

// CreateKey adds a key made by [apikey.New] to the key's own workspace, and returns
// it as the server keeps it. The secret is not sent, only its hash.
//
// Errors: memento.ErrInvalid, memento.ErrExist, memento.ErrDenied.
func (b *Backend) CreateKey(ctx context.Context, k apikey.Key) (apikey.Key, error) {
	const op = "create key"
	if err := k.Check(); err != nil {
		return apikey.Key{}, b.absent(ctx, op, err)
	}
	body := keyBody{
		ID: k.ID, Name: k.Name, Role: k.Role, ExpiresAt: wire.OrNull(k.ExpiresAt), SHA256: hex.EncodeToString(k.Hash[:]), Hint: k.Hint,
	}
	return b.key(ctx, request{op: op, method: http.MethodPost, path: keysPath, body: body})
}

// RevokeKey revokes a key permanently. Errors: memento.ErrNotExist, memento.ErrDenied.
func (b *Backend) RevokeKey(ctx context.Context, id memento.KeyID) (apikey.Key, error) {
	return b.keyOf(ctx, id, request{op: "revoke key", method: http.MethodPost}, "/revoke")
}

// RotateKey replaces the key old, which expires after grace, in whole seconds. The new
// key has the ID, the hash and the hint of next, which is made by [apikey.New], and
// otherwise the properties of the old one.
//
// Errors: memento.ErrInvalid (the old key is no longer active), memento.ErrNotExist,
// memento.ErrDenied.
func (b *Backend) RotateKey(ctx context.Context, old memento.KeyID, grace time.Duration, next apikey.Key) (apikey.Key, error) {
	seconds := int64(grace / time.Second)
	body := keyBody{ID: next.ID, SHA256: hex.EncodeToString(next.Hash[:]), Hint: next.Hint, Grace: &seconds}
	return b.keyOf(ctx, old, request{op: "rotate key", method: http.MethodPost, body: body}, "/rotate")
}

// keyOf makes a request about a key.
func (b *Backend) keyOf(ctx context.Context, id memento.KeyID, r request, below string) (apikey.Key, error) {
	if !isID(string(id), "apikey_") {
		return apikey.Key{}, b.absent(ctx, r.op, &memento.Error{Op: r.op, Err: memento.ErrNotExist})
	}
	r.path = keysPath + "/" + string(id) + below
	return b.key(ctx, r)
}

func (b *Backend) key(ctx context.Context, r request) (apikey.Key, error) {
	var answer wire.Key
	if err := b.call(ctx, r, &answer); err != nil {
		return apikey.Key{}, err
	}
	return answer.Key(), nil
}
