package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"memento"
)

// keyFile returns the path of the file in which "serve" on this machine leaves
// its first key, and where the other commands look for one. All names of this
// machine share a file, since a server that listens on one is called by another.
//
// host is a name or an IP address, without brackets; port is a number.
func keyFile(host, port string) (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	name := keyFileHost(host)
	if !keyFileName.MatchString(name) || !keyFileName.MatchString(port) {
		return "", fmt.Errorf("%w: there can be no key file for the host %q", memento.ErrInvalid, host)
	}
	return filepath.Join(dir, "memento", "keys", name+"_"+port+".key"), nil
}

var keyFileName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,250}$`)

// keyFileHost writes a host as part of the name of a file, on every system.
func keyFileHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || host == "localhost" {
		return "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.IsLoopback() || ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return strings.Trim(strings.ReplaceAll(ip.WithZone("").String(), ":", "-"), "-")
}

// keyFileOf is keyFile for the address of a listener.
func keyFileOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	return keyFile(host, port)
}

// secretForm is what the secret of a key looks like: see [memento.NewSecret].
var secretForm = regexp.MustCompile(`^` + regexp.QuoteMeta(memento.SecretPrefix) + `[A-Za-z0-9_-]{43}$`)

// readKeyFile returns the secret in a file. Its error does not repeat what is in
// the file, which may be a secret of something else.
func readKeyFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if !secretForm.MatchString(secret) {
		return "", fmt.Errorf("%w: %s does not hold a key, which is a line that begins with %s", memento.ErrInvalid, path, memento.SecretPrefix)
	}
	return secret, nil
}

// writeKeyFile writes a secret to a file that only its owner can read, in a
// folder that only its owner can enter. A file that exists is never replaced:
// fs.ErrExist.
func writeKeyFile(path, secret string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Written beside its place first, so that a file of this name is whole, and
	// then linked, which unlike a rename replaces nothing.
	beside, err := os.CreateTemp(dir, ".key-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	_, err = beside.WriteString(secret + "\n")
	if err = errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return err
	}
	err = os.Link(beside.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(secret + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}
