package sensitive_test

import (
	"bytes"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"memento/sensitive"
)

var long = flag.Bool("long", false, "search 5000 files of the module cache")

// moduleFiles returns the paths of text files below dirs, in order.
func moduleFiles(t *testing.T, dirs []string) []string {
	t.Helper()
	var all []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (strings.Contains(path, "gitleaks") || strings.Contains(path, "testvectors")) { // made of secrets
				return fs.SkipDir
			}
			if d.IsDir() && path == filepath.Join(dir, "cache") { // of the go command: archives
				return fs.SkipDir
			}
			if d.Type().IsRegular() {
				all = append(all, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// goOutput returns the lines that the go command prints.
func goOutput(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

// rightFindings are findings in the files of modules that are right: what they match is a
// secret by its content, though one of a test or an example. Everything else that is
// found there counts as wrong.
var rightFindings = []struct{ kind, content string }{
	{"private-key", `^-----BEGIN [A-Z ]*PRIVATE KEY`}, // keys of tests, whole and valid
}

func isRight(kind, found string) bool {
	return slices.ContainsFunc(rightFindings, func(r struct{ kind, content string }) bool {
		return r.kind == kind && regexp.MustCompile(r.content).MatchString(found)
	})
}

// In the files of Go modules there is hardly anything to find. With -long, 5000 files of
// all modules in the cache are searched, otherwise a few of those that memento needs.
func TestModuleFiles(t *testing.T) {
	most, dirs := 400, goOutput(t, "list", "-m", "-f", "{{if not .Main}}{{.Dir}}{{end}}", "all")
	if *long {
		most, dirs = 5000, goOutput(t, "env", "GOMODCACHE")
	}
	paths := moduleFiles(t, dirs)
	r := rand.New(rand.NewPCG(8, 0))
	r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	d := sensitive.Default()
	files, wrong := 0, 0
	for _, path := range paths {
		if files == most {
			break
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 200<<10 || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
			continue
		}
		files++
		text := string(data)
		for _, f := range d.Detect(text, false) {
			if isRight(f.Kind, text[f.Start:f.End]) {
				continue
			}
			wrong++
			line := text[strings.LastIndexByte(text[:f.Start], '\n')+1 : f.End]
			t.Logf("%s: %s: %.300q", path, f.Kind, line)
		}
	}
	t.Logf("%d of %d files: %d wrong findings", files, len(paths), wrong)
	if files < min(most, 200) {
		t.Errorf("only %d files; run go mod download", files)
	}
	if allowed := files / 10; wrong > allowed {
		t.Errorf("%d wrong findings in %d files, want at most %d", wrong, files, allowed)
	}
}
