package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// serverKey returns the key for the server at a host: of MEMENTO_KEY, or of the file
// that the flags or MEMENTO_KEY_FILE name, or of the one that "serve" on this machine
// left for it; "" if there is none.
func (a *app) serverKey(_, host, port string) (string, error) {
	if key := strings.TrimSpace(os.Getenv("MEMENTO_KEY")); key != "" {
		return key, nil
	}
	if path := cmp.Or(a.keyFile, os.Getenv("MEMENTO_KEY_FILE")); path != "" {
		return readKeyFile(path)
	}
	path, err := keyFile(host, port)
	if err != nil {
		return "", nil // there can be none
	}
	key, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return key, err
}
