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
	"memento/backend/cryptstore"
)

const (
	encryptionFileVariable  = "MEMENTO_ENCRYPTION_KEYS_FILE"
	encryptionKeysVariable  = "MEMENTO_ENCRYPTION_KEYS"
	encryptionNamesVariable = "MEMENTO_ENCRYPTION_NAMES"
)

// An encryption says with which encryption keys a backend is opened.
type encryption struct {
	ring  cryptstore.KeyRing // nil for none
	names bool               // whether new stores also encrypt the paths of memories
	flag  string             // the flag of the key file; "" means --encryption-keys

	access
}

// encryption reads the flags and the environment. For the URL of a server it ignores the
// environment and refuses the flags, because the server has its own keys.
func (a *app) encryption(url string) (e encryption, err error) {
	if e, err = a.givenKeys(url); err != nil {
		return e, err
	}
	if isServerURL(url) {
		if a.encryptNames {
			err = usage("--encrypt-names cannot be used with a server, which has its own setting")
		}
		return e, err
	}
	e.names, err = a.namesEncrypted(e.ring != nil, "--encryption-keys")
	return e, err
}

// givenKeys is encryption without --encrypt-names, for a backend that is only read.
func (a *app) givenKeys(url string) (e encryption, err error) {
	if isServerURL(url) {
		if a.encryptionFile != "" {
			err = usage("--encryption-keys cannot be used with a server, which has its own encryption keys")
		}
		return e, err
	}
	keys, err := a.encryptionKeys()
	if err == nil && keys != nil {
		e.ring = keys
	}
	return e, err
}

// namesEncrypted reads --encrypt-names and its environment variable. Without keys the flag
// is an error, because nothing would be encrypted.
func (a *app) namesEncrypted(keys bool, flag string) (bool, error) {
	text := os.Getenv(encryptionNamesVariable)
	switch {
	case a.encryptNames && !keys:
		return false, usage("--encrypt-names needs encryption keys: give their file with %s", flag)
	case a.encryptNames, !keys, text == "":
		return a.encryptNames, nil
	}
	names, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%w: %s must be true or false", memento.ErrInvalid, encryptionNamesVariable)
	}
	return names, nil
}

// encryptionPath returns the path of the key file from the flag or the environment.
func (a *app) encryptionPath() string {
	return cmp.Or(a.encryptionFile, os.Getenv(encryptionFileVariable), a.fromProfile(func(p profile) string { return p.EncryptionKeys }))
}

// encryptionKeys returns the keys in the key file, else those in the environment, else nil.
func (a *app) encryptionKeys() (*cryptstore.Keys, error) {
	if path := a.encryptionPath(); path != "" {
		return openKeyFile(path)
	}
	if text := os.Getenv(encryptionKeysVariable); strings.TrimSpace(text) != "" {
		keys, err := cryptstore.ParseKeys(text)
		if err != nil {
			err = hint(err, "check the value of %s", encryptionKeysVariable)
		}
		return keys, err
	}
	return nil, nil
}

func openKeyFile(path string) (*cryptstore.Keys, error) {
	keys, err := cryptstore.OpenKeyFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = hint(err, `check %s; "memento encryption init" creates a key file for new, unencrypted backends`, line(path))
	case errors.Is(err, memento.ErrDenied):
		err = hint(err, "chmod 600 %s", line(path))
	case err != nil:
		err = hint(err, "check the file %s", line(path))
	}
	return keys, err
}

// isServerURL reports whether a URL is that of a server.
func isServerURL(url string) bool {
	scheme, _, _ := strings.Cut(url, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}
