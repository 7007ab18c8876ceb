package cryptstore

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"memento"
)

// What is kept of a text is
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

// A sealer is what a store's keys are to a backend, for one change.
type sealer struct {
	*keys
	last sealedText // what was sealed last, which is what is kept if the change succeeds
}

type sealedText struct {
	version      memento.VersionID
	text, stored string
}

var _ memento.Sealer = (*sealer)(nil)

// Seal implements [memento.Sealer].
func (s *sealer) Seal(memory memento.MemoryID, version memento.VersionID, text string) (string, error) {
	kept, err := s.seal(memory, version, text)
	s.last = sealedText{version, text, kept}
	return kept, err
}

// Digest implements [memento.Sealer].
func (s *sealer) Digest(sha256 string) string { return s.digest(sha256) }

// Clear implements [memento.Sealer].
func (s *sealer) Clear(p memento.Path) (memento.Path, error) {
	if s.names != nil && len(p) > memento.MaxPathBytes { // by the move of a directory
		return "", errPathTooLong(s.displayPath(p), len(p))
	}
	return s.decryptPath(p)
}

// rooms are where texts lie while they are encrypted: bytes to Tink, strings elsewhere.
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
	// By parts, for to make a string of the whole would copy it.
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

// parseSealed takes what is kept apart.
func parseSealed(kept string) (by memento.VersionID, encrypted []byte, err error) {
	rest, ok := strings.CutPrefix(kept, sealedPrefix)
	format, rest, found := strings.Cut(rest, ":")
	if !ok || !found {
		return "", nil, tampered("it was not written by memento with encryption")
	}
	if format != sealedFormat {
		return "", nil, tampered(fmt.Sprintf("it is of format %s, and this program knows %s: use a newer memento", quoteID(format), sealedFormat))
	}
	id, text, found := strings.Cut(rest, ":")
	if !found {
		return "", nil, tampered("it is cut off")
	}
	for more := true; more; { // imported IDs can have colons; searching forwards is what is fast
		var next string
		if _, next, more = strings.Cut(text, ":"); more {
			id, text = rest[:len(rest)-len(next)-1], next
		}
	}
	encrypted, err = base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || base64.RawStdEncoding.EncodedLen(len(encrypted)) != len(text) { // the decoder passes over line ends
		return "", nil, tampered("it was changed")
	}
	return memento.VersionID(id), encrypted, nil
}

// open returns the text of what a memory's version holds, its hash, and the version
// that wrote it.
//
// Errors: memento.ErrDecrypt.
func (k *keys) decryptText(memory memento.MemoryID, kept, digest string, size int64) (text, hash string, by memento.VersionID, err error) {
	if digest == "" {
		return "", "", "", tampered("it is not encrypted: it was not written through memento with encryption; write the memory anew, or remove it")
	}
	by, encrypted, err := parseSealed(kept)
	if err != nil {
		return "", "", "", err
	}
	plain, err := k.contents.Decrypt(encrypted, k.textAD(memory, by))
	if err != nil {
		return "", "", "", tampered("it was changed, belongs elsewhere, or the key is missing")
	}
	text = string(plain)
	hash = memento.HashContent(text)
	switch {
	case hash != k.hash(digest), int64(len(text)) != size:
		return "", "", "", tampered("it is another text than its hash or its size says")
	case !utf8.ValidString(text):
		return "", "", "", tampered("it is no text")
	}
	return text, hash, by, nil
}

// tampered is ErrDecrypt with what can be said of the cause.
func tampered(why string) error { return fmt.Errorf("%w: %s", memento.ErrDecrypt, why) }
