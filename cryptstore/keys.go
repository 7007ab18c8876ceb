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

// An envelope is what is kept with a store: its secrets, wrapped.
type envelope struct {
	Format  string `json:"format"`  // envelopeFormat
	Version int    `json:"version"` // envelopeVersion
	Key     string `json:"key"`     // the ring's, which has wrapped them
	Wrapped []byte `json:"wrapped"`
}

const (
	envelopeFormat  = "memento-encryption"
	envelopeVersion = 1
)

// secrets are what is wrapped.
type secrets struct {
	Contents []byte    `json:"contents"` // a Tink keyset, binary: keys for contents
	NewestAt time.Time `json:"newest_at"`
	Root     []byte    `json:"root"`  // 32 bytes, for as long as the store lives: what digests and names are encrypted by comes from it
	Names    bool      `json:"names"` // whether names of memories are encrypted
}

// keys are the keys of one store. They are never changed.
type keys struct {
	store    memento.StoreID
	ws       memento.Workspace
	envelope string // from which they come
	ringKey  string // that wrapped them
	secrets  secrets

	contents tink.AEAD
	halves   [2]cipher.Block // for the halves of hashes
	names    *siv.AESSIV     // nil if names are in clear
}

// newSecrets makes the keys of a new store.
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

// withNewKey returns the secrets with another key for new contents.
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

// about is associated data: what a ciphertext is for, and where it belongs. Parts
// are written with their lengths, so that no two lists of parts look the same.
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

// parseEnvelope reads what is kept with a store.
func parseEnvelope(text string) (e envelope, err error) {
	if text == "" {
		return e, fmt.Errorf("%w: the store was made without encryption: copy it with memento copy into a backend with encryption, or open it without", memento.ErrDecrypt)
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Format != envelopeFormat {
		return e, fmt.Errorf("%w: what is kept with the store is no envelope of keys", memento.ErrDecrypt)
	}
	if e.Version != envelopeVersion {
		return e, fmt.Errorf("%w: the store's keys are of format %d, this program knows %d: use a newer memento", memento.ErrFormat, e.Version, envelopeVersion)
	}
	return e, nil
}

// unwrap opens the envelope of the store that was asked for, whichever one the
// storage says it has answered with.
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
		return nil, fmt.Errorf("%w: the store's keys are damaged", memento.ErrDecrypt) // without err, which could quote them
	}
	return k, nil
}

// make makes the keys ready for use.
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

// digest encrypts a hash: the halves of a SHA-256 are as good as random each, so
// that of two hashes nothing shows but whether they are the same.
func (k *keys) digest(hash string) string {
	digest, ok := byHalves(hash, func(i int, half []byte) { k.halves[i].Encrypt(half, half) })
	if !ok || strings.ToLower(hash) != hash {
		return "no hash" // of a condition: no memory has it
	}
	return digest
}

// hash is the reverse of digest; "" if there can be none.
func (k *keys) hash(digest string) string {
	hash, _ := byHalves(digest, func(i int, half []byte) { k.halves[i].Decrypt(half, half) })
	return hash
}

// byHalves returns the hexadecimal digits of a SHA-256 whose halves were changed.
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
