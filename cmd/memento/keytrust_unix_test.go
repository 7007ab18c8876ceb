//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/backend/storeurl"
)

// A key that another user could have chosen does not become the first key: not if the
// file, or its folder, can be changed by others, and not if memento should have written
// the file and did not.
func TestFirstKeyOfOthers(t *testing.T) {
	dataHome(t)
	const address = "127.0.0.1:8377"
	made, err := keyFileOf(address)
	if err != nil {
		t.Fatal(err)
	}
	given := filepath.Join(t.TempDir(), "folder", "given.key")
	a := newApp(nil, io.Discard, io.Discard)
	for _, tt := range []struct {
		name         string
		file         string // "" for the one that memento makes
		folder, mode os.FileMode
		owner        int // of the file; 0 for ours
		refused      bool
	}{
		{name: "as memento makes it", folder: 0o700, mode: 0o600},
		{name: "readable", folder: 0o700, mode: 0o640, refused: true},
		{name: "writable by the group", folder: 0o700, mode: 0o620, refused: true},
		{name: "folder writable by others", folder: 0o777, mode: 0o600, refused: true},
		{name: "of another user", folder: 0o700, mode: 0o600, owner: 12345, refused: true},
		{name: "mounted secret", file: given, folder: 0o777 | os.ModeSticky, mode: 0o444},
		{name: "given and writable by others", file: given, folder: 0o755, mode: 0o666, refused: true},
		{name: "given in a folder of all", file: given, folder: 0o777, mode: 0o600, refused: true},
		{name: "given by another user", file: given, folder: 0o755, mode: 0o600, owner: 12345, refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.owner != 0 && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			file := made
			if tt.file != "" {
				file = tt.file
			}
			os.Remove(file)
			if err := writeKeyFile(file, apikey.NewSecret()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(file, tt.mode), os.Chmod(filepath.Dir(file), tt.folder)); err != nil {
				t.Fatal(err)
			}
			if tt.owner != 0 {
				if err := os.Chown(file, tt.owner, tt.owner); err != nil {
					t.Fatal(err)
				}
			}
			b, err := storeurl.Open(t.Context(), database(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			got, err := a.firstKey(t.Context(), b, tt.file, address)
			keys := 0
			for _, err := range b.(apikey.Keeper).ListKeys(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				keys++
			}
			if tt.refused && (!errors.Is(err, memento.ErrInvalid) || keys != 0) || !tt.refused && (err != nil || got != file || keys != 1) {
				t.Errorf("%q, %v; %d keys", got, err, keys)
			}
		})
	}
}

// The file of the key that was used is examined, wherever its name comes from.
func TestOpenKeyFileIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.key")
	if err := writeKeyFile(file, apikey.NewSecret()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MEMENTO_KEY_FILE", file)
	a := newApp(nil, io.Discard, io.Discard)
	if _, err := a.serverKey("http", "memory.example", "443"); err != nil || a.usedKeyFile != file {
		t.Fatalf("%q, %v", a.usedKeyFile, err)
	}
	if told := a.exposedFiles("https://memory.example"); len(told) != 1 {
		t.Errorf("told: %q", told)
	}
}
