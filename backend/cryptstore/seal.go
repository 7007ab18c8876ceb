package cryptstore

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"memento"
	"memento/backend"
)

// An encrypted text is stored as
//
//	memento-sealed:1:VERSION:BASE64
//
// with the version that wrote it, and Tink's AES-256-GCM ciphertext in base64 without
// padding. The associated data binds format, store, memory and version.
const (
	sealedPrefix = "memento-sealed:"
	sealedFormat = "1"
)

func (k *keys) textAD(memory memento.MemoryID, version memento.VersionID) []byte {
	return associatedData("memento contents 1", string(k.store), string(memory), string(version))
}

// A sealer encrypts the contents of one change for the inner backend.
type sealer struct {
	*keys
	last sealedText // the last encrypted text, which is stored if the change succeeds
}

type sealedText struct {
	version      memento.VersionID
	text, stored string
}

var _ backend.Sealer = (*sealer)(nil)

// Seal implements [backend.Sealer].
func (s *sealer) Seal(memory memento.MemoryID, version memento.VersionID, text string) (string, error) {
	kept, err := s.seal(memory, version, text)
	s.last = sealedText{version, text, kept}
	return kept, err
}

// Digest implements [backend.Sealer].
func (s *sealer) Digest(sha256 string) string { return s.digest(sha256) }

// Clear implements [backend.Sealer].
func (s *sealer) Clear(p memento.Path) (memento.Path, error) {
	if s.names != nil && len(p) > memento.MaxPathBytes { // because a directory was moved
		return "", errPathTooLong(s.displayPath(p), len(p))
	}
	return s.decryptPath(p)
}

// buffers are for texts while they are encrypted: Tink takes bytes, the rest of the package
// strings.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 64 << 10

func (k *keys) seal(memory memento.MemoryID, version memento.VersionID, text string) (string, error) {
	room := buffers.Get().(*[]byte)
	plain := append((*room)[:0], text...)
	encrypted, err := k.contents.Encrypt(plain, k.textAD(memory, version))
	clear(plain)
	if cap(plain) <= maxBuffer {
		*room = plain
	}
	buffers.Put(room)
	if err != nil {
		return "", fmt.Errorf("encrypt: %w", err)
	}
	var kept strings.Builder
	kept.Grow(len(sealedPrefix) + len(sealedFormat) + len(version) + 2 + base64.RawStdEncoding.EncodedLen(len(encrypted)))
	kept.WriteString(sealedPrefix + sealedFormat + ":")
	kept.WriteString(string(version))
	kept.WriteByte(':')
	// In parts, because a conversion of the whole to a string would copy it.
	const part = 768 // a multiple of 3
	var digits [part / 3 * 4]byte
	for len(encrypted) > 0 {
		n := min(part, len(encrypted))
		base64.RawStdEncoding.Encode(digits[:], encrypted[:n])
		kept.Write(digits[:base64.RawStdEncoding.EncodedLen(n)])
		encrypted = encrypted[n:]
	}
	return kept.String(), nil
}

// parseSealed parses an encrypted text.
func parseSealed(kept string) (by memento.VersionID, encrypted []byte, err error) {
	rest, ok := strings.CutPrefix(kept, sealedPrefix)
	format, rest, found := strings.Cut(rest, ":")
	if !ok || !found {
		return "", nil, tampered("the contents are not in memento's encrypted format")
	}
	if format != sealedFormat {
		return "", nil, tampered(fmt.Sprintf("the contents have format %s, this program supports %s: use a newer memento", quoteID(format), sealedFormat))
	}
	id, text, found := strings.Cut(rest, ":")
	if !found {
		return "", nil, tampered("the contents are truncated")
	}
	for more := true; more; { // imported IDs can have colons; searching forward is fast
		var next string
		if _, next, more = strings.Cut(text, ":"); more {
			id, text = rest[:len(rest)-len(next)-1], next
		}
	}
	encrypted, err = base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || base64.RawStdEncoding.EncodedLen(len(encrypted)) != len(text) { // the decoder ignores line ends
		return "", nil, tampered("it was changed")
	}
	return memento.VersionID(id), encrypted, nil
}

// decryptText decrypts the contents of a memory's version. It returns the text, its hash,
// and the version that wrote it.
//
// Errors: memento.ErrDecrypt.
func (k *keys) decryptText(memory memento.MemoryID, kept, digest string, size int64) (text, hash string, by memento.VersionID, err error) {
	if digest == "" {
		return "", "", "", tampered("the contents are not encrypted; write the memory again, or remove it")
	}
	by, encrypted, err := parseSealed(kept)
	if err != nil {
		return "", "", "", err
	}
	plain, err := k.contents.Decrypt(encrypted, k.textAD(memory, by))
	if err != nil {
		return "", "", "", tampered("the contents were changed or belong to another memory, or the key is missing")
	}
	text = string(plain)
	hash = memento.HashContent(text)
	switch {
	case hash != k.hash(digest), int64(len(text)) != size:
		return "", "", "", tampered("the contents do not match their hash or size")
	case !utf8.ValidString(text):
		return "", "", "", tampered("the contents are not UTF-8")
	}
	return text, hash, by, nil
}

// tampered returns ErrDecrypt with the known part of the cause.
func tampered(why string) error { return fmt.Errorf("%w: %s", memento.ErrDecrypt, why) }
