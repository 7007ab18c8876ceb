// Package apikey has the API keys of servers: what a [Key] may do ([Role]), how it is made
// ([New]) and checked, and the interface of backends that keep keys ([Keeper]). Only the
// hash of a key's secret is stored.
package apikey

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"time"

	"memento"
	"memento/internal/ids"
	"memento/internal/textfield"
	"memento/internal/times"
)

// A Role says what the holder of a key may do in its workspace. Each role may do
// what those before it may.
type Role string

// The roles.
const (
	RoleRead  Role = "read"  // look at stores, memories and history
	RoleWrite Role = "write" // make and change stores and memories
	RoleAdmin Role = "admin" // manage keys; import, redact and remove history
)

// Allows reports whether r may do what need asks for. An unknown role neither may
// anything nor is enough for anything.
func (r Role) Allows(need Role) bool { return need.rank() > 0 && r.rank() >= need.rank() }

func (r Role) rank() int {
	switch r {
	case RoleRead:
		return 1
	case RoleWrite:
		return 2
	case RoleAdmin:
		return 3
	}
	return 0
}

// NewID returns an ID for a key made at the given time.
func NewID(at time.Time) memento.KeyID { return memento.KeyID(ids.Key(at)) }

// A Key gives programs access to one workspace. Its secret is shown once, when it is
// made, and not stored: only its hash is.
type Key struct {
	ID        memento.KeyID
	Workspace memento.Workspace
	Name      string // for people: 1 to 255 characters, no control characters
	Role      Role
	Hash      Hash
	Hint      string // the last characters of the secret, at most 8, to distinguish keys; may be ""

	CreatedAt time.Time
	ExpiresAt time.Time // it is invalid from then on; zero if never
	RevokedAt time.Time // when it was revoked, for good; zero if it was not
	UsedAt    time.Time // when it was last used, coarse; zero if never
}

// A Hash is the SHA-256 of a key's secret. The secret is 256 random bits, which
// no search finds, so a slow hash would protect nothing more.
type Hash [sha256.Size]byte

// HashSecret returns the hash of a key's secret.
func HashSecret(secret string) Hash { return sha256.Sum256([]byte(secret)) }

// Active reports whether the key is valid at a time. A revoked key never is, whatever the
// time of its revocation: the clocks of servers may differ.
func (k *Key) Active(at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || at.Before(k.ExpiresAt))
}

// SecretPrefix begins the secret of every key, so that scanners find those that
// leaked.
const SecretPrefix = "sk-memento-"

const (
	hintChars       = 4
	maxHintChars    = 8
	maxKeyNameChars = 255
)

// NewSecret returns a new key's secret: SecretPrefix and 43 characters for 256
// random bits.
func NewSecret() string {
	var bits [32]byte
	rand.Read(bits[:]) // never fails: crypto/rand
	return SecretPrefix + base64.RawURLEncoding.EncodeToString(bits[:])
}

// New returns a key with a new secret, for [Keeper.AddKey]. expires is when
// it ends; zero for never.
//
// Errors: ErrInvalid.
func New(ws memento.Workspace, name string, role Role, at, expires time.Time) (k Key, secret string, err error) {
	secret = NewSecret()
	k = Key{
		ID: NewID(at), Workspace: ws, Name: name, Role: role, Hash: HashSecret(secret),
		Hint: secret[len(secret)-hintChars:], CreatedAt: times.Stored(at), ExpiresAt: times.Stored(expires),
	}
	if err := k.Check(); err != nil {
		return Key{}, "", err
	}
	return k, secret, nil
}

// Check returns ErrInvalid if a field of k breaks its rule.
func (k *Key) Check() error {
	err := k.Workspace.Check()
	switch {
	case err != nil:
	case k.ID == "" || k.Hash == Hash{} || k.CreatedAt.IsZero():
		err = fmt.Errorf("%w: a key must have an ID, the hash of its secret and a creation time", memento.ErrInvalid)
	case k.Name == "":
		err = fmt.Errorf("%w: a key must have a name", memento.ErrInvalid)
	case k.Role.rank() == 0:
		err = fmt.Errorf("%w: the role is %q; it can be read, write or admin", memento.ErrInvalid, string(k.Role))
	case !times.IsWritable(k.CreatedAt) || !times.IsWritable(k.ExpiresAt):
		err = fmt.Errorf("%w: a key's times must be in the years 1 to 9999", memento.ErrInvalid)
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(k.CreatedAt):
		err = fmt.Errorf("%w: a key cannot expire before it is created", memento.ErrInvalid)
	default: // no more of the secret than the hint may be stored
		err = cmp.Or(checkField("name", k.Name, maxKeyNameChars), checkField("hint", k.Hint, maxHintChars))
	}
	if err != nil {
		return &memento.Error{Op: "check key", Err: err}
	}
	return nil
}

func checkField(what, text string, maxChars int) error {
	if fault := textfield.LineFault(text, maxChars); fault != "" {
		return fmt.Errorf("%w: the %s %s", memento.ErrInvalid, what, fault)
	}
	return nil
}

// A Keeper is a [memento.Backend] that keeps API keys, for servers. All servers on one
// backend share them: what a method has done is durable, and seen by all, when it
// returns. Times are kept in UTC and whole microseconds.
type Keeper interface {
	// AddKey keeps a new key. Errors: ErrInvalid; ErrExist (its ID or its hash is
	// known, in whichever workspace).
	AddKey(context.Context, Key) error

	// KeyByHash returns the key whose secret has this hash, active or not.
	// Errors: ErrNotExist.
	KeyByHash(context.Context, Hash) (Key, error)

	// ListKeys yields the keys of a workspace, or of all if ws is "", oldest
	// first, those that are not active any more included.
	ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[Key, error]

	// UpdateKey changes a key of the workspace, as [Key.Updated] says, and
	// returns it. What changes nothing writes nothing. Errors: ErrNotExist.
	UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u Update) (Key, error)
}

// A Update changes a [Key]. Fields left zero stay as they are.
type Update struct {
	ExpiresAt time.Time // if it is earlier than it was, or it was never: keys do not live longer than they were made for
	RevokedAt time.Time // if it was not revoked yet
	UsedAt    time.Time // if it is a minute later than it was, or more
}

// usedEvery is how coarse the times are at which keys were used: of all requests
// with a key, one a minute is worth a write.
const usedEvery = time.Minute

// Updated returns the key after u, for backends to keep. A key that u does not
// change comes back as it is.
func (k Key) Updated(u Update) Key {
	expires, revoked, used := times.Stored(u.ExpiresAt), times.Stored(u.RevokedAt), times.Stored(u.UsedAt)
	if !expires.IsZero() && (k.ExpiresAt.IsZero() || expires.Before(k.ExpiresAt)) {
		k.ExpiresAt = expires
	}
	if k.RevokedAt.IsZero() {
		k.RevokedAt = revoked
	}
	if used.Sub(k.UsedAt) >= usedEvery {
		k.UsedAt = used
	}
	return k
}
