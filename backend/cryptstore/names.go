package cryptstore

import (
	"encoding/base32"
	"fmt"
	"strings"

	"memento"
)

// With encrypted names, each name in a path is encrypted with AES-SIV and encoded in
// lower-case base32, whose letters no file system folds. Equal names in a store have equal
// ciphertexts, so the inner backend can move directories. It stays visible which memories
// are in one directory, but not their names.
var nameCode = base32.HexEncoding.WithPadding(base32.NoPadding)

var nameAD = []byte("memento name 1")

// encryptPath returns the path for the inner backend. An invalid path is returned
// unchanged, so that the inner backend reports the error: it is never written.
//
// Errors: memento.ErrInvalidPath if the encrypted path is too long.
func (k *keys) encryptPath(p memento.Path) (memento.Path, error) {
	if k.names == nil || p == "" || p.IsRoot() {
		return p, nil
	}
	if _, err := memento.ParsePath(string(p)); err != nil {
		return p, nil
	}
	var kept strings.Builder
	for name := range p.Segments() {
		encrypted, err := k.names.EncryptDeterministically([]byte(name), nameAD)
		if err != nil {
			return "", fmt.Errorf("encrypt: %w", err)
		}
		kept.WriteByte('/')
		kept.WriteString(strings.ToLower(nameCode.EncodeToString(encrypted)))
	}
	if kept.Len() > memento.MaxPathBytes {
		return "", errPathTooLong(p, kept.Len())
	}
	return memento.Path(kept.String()), nil
}

func errPathTooLong(p memento.Path, n int) error {
	return &memento.PathError{Path: string(p), Reason: fmt.Sprintf(
		"this store encrypts names, and the encrypted path has %d bytes; at most %d are allowed: use shorter or fewer names", n, memento.MaxPathBytes)}
}

// encryptPathForLookup is encryptPath for lookups. If the encrypted path is too long, it
// returns p: no memory has this path.
func (k *keys) encryptPathForLookup(p memento.Path) memento.Path {
	kept, err := k.encryptPath(p)
	if err != nil {
		return p
	}
	return kept
}

// decryptPath is the reverse of encryptPath.
//
// Errors: memento.ErrDecrypt.
func (k *keys) decryptPath(p memento.Path) (memento.Path, error) {
	if k.names == nil || p == "" || p.IsRoot() {
		return p, nil
	}
	var clear strings.Builder
	for name := range p.Segments() {
		encrypted, err := nameCode.DecodeString(strings.ToUpper(name))
		if err == nil && strings.ToLower(nameCode.EncodeToString(encrypted)) != name {
			err = errNotNameCode
		}
		var plain []byte
		if err == nil {
			plain, err = k.names.DecryptDeterministically(encrypted, nameAD)
		}
		if err != nil {
			return "", &memento.Error{Op: "decrypt name", Path: p, Err: errForeignName}
		}
		clear.WriteByte('/')
		clear.Write(plain)
	}
	return memento.Path(clear.String()), nil
}

var errForeignName = tampered("this name is not encrypted with the store's key")

var errNotNameCode = fmt.Errorf("not a valid encoding of a name")

// displayPath decrypts a path for an error. If that fails, it returns p.
func (k *keys) displayPath(p memento.Path) memento.Path {
	if clear, err := k.decryptPath(p); err == nil {
		return clear
	}
	return p
}
