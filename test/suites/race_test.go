package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The suite race leaves out groups of storetest, and no other part of a test; with -long,
// not these either.
func TestSkippedTests(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, `
func TestBackend(t *testing.T) {
	for _, name := range []string{"documents", "documents too", "concurrency"} {
		t.Run(name, func(t *testing.T) { t.Error() })
	}
}

func TestNamesOverMemstore(t *testing.T) { TestBackend(t) }

func TestScripts(t *testing.T) { t.Error() }

func TestScriptsToo(t *testing.T) { t.Error() }
`)
	rest := []string{
		"module TestBackend/documents_too", "module TestBackend/concurrency",
		"module TestNamesOverMemstore/documents_too", "module TestNamesOverMemstore/concurrency",
		"module TestScriptsToo",
	}
	for _, long := range []bool{false, true} {
		want := rest
		if long {
			want = append([]string{"module TestBackend/documents", "module TestNamesOverMemstore/documents"}, rest...)
		}
		failed, _ := errors.AsType[failures](testModule(t.Context(), dir, nil, "-skip", skipPattern(skippedTests(options{long: long})), "./..."))
		var got []string
		for _, f := range failed {
			got = append(got, f.name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("long: %t: these were run: %q, want %q", long, got, want)
		}
	}
}

// A group of storetest that is not raced is there, and starts no goroutine.
func TestSequential(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "backend", "storetest", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}    // the function of each
	starts := map[string]token.Pos{} // where a goroutine is started in the file of a function
	for _, file := range files {
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		started := goroutine(source)
		for _, d := range source.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			starts[f.Name.Name] = started
			if f.Name.Name == "Run" {
				for name, function := range groupsIn(f) {
					groups[name] = function
				}
			}
		}
	}
	if starts["concurrency"] == token.NoPos || starts["linear"] == token.NoPos {
		t.Error("the groups that race start no goroutines")
	}
	for _, name := range notEncryption {
		if groups[name] == "" {
			t.Errorf("storetest has no group %q, but %v", name, groups)
		}
	}
	for _, name := range sequential {
		function, ok := groups[name]
		if !ok {
			t.Errorf("storetest has no group %q, but %v", name, groups)
		} else if starts[function] != token.NoPos {
			t.Errorf("the group %q starts goroutines, and has to be raced", name)
		}
	}
}

// A test that is not raced for that reason is there, and starts no goroutine.
func TestSingle(t *testing.T) {
	for dir, names := range single {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, file := range files {
			source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range source.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(names, f.Name.Name) {
					found[f.Name.Name] = true
					if goroutine(f) != token.NoPos {
						t.Errorf("%s of %s starts goroutines, and has to be raced", f.Name.Name, dir)
					}
				}
			}
		}
		for _, name := range names {
			if !found[name] {
				t.Errorf("%s has no test %s", dir, name)
			}
		}
	}
}

// goroutine returns where goroutines are started in a file or a function, if they are.
func goroutine(source ast.Node) (at token.Pos) {
	ast.Inspect(source, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at = n.Pos()
		case *ast.SelectorExpr:
			if n.Sel.Name == "Go" {
				at = n.Pos()
			}
		}
		return at == token.NoPos
	})
	return at
}

// groupsIn returns the functions that run calls with t.Run("name", func(t) { function(t, h) }).
func groupsIn(run *ast.FuncDecl) map[string]string {
	groups := map[string]string{}
	ast.Inspect(run, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		name, ok := call.Args[0].(*ast.BasicLit)
		body, ok2 := call.Args[1].(*ast.FuncLit)
		if !ok || !ok2 {
			return true
		}
		text, _ := strconv.Unquote(name.Value)
		for _, s := range body.Body.List {
			if s, ok := s.(*ast.ExprStmt); ok {
				if inner, ok := s.X.(*ast.CallExpr); ok {
					if id, ok := inner.Fun.(*ast.Ident); ok {
						groups[strings.ReplaceAll(text, " ", "_")] = id.Name
					}
				}
			}
		}
		return false
	})
	return groups
}
