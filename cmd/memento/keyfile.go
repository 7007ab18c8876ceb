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
	"memento/backend/apikey"
)

// keyFile returns the path of the key file for a server: "serve" writes its first key
// there, and other commands read it. All loopback and wildcard addresses share a file,
// because clients may use another name than the one the server listens on.
//
// host is a name or an IP address, without brackets; port is a number.
func keyFile(host, port string) (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	name := keyFileHost(host)
	if !keyFileName.MatchString(name) || !keyFileName.MatchString(port) {
		return "", fmt.Errorf("%w: no key file is possible for the host %q", memento.ErrInvalid, host)
	}
	return filepath.Join(dir, "memento", "keys", name+"_"+port+".key"), nil
}

var keyFileName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,250}$`)

// keyFileHost returns a host in a form that is valid in file names on every system.
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

// keyFileOf is keyFile for the address of a listener, host:port.
func keyFileOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	return keyFile(host, port)
}

// secretForm matches the secrets of keys: see [apikey.NewSecret].
var secretForm = regexp.MustCompile(`^` + regexp.QuoteMeta(apikey.SecretPrefix) + `[A-Za-z0-9_-]{43}$`)

// readKeyFile returns the secret in a file. Its error does not contain the contents of the
// file, which may be another secret.
func readKeyFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if !secretForm.MatchString(secret) {
		return "", fmt.Errorf("%w: %s does not contain a key: a line that begins with %s", memento.ErrInvalid, path, apikey.SecretPrefix)
	}
	return secret, nil
}

// writeKeyFile writes a secret to a new file that only its owner can read (mode 0600), and
// creates its folder with mode 0700.
//
// Errors: fs.ErrExist if the file exists; it is not replaced.
func writeKeyFile(path, secret string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// It is written to a temporary file and then linked: so the file is never incomplete,
	// and unlike a rename, a link never replaces a file.
	temp, err := os.CreateTemp(dir, ".key-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(secret + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	err = os.Link(temp.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no hard links.
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
