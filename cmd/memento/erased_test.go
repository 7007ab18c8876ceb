package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento/backend/storeurl"
)

// Once secrets are masked, redacted and pruned, and the backend is closed, no file of it
// has a byte of them: neither of those that were masked before they were written, nor of
// those that were stored while the detection was off, in contents and in paths.
func TestSecretsAreGone(t *testing.T) {
	// Fake secrets, which no file has in one piece.
	secrets := []string{"ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1", "AKIA" + "Q4Z7NWB2XKJ5TM3P", "glpat" + "-" + "Zq7Rk2Wv9Tn4Xb6Lm8Yd"}
	key := filepath.Join(t.TempDir(), "keys")
	must(t, "", "encryption", "init", key)
	for _, tt := range []struct {
		name string
		url  func(folder string) string
		args []string
	}{
		{"sqlite", func(folder string) string { return storeurl.SQLite(filepath.Join(folder, "m.db")) }, nil},
		{"dir", storeurl.Dir, nil},
		{"sqlite, encrypted", func(folder string) string { return storeurl.SQLite(filepath.Join(folder, "m.db")) }, []string{"--encryption-keys", key}},
		{"dir, encrypted", storeurl.Dir, []string{"--encryption-keys", key}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			do := func(stdin string, args ...string) {
				t.Helper()
				must(t, stdin, append(append([]string{"--backend", tt.url(folder), "-q"}, tt.args...), args...)...)
			}
			do("", "stores", "create", "default", "--sensitive", "off")
			for i, secret := range secrets {
				do("before "+secret+" after\n", "put", "/replaced.md")
				do("now "+strings.Repeat("other ", i), "put", "/replaced.md")
				do("kept "+secret+"\n", "put", "/kept"+secret[:2]+".md")
				do("x", "put", "/named/"+secret+"/x.md")
				do("", "rm", "/named/"+secret+"/x.md")
				do(strings.Repeat("long text ", 500)+secret, "put", "/removed.md")
				do("", "rm", "/removed.md")
			}
			if len(tt.args) == 0 && len(holding(t, folder, secrets)) == 0 {
				t.Fatal("this test looks for the secrets in the wrong place")
			}
			do("", "stores", "settings", "--sensitive", "mask")
			for _, secret := range secrets {
				do("masked "+secret+"\n", "put", "/masked"+secret[:2]+".md")
			}
			do("", "scan", "--fix", "--yes")
			do("", "stores", "settings", "--history-age", "0s", "--history-versions", "2")
			do("", "gc", "--force")
			for name, secret := range holding(t, folder, secrets) {
				t.Errorf("%s has %s…", name, secret[:6])
			}
		})
	}
}

// holding returns the files in a folder that have one of the texts, in their contents or
// their names.
func holding(t *testing.T, folder string, texts []string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		data := []byte(path)
		if e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data = append(data, text...)
		}
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				found[path] = text
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
