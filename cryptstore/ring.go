package cryptstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"memento"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// A KeyRing wraps the keys of stores with keys of its own, which it does not give
// away. [Keys] has them in memory, [KMSRing] leaves them to a key service. It is
// safe for concurrent use.
type KeyRing interface {
	// Primary returns the ID of the key that Wrap uses at present. IDs are no secrets.
	Primary() string

	// Wrap encrypts a secret of a few hundred bytes, and returns the ID of the key
	// that did it. ad must be given to Unwrap again.
	Wrap(ctx context.Context, secret, ad []byte) (wrapped []byte, keyID string, err error)

	// Unwrap is the reverse of Wrap.
	//
	// Errors: memento.ErrDecrypt if the ring does not have the key, or it is another's;
	// memento.ErrUnavailable if a service cannot be reached.
	Unwrap(ctx context.Context, keyID string, wrapped, ad []byte) ([]byte, error)
}

// Keys are a KeyRing in memory: a Tink keyset of AES-256-GCM keys, one of which is
// primary. Its text is Tink's JSON format for keysets in clear, so whoever has the
// text has the keys. Keys are never changed; methods that change something return
// others.
type Keys struct {
	handle  *keyset.Handle
	aead    tink.AEAD
	primary string
}

var _ KeyRing = (*Keys)(nil)

// NewKeys returns a ring with one new key.
func NewKeys() (*Keys, error) {
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make encryption keys: %w", err)
	}
	return newKeys(h)
}

func newKeys(h *keyset.Handle) (*Keys, error) {
	primitive, err := aead.New(h)
	if err != nil {
		return nil, errNoKeys
	}
	p, err := h.Primary()
	if err != nil {
		return nil, errNoKeys
	}
	return &Keys{handle: h, aead: primitive, primary: keyName(p.KeyID())}, nil
}

// errNoKeys is of a text that has no usable keys. Nothing of the text is in it.
var errNoKeys = fmt.Errorf("%w: encryption keys are a Tink keyset of AES-256-GCM keys in JSON, or that in base64; make one with memento keys init-encryption", memento.ErrInvalid)

// ParseKeys reads the text of keys: as [Keys.Text] writes it, or that in base64,
// which fits on one line.
//
// Errors: memento.ErrInvalid, whose text has nothing of the given one.
func ParseKeys(text string) (*Keys, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, errNoKeys
		}
		text = string(plain)
	}
	h, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(strings.NewReader(text)))
	if err != nil {
		return nil, errNoKeys
	}
	return newKeys(h)
}

// Text returns the keys in clear, for [ParseKeys].
func (k *Keys) Text() (string, error) {
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(k.handle, keyset.NewJSONWriter(&text)); err != nil {
		return "", fmt.Errorf("write encryption keys: %w", err)
	}
	return text.String(), nil
}

// String returns what may be logged.
func (k *Keys) String() string {
	return fmt.Sprintf("encryption keys %s, primary %s", strings.Join(k.IDs(), ", "), k.primary)
}

// GoString is String, lest %#v show more.
func (k *Keys) GoString() string { return k.String() }

func keyName(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// IDs returns the IDs of all keys, oldest first.
func (k *Keys) IDs() (ids []string) {
	for i := range k.handle.Len() {
		if e, err := k.handle.Entry(i); err == nil && e.KeyStatus() == keyset.Enabled {
			ids = append(ids, keyName(e.KeyID()))
		}
	}
	return ids
}

// Add returns the keys with a new one, which is primary if asked for. Where several
// processes share a backend, all must have a key before the first makes it primary.
func (k *Keys) Add(primary bool) (*Keys, string, error) {
	var id uint32
	more, err := k.changed(func(m *keyset.Manager) (err error) {
		if id, err = m.Add(aead.AES256GCMKeyTemplate()); err == nil && primary {
			err = m.SetPrimary(id)
		}
		return err
	})
	return more, keyName(id), err
}

// SetPrimary returns the keys with another primary one. Errors: memento.ErrNotExist.
func (k *Keys) SetPrimary(id string) (*Keys, error) {
	n, err := k.number(id)
	if err != nil {
		return nil, err
	}
	return k.changed(func(m *keyset.Manager) error { return m.SetPrimary(n) })
}

// Remove returns the keys without one. What it has wrapped is lost, unless
// [Backend.Rotate] has wrapped it again.
//
// Errors: memento.ErrNotExist; memento.ErrInvalid for the primary one.
func (k *Keys) Remove(id string) (*Keys, error) {
	n, err := k.number(id)
	if err != nil {
		return nil, err
	}
	if id == k.primary {
		return nil, fmt.Errorf("%w: encryption key %s is the primary one: make another primary first", memento.ErrInvalid, id)
	}
	return k.changed(func(m *keyset.Manager) error { return m.Delete(n) })
}

func (k *Keys) number(id string) (uint32, error) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil || !slices.Contains(k.IDs(), id) {
		return 0, fmt.Errorf("%w: encryption key %q", memento.ErrNotExist, id)
	}
	return uint32(n), nil
}

func (k *Keys) changed(change func(*keyset.Manager) error) (*Keys, error) {
	m := keyset.NewManagerFromHandle(k.handle)
	if err := change(m); err != nil {
		return nil, fmt.Errorf("change encryption keys: %w", err)
	}
	h, err := m.Handle()
	if err != nil {
		return nil, fmt.Errorf("change encryption keys: %w", err)
	}
	return newKeys(h)
}

// Primary implements [KeyRing].
func (k *Keys) Primary() string { return k.primary }

// Wrap implements [KeyRing].
func (k *Keys) Wrap(_ context.Context, secret, ad []byte) ([]byte, string, error) {
	wrapped, err := k.aead.Encrypt(secret, ad)
	return wrapped, k.primary, err
}

// Unwrap implements [KeyRing].
func (k *Keys) Unwrap(_ context.Context, keyID string, wrapped, ad []byte) ([]byte, error) {
	if !slices.Contains(k.IDs(), keyID) {
		return nil, errMissingKey(keyID)
	}
	secret, err := k.aead.Decrypt(wrapped, ad)
	if by, ok := k.wrappedBy(wrapped); err == nil && ok && by != keyID {
		err = errOtherKey // else the key that is needed could be taken for unused, and removed
	}
	if err != nil {
		return nil, fmt.Errorf("%w: what encryption key %s should have wrapped was not wrapped by it, or was changed", memento.ErrDecrypt, quoteID(keyID))
	}
	return secret, nil
}

// wrappedBy returns the key that Tink has noted, in front, to have wrapped a secret.
func (k *Keys) wrappedBy(wrapped []byte) (id string, ok bool) {
	if len(wrapped) < 5 || wrapped[0] != 1 {
		return "", false
	}
	id = keyName(binary.BigEndian.Uint32(wrapped[1:]))
	return id, slices.Contains(k.IDs(), id)
}

var errOtherKey = errors.New("another key has wrapped it")

// errMissingKey says which key is needed.
func errMissingKey(keyID string) error {
	return fmt.Errorf("%w: it needs encryption key %s, which was not given", memento.ErrDecrypt, quoteID(keyID))
}

// shown is an ID that comes from the storage, as far as it fits into an error.
func quoteID(id string) string {
	const most = 100
	if len(id) > most {
		id = id[:most] + "…"
	}
	return strconv.Quote(id)
}

// errNoKeyService is of a fault of the network, whose text has addresses.
var errNoKeyService = fmt.Errorf("%w: the key service does not answer", memento.ErrUnavailable)

// unwrapped sorts the errors of rings: what says nothing else is about the key.
func ringError(err error) error {
	for _, known := range []error{memento.ErrDecrypt, memento.ErrUnavailable, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return err
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return errNoKeyService
	}
	return fmt.Errorf("%w: %w", memento.ErrDecrypt, err)
}
