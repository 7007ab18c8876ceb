//go:build unix

package storeurl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento/backend/storeurl"
)

// What others can change, or read, is told: folders, database files and key files.
func TestExposed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file, key := filepath.Join(dir, "memento.db"), filepath.Join(dir, "key")
	for _, path := range []string{file, key} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name            string
		folder, db, key os.FileMode
		url             string
		want            []string
	}{
		{"as memento makes them", 0o700, 0o600, 0o600, storeurl.SQLite(file), nil},
		{"readable folder", 0o755, 0o600, 0o600, storeurl.SQLite(file), nil},
		{"writable folder", 0o777, 0o600, 0o600, storeurl.SQLite(file), []string{"change the contents of the folder " + dir + ", whose mode is 0777"}},
		{"writable by the group", 0o770, 0o600, 0o600, storeurl.Dir(dir), []string{"whose mode is 0770"}},
		{"sticky", 0o777 | os.ModeSticky, 0o600, 0o600, storeurl.Dir(dir), nil},
		{"readable file", 0o700, 0o644, 0o600, storeurl.SQLite(file), []string{"the file " + file + ", whose mode is 0644"}},
		{"key file", 0o700, 0o600, 0o666, storeurl.SQLite(file), []string{"the file " + key + ", whose mode is 0666"}},
		{"another backend", 0o777, 0o666, 0o604, "mem:", []string{"the file " + key}},
	} {
		for path, mode := range map[string]os.FileMode{dir: tt.folder, file: tt.db, key: tt.key} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		got := storeurl.Exposed(tt.url, key, "", filepath.Join(dir, "none"))
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i, words := range tt.want {
			if !strings.Contains(got[i], words) {
				t.Errorf("%s: %q, want %q", tt.name, got[i], words)
			}
		}
	}
}
