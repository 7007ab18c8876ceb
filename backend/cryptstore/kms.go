package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"memento"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/registry"
)

// A KMS is a key management service. It encrypts small secrets with keys that never leave
// it.
type KMS interface {
	// Encrypt encrypts a secret of at most 256 bytes with the key of this name.
	Encrypt(ctx context.Context, keyURI string, secret []byte) ([]byte, error)

	// Decrypt is the reverse of Encrypt. Its error wraps memento.ErrUnavailable if the
	// service cannot be reached.
	Decrypt(ctx context.Context, keyURI string, encrypted []byte) ([]byte, error)
}

// A KMSRing is a KeyRing with the keys of a key service: each store's keys are encrypted
// with a key of their own, and that with a key of the service (Tink's KMS envelope). The
// service is called when a store's keys are created, first used by a process, or rotated.
type KMSRing struct {
	kms     KMS
	primary string
	known   []string
}

var _ KeyRing = (*KMSRing)(nil)

// NewKMSRing returns a ring that wraps with the key named primary, and unwraps with that
// and the others. It does not call the service.
func NewKMSRing(kms KMS, primary string, others ...string) (*KMSRing, error) {
	if primary == "" || slices.Contains(others, "") {
		return nil, fmt.Errorf("%w: a key of a key service needs a name", memento.ErrInvalid)
	}
	return &KMSRing{kms: kms, primary: primary, known: append([]string{primary}, others...)}, nil
}

// Primary implements [KeyRing].
func (r *KMSRing) Primary() string { return r.primary }

// Wrap implements [KeyRing].
func (r *KMSRing) Wrap(ctx context.Context, secret, ad []byte) ([]byte, string, error) {
	e, err := r.envelope(r.primary)
	if err != nil {
		return nil, "", err
	}
	wrapped, err := e.EncryptWithContext(ctx, secret, ad)
	if _, ok := errors.AsType[net.Error](err); ok && ctx.Err() == nil {
		err = errNoKeyService
	}
	return wrapped, r.primary, err
}

// Unwrap implements [KeyRing].
func (r *KMSRing) Unwrap(ctx context.Context, keyID string, wrapped, ad []byte) ([]byte, error) {
	if !slices.Contains(r.known, keyID) {
		return nil, errMissingKey(keyID)
	}
	e, err := r.envelope(keyID)
	if err != nil {
		return nil, err
	}
	secret, err := e.DecryptWithContext(ctx, wrapped, ad)
	if err != nil {
		return nil, ringError(fmt.Errorf("key %s of the key service: %w", quoteID(keyID), err))
	}
	return secret, nil
}

func (r *KMSRing) envelope(keyID string) (*aead.KMSEnvelopeAEADWithContext, error) {
	return aead.NewKMSEnvelopeAEADWithContext(aead.AES256GCMKeyTemplate(), remoteKey{r.kms, keyID})
}

// A remoteKey is one key of a service, as Tink sees it.
type remoteKey struct {
	kms KMS
	uri string
}

// EncryptWithContext implements tink.AEADWithContext. The service gets no associated data;
// Tink binds that to the data encrypted with the envelope's own key.
func (k remoteKey) EncryptWithContext(ctx context.Context, secret, _ []byte) ([]byte, error) {
	return k.kms.Encrypt(ctx, k.uri, secret)
}

// DecryptWithContext implements tink.AEADWithContext.
func (k remoteKey) DecryptWithContext(ctx context.Context, encrypted, _ []byte) ([]byte, error) {
	return k.kms.Decrypt(ctx, k.uri, encrypted)
}

// TinkKMS returns a key service from a client of Tink's. There are such clients for the
// services of several cloud providers.
func TinkKMS(client registry.KMSClient) KMS { return tinkKMS{client} }

type tinkKMS struct{ client registry.KMSClient }

func (k tinkKMS) Encrypt(_ context.Context, keyURI string, secret []byte) ([]byte, error) {
	key, err := k.client.GetAEAD(keyURI)
	if err != nil {
		return nil, err
	}
	return key.Encrypt(secret, nil)
}

func (k tinkKMS) Decrypt(_ context.Context, keyURI string, encrypted []byte) ([]byte, error) {
	key, err := k.client.GetAEAD(keyURI)
	if err != nil {
		return nil, err
	}
	return key.Decrypt(encrypted, nil)
}
