package cryptstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"memento"
)

// A key file contains the text of [Keys]. Only its owner may have access.

const maxKeyFileBytes = 1 << 20

// OpenKeyFile reads a key file.
//
// Errors: fs.ErrNotExist; memento.ErrDenied if others than its owner have access to it;
// memento.ErrInvalid. The errors do not contain the path.
func OpenKeyFile(path string) (*Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError("open", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileError("open", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: the encryption key file is not a regular file", memento.ErrInvalid)
	}
	if others := info.Mode().Perm() &^ 0o700; others != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%w: the encryption key file is accessible to others (mode %04o); use chmod 600", memento.ErrDenied, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes))
	if err != nil {
		return nil, fileError("read", err)
	}
	return ParseKeys(string(text))
}

// NewKeyFile creates a file with one new key, mode 0600, and flushes it. Store a copy of it
// in another place than the memories: without the keys they cannot be read.
//
// Errors: fs.ErrExist if there is something at path, which is left unchanged.
func NewKeyFile(path string) (*Keys, error) {
	k, err := NewKeys()
	if err != nil {
		return nil, err
	}
	if err := writeKeys(path, k); err != nil {
		return nil, err
	}
	return k, nil
}

// UpdateKeyFile replaces the keys in a file by the result of change, in one step and
// flushed. Processes that have read the file keep their keys. It must not be called twice
// at the same time for one file: one of the changes would be lost.
func UpdateKeyFile(path string, change func(*Keys) (*Keys, error)) (*Keys, error) {
	path, err := filepath.EvalSymlinks(path) // the file is replaced, not a link to it
	if err != nil {
		return nil, fileError("open", err)
	}
	k, err := OpenKeyFile(path)
	if err != nil {
		return nil, err
	}
	if k, err = change(k); err != nil {
		return nil, err
	}
	var chance [8]byte
	rand.Read(chance[:]) // never fails: crypto/rand
	temp := path + "." + hex.EncodeToString(chance[:]) + ".tmp"
	if err := writeKeys(temp, k); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(fileError("replace", err), os.Remove(temp))
	}
	return k, syncFolder(path)
}

func writeKeys(path string, k *Keys) error {
	text, err := k.Text()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileError("create", err)
	}
	_, err = f.WriteString(text + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
		return fileError("write", err)
	}
	return syncFolder(path)
}

// syncFolder flushes the directory of a file, so that its name is durable.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot flush directories
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fileError("flush", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fileError("flush", err)
	}
	return nil
}

// fileError returns err without the path, which not every caller may see.
func fileError(what string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("cannot %s the encryption key file: %w", what, err)
}
