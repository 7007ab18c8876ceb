package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"memento"
	"memento/cryptstore"
)

const (
	encryptionFileVariable  = "MEMENTO_ENCRYPTION_KEYS_FILE"
	encryptionKeysVariable  = "MEMENTO_ENCRYPTION_KEYS"
	encryptionNamesVariable = "MEMENTO_ENCRYPTION_NAMES"
)

// An encryption is how a backend is opened: with which keys, if any.
type encryption struct {
	ring  cryptstore.KeyRing // nil for none
	names bool               // whether new stores have the names of memories encrypted
}

// encryption is what the flags and the environment say. A server encrypts by itself,
// so that only a flag, which is then refused, counts for one.
func (a *app) encryption(url string) (e encryption, err error) {
	if isServerURL(url) {
		if a.encryptionFile != "" {
			return e, usage("--encryption-keys is for where memories are kept; a server has its own")
		}
		return e, nil
	}
	keys, err := a.encryptionKeys()
	if err != nil || keys == nil {
		return e, err
	}
	e.ring, e.names = keys, a.encryptNames
	if text := os.Getenv(encryptionNamesVariable); text != "" && !e.names {
		if e.names, err = strconv.ParseBool(text); err != nil {
			return e, fmt.Errorf("%w: %s is true or false", memento.ErrInvalid, encryptionNamesVariable)
		}
	}
	return e, nil
}

// encryptionPath is the file of keys that the flags or the environment name.
func (a *app) encryptionPath() string {
	return cmp.Or(a.encryptionFile, os.Getenv(encryptionFileVariable))
}

// encryptionKeys are the keys of the file, or else those in the environment; nil if
// there are none.
func (a *app) encryptionKeys() (*cryptstore.Keys, error) {
	if path := a.encryptionPath(); path != "" {
		return openKeyFile(path)
	}
	if text := os.Getenv(encryptionKeysVariable); strings.TrimSpace(text) != "" {
		keys, err := cryptstore.ParseKeys(text)
		if err != nil {
			err = hint(err, "this is about %s", encryptionKeysVariable)
		}
		return keys, err
	}
	return nil, nil
}

func openKeyFile(path string) (*cryptstore.Keys, error) {
	keys, err := cryptstore.OpenKeyFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = hint(err, `check %s; "memento keys init-encryption" makes such a file, for what is not encrypted yet`, line(path))
	case errors.Is(err, memento.ErrDenied):
		err = hint(err, "chmod 600 %s", line(path))
	case err != nil:
		err = hint(err, "this is about %s", line(path))
	}
	return keys, err
}

// isServerURL reports whether a URL is that of a server.
func isServerURL(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}
