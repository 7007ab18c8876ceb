package httpapi

import (
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/internal/wire"
)

func (a *API) whoAmI(c *call) error {
	return c.answer(wire.Identity{
		Type: "identity", ID: c.who.ID, Workspace: c.who.Workspace, Role: c.who.Role, Actor: wire.FromActor(c.who.Actor),
	})
}

// keyKeeper returns the backend's KeyKeeper, or ErrUnsupported if the backend keeps no
// keys.
func (c *call) keyKeeper() (apikey.Keeper, error) {
	if c.api.keys == nil {
		return nil, &memento.Error{Op: "keys", Err: memento.ErrUnsupported}
	}
	return c.api.keys, nil
}

func (a *API) listKeys(c *call) error {
	keys, err := c.keyKeeper()
	if err != nil {
		return err
	}
	answer := page[wire.Key]{Data: []wire.Key{}} // a workspace has few keys
	for k, err := range keys.ListKeys(c.context(), c.who.Workspace) {
		if err != nil {
			return err
		}
		answer.Data = append(answer.Data, wire.FromKey(k))
	}
	return c.answer(answer)
}

// key returns the key that the path names, and its KeyKeeper.
func (c *call) key() (apikey.Key, apikey.Keeper, error) {
	keys, err := c.keyKeeper()
	if err != nil {
		return apikey.Key{}, nil, err
	}
	id, err := c.pathID("key", "apikey_", "key")
	if err != nil {
		return apikey.Key{}, nil, err
	}
	for k, err := range keys.ListKeys(c.context(), c.who.Workspace) {
		if err != nil || k.ID == memento.KeyID(id) {
			return k, keys, err
		}
	}
	return apikey.Key{}, nil, notFoundErr("key")
}

func (a *API) getKey(c *call) error {
	k, _, err := c.key()
	if err != nil {
		return err
	}
	return c.answer(wire.FromKey(k))
}

// createKey creates a key in the caller's workspace. The caller can create the secret
// itself, and send only its hash.
func (a *API) createKey(c *call) error {
	keys, err := c.keyKeeper()
	if err != nil {
		return err
	}
	var body struct {
		Name      *string       `json:"name"`
		Role      *apikey.Role  `json:"role"`
		ExpiresAt *time.Time    `json:"expires_at"`
		ID        memento.KeyID `json:"id"`
		SHA256    string        `json:"key_sha256"`
		Hint      string        `json:"hint"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	name, err := required("name", body.Name)
	if err != nil {
		return err
	}
	role, err := required("role", body.Role)
	if err != nil {
		return err
	}
	var expires time.Time
	if body.ExpiresAt != nil {
		if expires = body.ExpiresAt.UTC(); expires.IsZero() { // the zero time would mean never
			return invalid("expires_at: must be in the future; omit it for a key that does not expire")
		}
	}
	k, secret, err := apikey.New(c.who.Workspace, name, role, a.opts.Now().UTC().Truncate(time.Microsecond), expires)
	if err != nil {
		return err
	}
	answer, err := addKey(c, keys, k, secret, ownSecret{body.ID, body.SHA256, body.Hint})
	if err != nil {
		return err
	}
	return c.answer(answer)
}

// An ownSecret describes a secret that the caller created and did not send: the fields
// id, key_sha256 and hint of a body. It is zero if the body has none of them.
type ownSecret struct {
	id           memento.KeyID
	sha256, hint string
}

// replace sets the hash, hint and ID of k to those of the caller's own secret.
func (o ownSecret) replace(k *apikey.Key) error {
	if err := checkHash("key_sha256", o.sha256); err != nil {
		return err
	}
	if o.id != "" && !isID(string(o.id), "apikey_") {
		return invalid("id: must be apikey_ and up to %d letters, digits, hyphens and underscores", maxIDBytes-len("apikey_"))
	}
	hash, _ := hex.DecodeString(o.sha256) // checkHash has checked the form
	k.Hash, k.Hint = apikey.Hash(hash), o.hint
	if o.id != "" {
		k.ID = o.id
	}
	return nil
}

// addKey adds a key, with its generated secret or with the caller's own, and returns the
// answer.
func addKey(c *call, keys apikey.Keeper, k apikey.Key, secret string, own ownSecret) (answer wire.Key, err error) {
	if own != (ownSecret{}) {
		if err := own.replace(&k); err != nil {
			return answer, err
		}
		secret = ""
	}
	err = keys.AddKey(c.context(), k)
	if errors.Is(err, memento.ErrExist) {
		err = &apiError{status: http.StatusConflict, kind: conflictError, message: "this key already exists", shouldRetry: "false", extra: errorDetails(err)}
	}
	answer = wire.FromKey(k)
	answer.Secret = secret
	return answer, err
}

func (a *API) revokeKey(c *call) error {
	k, keys, err := c.key()
	if err != nil {
		return err
	}
	if err := c.decode(&struct{}{}); err != nil {
		return err
	}
	u := apikey.Update{RevokedAt: a.opts.Now().UTC()}
	if k, err = keys.UpdateKey(c.context(), k.Workspace, k.ID, u); err != nil {
		return err
	}
	invalidateKey(a.opts.Auth, k.ID)
	return c.answer(wire.FromKey(k))
}

const maxGrace = 90 * 24 * time.Hour

// rotateKey creates a key like an existing one, which expires after a grace period.
func (a *API) rotateKey(c *call) error {
	old, keys, err := c.key()
	if err != nil {
		return err
	}
	var body struct {
		Grace  int64         `json:"grace_seconds"`
		ID     memento.KeyID `json:"id"`
		SHA256 string        `json:"key_sha256"`
		Hint   string        `json:"hint"`
	}
	if err := c.decode(&body); err != nil {
		return err
	}
	grace := time.Duration(body.Grace) * time.Second
	if body.Grace < 0 || body.Grace > int64(maxGrace/time.Second) {
		return invalid("grace_seconds: must be from 0 to %d", int64(maxGrace/time.Second))
	}
	now := a.opts.Now().UTC().Truncate(time.Microsecond)
	if !old.Active(now) {
		return invalid("this key has expired or is revoked; create another")
	}
	k, secret, err := apikey.New(old.Workspace, old.Name, old.Role, now, old.ExpiresAt)
	if err != nil {
		return err
	}
	answer, err := addKey(c, keys, k, secret, ownSecret{body.ID, body.SHA256, body.Hint})
	if err != nil {
		return err
	}
	if _, err := keys.UpdateKey(c.context(), old.Workspace, old.ID, apikey.Update{ExpiresAt: now.Add(max(grace, time.Microsecond))}); err != nil {
		return err
	}
	invalidateKey(a.opts.Auth, old.ID)
	return c.answer(answer)
}
