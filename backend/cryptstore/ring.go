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

// A KeyRing wraps the keys of stores with keys of its own, which never leave it. [Keys]
// holds them in memory, [KMSRing] uses a key service. It is safe for concurrent use.
type KeyRing interface {
	// Primary returns the ID of the key that Wrap uses at present. IDs are not secret.
	Primary() string

	// Wrap encrypts a secret of a few hundred bytes, and returns the ID of the key that it
	// used. Unwrap needs the same ad.
	Wrap(ctx context.Context, secret, ad []byte) (wrapped []byte, keyID string, err error)

	// Unwrap is the reverse of Wrap.
	//
	// Errors: memento.ErrDecrypt if the ring does not have the key, or has another key with
	// this ID; memento.ErrUnavailable if a service cannot be reached.
	Unwrap(ctx context.Context, keyID string, wrapped, ad []byte) ([]byte, error)
}

// Keys are a KeyRing in memory: a Tink keyset of AES-256-GCM keys, one of which is primary.
// Their text is Tink's JSON format for plaintext keysets, so the text must be kept secret.
// Keys are never changed; methods that change something return new ones.
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

// errNoKeys is the error for a text without usable keys. It contains nothing of the text.
var errNoKeys = fmt.Errorf("%w: encryption keys are a Tink keyset of AES-256-GCM keys in JSON, or that in base64; make one with memento encryption init", memento.ErrInvalid)

// ParseKeys parses the text of keys, as [Keys.Text] writes it or encoded in base64, which
// fits on one line.
//
// Errors: memento.ErrInvalid. The error contains nothing of the text.
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

// Text returns the keys in plaintext, for [ParseKeys].
func (k *Keys) Text() (string, error) {
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(k.handle, keyset.NewJSONWriter(&text)); err != nil {
		return "", fmt.Errorf("write encryption keys: %w", err)
	}
	return text.String(), nil
}

// String returns a description without secrets, for logs.
func (k *Keys) String() string {
	return fmt.Sprintf("encryption keys %s, primary %s", strings.Join(k.IDs(), ", "), k.primary)
}

// GoString is String, so that %#v does not print the keys.
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

// Add returns the keys with a new one, which becomes primary if primary is true. Where
// several processes share a backend, all must have a key before the first one makes it
// primary.
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

// Remove returns the keys without one. What that key has wrapped cannot be read any more,
// unless [Backend.Rotate] has wrapped it again.
//
// Errors: memento.ErrNotExist; memento.ErrInvalid for the primary key.
func (k *Keys) Remove(id string) (*Keys, error) {
	n, err := k.number(id)
	if err != nil {
		return nil, err
	}
	if id == k.primary {
		return nil, fmt.Errorf("%w: encryption key %s is the primary key: make another key primary first", memento.ErrInvalid, id)
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
		err = errOtherKey // otherwise the key in use could be considered unused, and be removed
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the data was not wrapped with encryption key %s, or was changed", memento.ErrDecrypt, quoteID(keyID))
	}
	return secret, nil
}

// wrappedBy returns the ID of the key that has wrapped a secret. Tink writes it at the
// beginning.
func (k *Keys) wrappedBy(wrapped []byte) (id string, ok bool) {
	if len(wrapped) < 5 || wrapped[0] != 1 {
		return "", false
	}
	id = keyName(binary.BigEndian.Uint32(wrapped[1:]))
	return id, slices.Contains(k.IDs(), id)
}

var errOtherKey = errors.New("another key has wrapped it")

// errMissingKey says which key is missing.
func errMissingKey(keyID string) error {
	return fmt.Errorf("%w: encryption key %s is required but was not given", memento.ErrDecrypt, quoteID(keyID))
}

// quoteID quotes an ID from the storage for an error, and truncates it if it is long.
func quoteID(id string) string {
	const most = 100
	if len(id) > most {
		id = id[:most] + "…"
	}
	return strconv.Quote(id)
}

// errNoKeyService replaces network errors, whose texts contain addresses.
var errNoKeyService = fmt.Errorf("%w: the key service is not reachable", memento.ErrUnavailable)

// ringError returns an error of a ring as one of the root package's. An error without a
// known cause is about the key.
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
