package cryptstore

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"memento"

	"github.com/tink-crypto/tink-go/v2/aead"
	siv "github.com/tink-crypto/tink-go/v2/daead/subtle"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// An envelope is stored with a store: its wrapped secrets.
type envelope struct {
	Format  string `json:"format"`  // envelopeFormat
	Version int    `json:"version"` // envelopeVersion
	Key     string `json:"key"`     // ID of the ring's key with which they are wrapped
	Wrapped []byte `json:"wrapped"`
}

const (
	envelopeFormat  = "memento-encryption"
	envelopeVersion = 1
)

// secrets are the wrapped part of an envelope.
type secrets struct {
	Contents []byte    `json:"contents"` // a Tink keyset, binary: keys for contents
	NewestAt time.Time `json:"newest_at"`
	Root     []byte    `json:"root"`  // 32 bytes, never changed; the keys for digests and names are derived from it
	Names    bool      `json:"names"` // whether names of memories are encrypted
}

// keys are the keys of one store. They are never changed.
type keys struct {
	store    memento.StoreID
	ws       memento.Workspace
	envelope string // the envelope that they come from
	ringKey  string // ID of the ring's key that wrapped them
	secrets  secrets

	contents tink.AEAD
	halves   [2]cipher.Block // for the halves of hashes
	names    *siv.AESSIV     // nil if names are in clear
}

// newSecrets makes the secrets of a new store.
func newSecrets(names bool, at time.Time) (secrets, error) {
	s := secrets{Root: make([]byte, 32), Names: names, NewestAt: at.UTC().Truncate(time.Second)}
	rand.Read(s.Root) // never fails: crypto/rand
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return s, err
	}
	s.Contents, err = keysetBytes(h)
	return s, err
}

// withNewKey returns the secrets with an additional key, for new contents.
func (s secrets) withNewKey(at time.Time) (secrets, error) {
	h, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(s.Contents)))
	if err != nil {
		return s, err
	}
	m := keyset.NewManagerFromHandle(h)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return s, err
	}
	if err := m.SetPrimary(id); err != nil {
		return s, err
	}
	if h, err = m.Handle(); err != nil {
		return s, err
	}
	s.NewestAt = at.UTC().Truncate(time.Second)
	s.Contents, err = keysetBytes(h)
	return s, err
}

func keysetBytes(h *keyset.Handle) ([]byte, error) {
	var data bytes.Buffer
	err := insecurecleartextkeyset.Write(h, keyset.NewBinaryWriter(&data))
	return data.Bytes(), err
}

// associatedData returns the associated data of a ciphertext: what it is, and where it
// belongs. Each part is preceded by its length, so that different lists of parts have
// different results.
func associatedData(what string, parts ...string) []byte {
	size := len(what) + 1
	for _, p := range parts {
		size += 4 + len(p)
	}
	ad := append(append(make([]byte, 0, size), what...), 0)
	for _, p := range parts {
		n := len(p)
		ad = append(ad, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		ad = append(ad, p...)
	}
	return ad
}

func keysAD(ws memento.Workspace, id memento.StoreID) []byte {
	return associatedData("memento store keys 1", string(id), string(ws))
}

// wrap makes the envelope of a store.
func wrap(ctx context.Context, ring KeyRing, ws memento.Workspace, id memento.StoreID, s secrets) (string, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	wrapped, key, err := ring.Wrap(ctx, plain, keysAD(ws, id))
	if err != nil {
		return "", fmt.Errorf("the keys of the store cannot be wrapped: %w", err)
	}
	text, err := json.Marshal(envelope{envelopeFormat, envelopeVersion, key, wrapped})
	return string(text), err
}

// parseEnvelope parses an envelope.
func parseEnvelope(text string) (e envelope, err error) {
	if text == "" {
		return e, fmt.Errorf("%w: the store is not encrypted: copy it with memento copy to an encrypted backend, or open it without keys", memento.ErrDecrypt)
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Format != envelopeFormat {
		return e, fmt.Errorf("%w: the store has an invalid envelope", memento.ErrDecrypt)
	}
	if e.Version != envelopeVersion {
		return e, fmt.Errorf("%w: the store's keys have format %d, this program supports %d: use a newer memento", memento.ErrFormat, e.Version, envelopeVersion)
	}
	return e, nil
}

// unwrap opens the envelope of the requested store. The envelope is bound to its ID and
// workspace, so the storage cannot substitute another store's.
func unwrap(ctx context.Context, ring KeyRing, ws memento.Workspace, id memento.StoreID, text string) (*keys, error) {
	e, err := parseEnvelope(text)
	if err != nil {
		return nil, err
	}
	plain, err := ring.Unwrap(ctx, e.Key, e.Wrapped, keysAD(ws, id))
	if err != nil {
		return nil, ringError(err)
	}
	k := &keys{store: id, ws: ws, envelope: text, ringKey: e.Key}
	if err := k.derive(plain); err != nil {
		return nil, fmt.Errorf("%w: the store's keys are damaged", memento.ErrDecrypt) // without err, whose text could contain parts of the keys
	}
	return k, nil
}

// derive parses the secrets and derives the keys from them.
func (k *keys) derive(plain []byte) error {
	if err := json.Unmarshal(plain, &k.secrets); err != nil {
		return err
	}
	h, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(k.secrets.Contents)))
	if err != nil {
		return err
	}
	if k.contents, err = aead.New(h); err != nil {
		return err
	}
	if len(k.secrets.Root) != 32 {
		return fmt.Errorf("a root key of %d bytes", len(k.secrets.Root))
	}
	for i, use := range []string{"memento digest 1, first half", "memento digest 1, second half"} {
		sub, err := hkdf.Key(sha256.New, k.secrets.Root, nil, use, 32)
		if err != nil {
			return err
		}
		if k.halves[i], err = aes.NewCipher(sub); err != nil {
			return err
		}
	}
	if !k.secrets.Names {
		return nil
	}
	sub, err := hkdf.Key(sha256.New, k.secrets.Root, nil, "memento names 1", siv.AESSIVKeySize)
	if err != nil {
		return err
	}
	k.names, err = siv.NewAESSIV(sub)
	return err
}

// digest encrypts a hash. Each half of a SHA-256 looks random, so an encrypted half reveals
// only whether two hashes are equal.
func (k *keys) digest(hash string) string {
	digest, ok := byHalves(hash, func(i int, half []byte) { k.halves[i].Encrypt(half, half) })
	if !ok || strings.ToLower(hash) != hash {
		return "no hash" // used in a condition; matches no memory
	}
	return digest
}

// hash is the reverse of digest; "" if the digest is invalid.
func (k *keys) hash(digest string) string {
	hash, _ := byHalves(digest, func(i int, half []byte) { k.halves[i].Decrypt(half, half) })
	return hash
}

// byHalves applies change to each half of a SHA-256, which is given and returned in
// hexadecimal.
func byHalves(hash string, change func(i int, half []byte)) (changed string, ok bool) {
	var digits [2 * sha256.Size]byte
	if len(hash) != len(digits) {
		return "", false
	}
	copy(digits[:], hash)
	sum := make([]byte, sha256.Size)
	if _, err := hex.Decode(sum, digits[:]); err != nil {
		return "", false
	}
	for i := range 2 {
		change(i, sum[i*aes.BlockSize:(i+1)*aes.BlockSize])
	}
	hex.Encode(digits[:], sum)
	return string(digits[:]), true
}
