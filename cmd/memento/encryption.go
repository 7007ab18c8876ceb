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
	flag  string             // that names the keys; "" for --encryption-keys

	access
}

// encryption is what the flags and the environment say. A server encrypts by itself,
// so that only flags, which are then refused, count for one.
func (a *app) encryption(url string) (e encryption, err error) {
	if e, err = a.givenKeys(url); err != nil {
		return e, err
	}
	if isServerURL(url) {
		if a.encryptNames {
			err = usage("--encrypt-names is for where memories are kept; a server decides for itself")
		}
		return e, err
	}
	e.names, err = a.namesEncrypted(e.ring != nil, "--encryption-keys")
	return e, err
}

// givenKeys is encryption without what is said of names, for a backend that is only
// read.
func (a *app) givenKeys(url string) (e encryption, err error) {
	if isServerURL(url) {
		if a.encryptionFile != "" {
			err = usage("--encryption-keys is for where memories are kept; a server has its own")
		}
		return e, err
	}
	keys, err := a.encryptionKeys()
	if err == nil && keys != nil {
		e.ring = keys
	}
	return e, err
}

// namesEncrypted is what the flag and the environment say of names. Without keys, the
// flag is refused: nothing would be encrypted.
func (a *app) namesEncrypted(keys bool, flag string) (bool, error) {
	text := os.Getenv(encryptionNamesVariable)
	switch {
	case a.encryptNames && !keys:
		return false, usage("--encrypt-names takes keys, too: name their file with %s", flag)
	case a.encryptNames, !keys, text == "":
		return a.encryptNames, nil
	}
	names, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%w: %s is true or false", memento.ErrInvalid, encryptionNamesVariable)
	}
	return names, nil
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
