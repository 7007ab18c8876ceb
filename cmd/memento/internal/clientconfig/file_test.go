package clientconfig

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// in returns the path of a file with a text in a new folder, and its contents later.
func in(t *testing.T, text string) (path string, now func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path, func() string {
		t.Helper()
		found, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(found)
	}
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A file that another program changes, makes or removes meanwhile is left alone, and no
// temporary file stays.
func TestChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o600) },
		"removed": os.Remove,
	} {
		path, _ := in(t, "{}")
		f := open(t, path)
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if err := f.Replace([]byte("ours")); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: replaced with %v", name, err)
		}
		if err := f.Remove(); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: removed with %v", name, err)
		}
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(path), file.Name())); err != nil || string(text) != "theirs" {
				t.Errorf("%s: %s has %q, %v", name, file.Name(), text, err)
			}
		}
	}

	path := filepath.Join(t.TempDir(), "new", "config.json")
	f := open(t, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace([]byte("ours")); !errors.Is(err, ErrChanged) {
		t.Errorf("a new file: replaced with %v", err)
	}
}

func TestReplace(t *testing.T) {
	path, now := in(t, "old")
	f := open(t, path)
	if err := f.KeepBackup("m"); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace([]byte("new")); err != nil || now() != "new" {
		t.Errorf("it has %q, %v", now(), err)
	}
	for _, p := range []string{path, f.Backup("m")} {
		if info, err := os.Stat(p); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if backup, err := os.ReadFile(f.Backup("m")); err != nil || string(backup) != "old" {
		t.Errorf("the backup has %q, %v", backup, err)
	}
}

// What is not a regular file, or too large, is not read.
func TestOpenRefuses(t *testing.T) {
	path, now := in(t, "theirs")
	dir := filepath.Dir(path)
	if _, err := Open(dir, ""); !errors.Is(err, ErrLink) {
		t.Errorf("a folder: %v", err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(large, ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		if runtime.GOOS == "windows" {
			return // links need a privilege there
		}
		t.Fatal(err)
	}
	if _, err := Open(link, ""); !errors.Is(err, ErrLink) {
		t.Errorf("a link: %v", err)
	}
	project := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(project, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(project, ".cursor", "config.json"), project); !errors.Is(err, ErrLink) {
		t.Errorf("a file below a link of the project: %v", err)
	}
	if _, err := Open(filepath.Join(project, ".cursor", "config.json"), ""); err != nil {
		t.Errorf("a file below a link of the user: %v", err)
	}
	if now() != "theirs" {
		t.Errorf("it has %q", now())
	}
}

// A file is restored only from what memento has made of the backup.
func TestRestored(t *testing.T) {
	const first = "{ // mine\n}"
	path, _ := in(t, first)
	f := open(t, path)
	text, err := json1.Set(f.Text, "m", named)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.KeepBackup("m"), f.Replace(text)); err != nil {
		t.Fatal(err)
	}
	if text, exists, ok := open(t, path).Restored(json1, "m"); string(text) != first || !exists || !ok {
		t.Errorf("restored %q, %v, %v", text, exists, ok)
	}
	f = open(t, path)
	if err := f.Replace(append(f.Text, '\n')); err != nil {
		t.Fatal(err)
	}
	if text, _, ok := open(t, path).Restored(json1, "m"); ok {
		t.Errorf("restored %q after a change", text)
	}
	if err := os.Remove(f.Backup("m")); err != nil {
		t.Fatal(err)
	}
	if text, _, ok := open(t, path).Restored(json1, "m"); ok {
		t.Errorf("restored %q without a backup", text)
	}
}
