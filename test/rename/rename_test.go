package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memento/test/modulecopy"
)

// modules are the folders with a go.mod file.
func modules(t *testing.T, top string) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(name))
		}
		return err
	})
	if err != nil || len(dirs) < 4 {
		t.Fatalf("the modules are %q: %v", dirs, err)
	}
	return dirs
}

// goTool runs the go command in a folder, and returns what it prints.
func goTool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Stderr = dir, new(bytes.Buffer)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("in %s: go %s: %v\n%s%s", dir, strings.Join(args, " "), err, out, cmd.Stderr)
	}
	return string(out)
}

// Under another name every package of every module finds what it imports, the rules of the
// source hold, documents and patches are up to date, and what is imported most compiles.
// Renamed back, every file is as it was.
func TestRename(t *testing.T) {
	const to = "example.org/team/memento"
	original, top := t.TempDir(), t.TempDir()
	for _, dir := range []string{original, top} {
		if err := modulecopy.Copy(t.Context(), "../..", dir); err != nil {
			t.Fatal(err)
		}
	}
	// Files are listed by git.
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", top).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	before := strings.TrimSpace(goTool(t, top, "list", "-m"))
	changed, err := rename(t.Context(), top, to)
	if err != nil || changed < 500 {
		t.Fatalf("changed %d files: %v", changed, err)
	}

	ours := 0
	for _, dir := range modules(t, top) {
		for pkg := range strings.FieldsSeq(goTool(t, dir, "list", "-deps", "-test", "-f", "{{if not .ForTest}}{{.ImportPath}}{{end}}", "./...")) {
			if pkg == before || strings.HasPrefix(pkg, before+"/") {
				t.Errorf("in %s there is still %s", dir, pkg)
			}
			if pkg == to || strings.HasPrefix(pkg, to+"/") {
				ours++
			}
		}
	}
	if ours < 50 {
		t.Errorf("only %d packages have the new name", ours)
	}
	goTool(t, top, "build", "./local")
	goTool(t, top, wrap...) // a longer name makes longer lines
	goTool(t, top, "test", "./test/archtest")
	goTool(t, top, "test", "-run", "TestPatches", "./test/seededbugs")
	readme, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\t\"" + to + "\"\n", "\t\"" + to + "/local\"\n", "-require " + to + "@v0.0.0 -replace " + to + "=\"$PWD\"\n"} {
		if !strings.Contains(string(readme), line) {
			t.Errorf("the README lacks %q", line)
		}
	}

	if again, err := rename(t.Context(), top, before); err != nil || again != changed {
		t.Errorf("renamed back, %d files changed, before %d: %v", again, changed, err)
	}
	goTool(t, top, wrap...)
	same(t, original, top)
}

// wrap wraps the documents.
var wrap = []string{"test", "./test/archtest", "-run", "TestMarkdownLines", "-update"}

// same checks that two folders have the same files, apart from git's.
func same(t *testing.T, want, got string) {
	t.Helper()
	files := func(top string) map[string]string {
		texts := map[string]string{}
		err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if name == ".git" {
					return fs.SkipDir
				}
				return err
			}
			text, err := os.ReadFile(filepath.Join(top, name))
			texts[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return texts
	}
	a, b := files(want), files(got)
	if len(a) != len(b) {
		t.Errorf("%d files, want %d", len(b), len(a))
	}
	for name, text := range a {
		if b[name] != text {
			t.Errorf("%s is not what it was", name)
		}
	}
}

func TestText(t *testing.T) {
	r := newRenaming("memento", "example.org/m", []string{"local/local.go", "cmd/memento/main.go", "go.mod", ".ci/run"})
	for _, tt := range []struct{ file, text, want string }{
		{"a.go", "package a\n\nimport \"memento\"\n", "package a\n\nimport \"example.org/m\"\n"},
		{"a.go", "package a\n\nimport m \"memento/local\"\n\nvar s = \"memento\"\n", "package a\n\nimport m \"example.org/m/local\"\n\nvar s = \"memento\"\n"},
		{"a.go", "package a // see memento/local, ./cmd/memento/local and memento/sessions\n", "package a // see example.org/m/local, ./cmd/memento/local and memento/sessions\n"},
		{"go.mod", "module memento/local\n\nrequire (\n\tmemento v0.0.0\n\tmementos v1.0.0\n)\n\nreplace memento => ../..\n", "module example.org/m/local\n\nrequire (\n\texample.org/m v0.0.0\n\tmementos v1.0.0\n)\n\nreplace example.org/m => ../..\n"},
		{"a.md", "memento: `go doc memento`, `memento/local`, ~/.local/share/memento/local\n", "memento: `go doc example.org/m`, `example.org/m/local`, ~/.local/share/memento/local\n"},
		{"a.patch", " \t\"memento\"\n+\t\"memento/local\"\n", " \t\"example.org/m\"\n+\t\"example.org/m/local\"\n"},
		{"x/testdata/a.go", "import \"memento\"\n", "import \"memento\"\n"},
		{"a.txt", "memento/locals memento/local memento/local x.memento/local\n", "memento/locals example.org/m/local example.org/m/local x.memento/local\n"},
	} {
		got, err := r.text(tt.file, []byte(tt.text))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q became %q, %v; want %q", tt.file, tt.text, got, err, tt.want)
		}
	}
}

func TestInvalidPaths(t *testing.T) {
	for _, to := range []string{"", "/x", "x/", "a b", "https://github.com/x/y", "../x", "x//y", "-x"} {
		if _, err := rename(t.Context(), "../..", to); err == nil || !strings.Contains(err.Error(), "github.com/you/memento") {
			t.Errorf("%q: %v", to, err)
		}
	}
}
