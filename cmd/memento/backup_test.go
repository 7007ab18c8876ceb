package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// While a program has the database open it can be backed up, and is not replaced.
func TestBackupInUse(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{"sqlite:" + filepath.ToSlash(filepath.Join(dir, "m.db")), "dir:" + filepath.ToSlash(filepath.Join(dir, "notes"))} {
		p := start(t, "--backend", url, "tool")
		write := func(name string) {
			t.Helper()
			r, err := p.ask(map[string]any{"command": "create", "path": "/memories/" + name, "file_text": "x"})
			if err != nil || r.IsError {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		write("before")
		scheme, _, _ := strings.Cut(url, ":")
		file := filepath.Join(dir, scheme+"-backup.db")
		must(t, "", "--backend", url, "backup", "create", file)
		write("after")
		code, _, errs := runWith(t, "", "--backend", url, "backup", "restore", file, "--replace")
		if code != exitConflict || !strings.Contains(errs, "is in use by another process") || !strings.Contains(errs, "hint: nothing was changed; stop the processes that use it") {
			t.Errorf("restore while in use: exit code %d: %s", code, errs)
		}
		write("still")
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		must(t, "", "--backend", url, "cat", "/still")
		must(t, "", "--backend", url, "backup", "restore", file, "--replace")
		must(t, "", "--backend", url, "cat", "/before")
		if code, _, _ := runWith(t, "", "--backend", url, "cat", "/after"); code != exitMissing {
			t.Errorf("what was written after the backup: exit code %d", code)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.restoring-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// All that is wrong with a backup is said, without the contents of memories.
func TestUnsoundBackup(t *testing.T) {
	dir := t.TempDir()
	url := "sqlite:" + filepath.ToSlash(filepath.Join(dir, "m.db"))
	texts := []string{"the first of two texts", "the other one of them"}
	for i, text := range texts {
		must(t, text, "--backend", url, "put", "/"+string(rune('a'+i)))
	}
	file := filepath.Join(dir, "backup.db")
	must(t, "", "--backend", url, "backup", "create", file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		data = []byte(strings.Replace(string(data), text, strings.ToUpper(text), 1))
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", file}, {"restore", file, "--replace"}} {
		code, out, errs := runWith(t, "", append([]string{"--backend", url, "backup"}, args...)...)
		if code != exitStorage || out != "" || strings.Count(errs, "has contents with another hash than recorded\n") != 2 || !strings.Contains(errs, "(and 1 more)") {
			t.Errorf("%s: exit code %d, %q: %s", args, code, out, errs)
		}
		if strings.Contains(strings.ToLower(errs), texts[0]) || strings.Contains(errs, dir) {
			t.Errorf("%s tells too much: %s", args, errs)
		}
	}
	must(t, "", "--backend", url, "cat", "/a")
}
