package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An edge is one import in one file.
type edge struct {
	file string // slash-separated, from the top of the module
	test bool   // whether it is a test file
	path string // that is imported
}

// dir returns the folder of the importing package; "." is the root package.
func (e edge) dir() string { return path.Dir(e.file) }

// imports returns every import in the module, for every system and build tag.
func imports(t *testing.T) []edge {
	t.Helper()
	top := os.DirFS(filepath.Join("..", ".."))
	var edges []edge
	err := fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(top, name)
		}
		if path.Ext(name) != ".go" || strings.HasPrefix(path.Base(name), "_") {
			return nil
		}
		source, err := fs.ReadFile(top, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			edges = append(edges, edge{file: name, test: strings.HasSuffix(name, "_test.go"), path: imported})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(edges) < 100 {
		t.Fatalf("only %d imports found; is this the module?", len(edges))
	}
	return edges
}

// enter keeps out of folders that hold no packages of this module.
func enter(top fs.FS, dir string) error {
	base := path.Base(dir)
	if dir != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(top, path.Join(dir, "go.mod")); err == nil && dir != "." {
		return fs.SkipDir // a module of its own
	}
	return nil
}
