package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// serverKey returns the API key for a server: from MEMENTO_KEY, else from the file of
// --key-file or MEMENTO_KEY_FILE, else from the key file that "serve" on this machine wrote
// for host and port; "" if there is none.
func (a *app) serverKey(_, host, port string) (string, error) {
	if key := strings.TrimSpace(os.Getenv("MEMENTO_KEY")); key != "" {
		return key, nil
	}
	if path := cmp.Or(a.keyFile, os.Getenv("MEMENTO_KEY_FILE"), a.fromProfile(func(p profile) string { return p.KeyFile })); path != "" {
		a.usedKeyFile = path
		return readKeyFile(path)
	}
	path, err := keyFile(host, port)
	if err != nil {
		return "", nil // no key file is possible for this host
	}
	key, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return key, err
}
