package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A test that was not run must not count as passed.
func TestResults(t *testing.T) {
	for name, tt := range map[string]struct {
		source string // of a test file
		want   string // in the error, or "" for none
	}{
		"passes":        {"func TestIt(t *testing.T) {}", ""},
		"fails":         {"func TestIt(t *testing.T) { t.Error() }", "failed: module TestIt"},
		"skips":         {"func TestIt(t *testing.T) { t.Skip() }", "skipped, which is not allowed: module TestIt"},
		"skips a part":  {"func TestIt(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.SkipNow() }) }", "skipped, which is not allowed: module TestIt/part"},
		"cannot start":  {"func TestMain(*testing.M) { os.Exit(1) }\n\nfunc TestIt(t *testing.T) {}", "failed: module"},
		"has no tests":  {"func BenchmarkIt(b *testing.B) {}", "failed: module without a test"},
		"cannot build":  {"func TestIt(t *testing.T) { nothing() }", "failed: module"},
		"is given more": {"func TestIt(t *testing.T) { if os.Getenv(\"MORE\") != \"given\" { t.Error() } }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"go.mod":     "module module\n",
				"it_test.go": "package module\n\nimport (\n\"os\"\n\"testing\"\n)\n\nvar _ = os.Exit\n\n" + tt.source + "\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := testModule(t.Context(), dir, []string{"MORE=given"}, "./...")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the result is %v, want %q", err, tt.want)
			}
		})
	}
}

// The suite race prints which tests it repeats less often.
func TestRepetitions(t *testing.T) {
	lines, err := repetitions(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "storetest") && strings.Contains(line, "kills") }) {
		t.Errorf("storetest is missing: %q", lines)
	}
}

// The suite faults finds the packages that have tests for it.
func TestTaggedPackages(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	packages, err := taggedPackages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(packages, "memento/cmd/memento") || slices.Contains(packages, "memento") {
		t.Errorf("packages with tagged tests: %q", packages)
	}
}

// Only a long run sets the variable for its tests.
func TestLong(t *testing.T) {
	if env := (options{long: true}).env(); !slices.Equal(env, []string{"MEMENTO_LONG=1"}) {
		t.Errorf("a long run sets %q", env)
	}
	if env := (options{}).env(); len(env) > 0 {
		t.Errorf("a normal run sets %q", env)
	}
}
