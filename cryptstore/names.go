package cryptstore

import (
	"encoding/base32"
	"fmt"
	"strings"

	"memento"
)

// With encrypted names, each name in a path is AES-SIV of it in lower-case base32,
// whose letters no file system folds into others. The same name is the same
// everywhere in a store, so that directories can be moved by the backend; which
// memories are together stays visible, what they are called does not.
var nameCode = base32.HexEncoding.WithPadding(base32.NoPadding)

var nameAD = []byte("memento name 1")

// keep returns the path that the backend keeps. One that is not valid is left as it
// is, for the backend to say so: it is never written.
//
// Errors: memento.ErrInvalidPath if it is too long, encrypted.
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
		"this store encrypts names, and encrypted it has %d bytes; at most %d are allowed: use shorter or fewer names", n, memento.MaxPathBytes)}
}

// find is keep for what is only looked for. Nothing has a path that is too long.
func (k *keys) encryptPathForLookup(p memento.Path) memento.Path {
	kept, err := k.encryptPath(p)
	if err != nil {
		return p
	}
	return kept
}

// clear is the reverse of keep.
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

var errForeignName = tampered("this name is not encrypted by the store's key")

var errNotNameCode = fmt.Errorf("not the code of any name")

// shown is clear for errors.
func (k *keys) displayPath(p memento.Path) memento.Path {
	if clear, err := k.decryptPath(p); err == nil {
		return clear
	}
	return p
}
