package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The top folder is a table of contents: few folders, and files that read as chapters. A
// new engine, front end or test belongs below one of the folders that there are.
func TestLayout(t *testing.T) {
	const (
		maxFolders = 18
		maxFiles   = 28  // Go files of the root package, tests included
		maxLines   = 600 // of a test file; a longer one has several subjects
	)
	top := filepath.Join("..", "..")
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	folders, files := 0, 0
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && !strings.HasPrefix(name, ".") && hasSource(t, filepath.Join(top, name)):
			folders++
		case filepath.Ext(name) == ".go":
			files++
		}
	}
	if folders < 10 || folders > maxFolders {
		t.Errorf("there are %d folders at the top; at most %d are meant to be", folders, maxFolders)
	}
	if files < 10 || files > maxFiles {
		t.Errorf("the root package has %d Go files; at most %d are meant to be", files, maxFiles)
	}
	for _, folder := range []string{".", "history"} {
		tests, err := filepath.Glob(filepath.Join(top, folder, "*_test.go"))
		if err != nil || len(tests) < 5 {
			t.Fatalf("the tests in %s are %q: %v", folder, tests, err)
		}
		for _, name := range tests {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(text, []byte("\n")); n > maxLines {
				t.Errorf("%s has %d lines, more than %d: split it by subject", name, n, maxLines)
			}
		}
	}
}

// hasSource reports whether a folder is one of the repository, and not a build's output.
func hasSource(t *testing.T, folder string) bool {
	t.Helper()
	for _, pattern := range []string{"*.go", "*.md", "*.yaml", "*/*.go"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return true
		}
	}
	return false
}
