package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that differs, is missing or is too many is named, and packages are not copied.
func TestSameFiles(t *testing.T) {
	write := func(dir, name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, made := t.TempDir(), filepath.Join(t.TempDir(), "made")
	write(kept, "index.html", "page")
	write(kept, "assets/main.js", "script")
	if err := copySources(made, kept); err != nil {
		t.Fatal(err)
	}
	if err := sameFiles(kept, made); err != nil {
		t.Errorf("a copy: %v", err)
	}
	for _, tt := range []struct{ change, want string }{
		{made, "/assets/main.js differs"},
		{kept, "do not make /only.js"},
	} {
		switch tt.change {
		case made:
			write(made, "assets/main.js", "another")
		case kept:
			write(made, "assets/main.js", "script")
			write(kept, "only.js", "script")
		}
		if err := sameFiles(kept, made); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
	if err := sameFiles(made, kept); err == nil || !strings.Contains(err.Error(), "they make /only.js, too") {
		t.Errorf("a file too many: %v", err)
	}

	write(kept, "node_modules/preact/index.js", "package")
	if err := copySources(made, kept); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(made, "node_modules")); err == nil {
		t.Error("packages were copied")
	}
}
