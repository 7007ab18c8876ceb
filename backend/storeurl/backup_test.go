package storeurl_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/storeurl"
)

// What a URL names is there, or is not, and to ask makes nothing.
func TestExists(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("file.db", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"sqlite:file.db": true, "sqlite:none.db": false, "sqlite:none/none.db": false,
		"dir:folder": true, "dir:none": false, "mem:": true, "https://memory.example.com": true,
	} {
		if got, err := storeurl.Exists(url); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", url, got, err, want)
		}
	}
	for _, url := range []string{"", "nonsense", "sqlite:", "dir:~/x"} {
		if _, err := storeurl.Exists(url); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// A backup of one backend is restored as another, and makes its folder.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	b, err := storeurl.Open(t.Context(), storeurl.SQLite(filepath.Join(dir, "m.db")), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	write(t, b)
	file := filepath.Join(dir, "backup.db")
	if _, err := b.(backend.BackupWriter).Backup(t.Context(), file, nil); err != nil {
		t.Fatal(err)
	}
	if sum, err := storeurl.VerifyBackup(t.Context(), file, nil); err != nil || sum.Memories != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	for _, url := range []string{storeurl.SQLite(filepath.Join(dir, "new", "deep", "m.db")), storeurl.Dir(filepath.Join(dir, "newer", "folder"))} {
		var copied int64
		done, err := storeurl.Restore(t.Context(), url, file, &storeurl.RestoreOptions{Progress: func(done, total int64) { copied = done }})
		if err != nil || done.Memories != 1 || copied != done.Size {
			t.Errorf("%s: %+v, %d copied, %v", url, done, copied, err)
		}
		if _, err := storeurl.Restore(t.Context(), url, file, nil); !errors.Is(err, memento.ErrExist) {
			t.Errorf("%s: once more: %v", url, err)
		}
		if done, err := storeurl.Restore(t.Context(), url, file, &storeurl.RestoreOptions{Replace: true}); err != nil || done.Kept == "" {
			t.Errorf("%s: replaced: %+v, %v", url, done, err)
		}
	}
	for url, want := range map[string]error{
		"mem:": memento.ErrUnsupported, "https://memory.example.com": memento.ErrUnsupported,
		"ftp://user:canary@host/x": memento.ErrInvalid, "sqlite:": memento.ErrInvalid, "dir:": memento.ErrInvalid, "": memento.ErrInvalid,
	} {
		if _, err := storeurl.Restore(t.Context(), url, file, nil); !errors.Is(err, want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
	}
}
