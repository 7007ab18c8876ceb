package wire

import (
	"time"

	"memento"
	"memento/backend/apikey"
)

// Key is an API key.
type Key struct {
	ID        memento.KeyID     `json:"id"`
	Type      string            `json:"type"` // "api_key"
	Workspace memento.Workspace `json:"workspace_id"`
	Name      string            `json:"name"`
	Role      apikey.Role       `json:"role"`
	Hint      string            `json:"hint"`
	CreatedAt time.Time         `json:"created_at"`
	ExpiresAt *time.Time        `json:"expires_at"`
	RevokedAt *time.Time        `json:"revoked_at"`
	UsedAt    *time.Time        `json:"used_at"`

	Secret string `json:"key,omitempty"` // only in the response that creates the key
}

// FromKey converts a key, without its secret and the hash of its secret.
func FromKey(k apikey.Key) Key {
	return Key{
		ID: k.ID, Type: "api_key", Workspace: k.Workspace, Name: k.Name, Role: k.Role, Hint: k.Hint,
		CreatedAt: k.CreatedAt, ExpiresAt: OrNull(k.ExpiresAt), RevokedAt: OrNull(k.RevokedAt), UsedAt: OrNull(k.UsedAt),
	}
}

// Key is the reverse of [FromKey].
func (k *Key) Key() apikey.Key {
	return apikey.Key{
		ID: k.ID, Workspace: k.Workspace, Name: k.Name, Role: k.Role, Hint: k.Hint,
		CreatedAt: k.CreatedAt, ExpiresAt: orZero(k.ExpiresAt), RevokedAt: orZero(k.RevokedAt), UsedAt: orZero(k.UsedAt),
	}
}

// Identity describes the authenticated caller of a request.
type Identity struct {
	Type      string            `json:"type"` // "identity"
	ID        string            `json:"id"`
	Workspace memento.Workspace `json:"workspace_id"`
	Role      apikey.Role       `json:"role"`
	Actor     *Actor            `json:"actor"`
}
