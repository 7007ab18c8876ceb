package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A test that was not run must not count as passed, and each failure is named once, with
// what it printed.
func TestResults(t *testing.T) {
	for name, tt := range map[string]struct {
		source string   // of a test file
		want   failures // with a part of the output
	}{
		"passes":        {"func TestIt(t *testing.T) {}", nil},
		"is given more": {"func TestIt(t *testing.T) { if os.Getenv(\"MORE\") != \"given\" { t.Error() } }", nil},
		"fails":         {"func TestIt(t *testing.T) { t.Error(\"wrong\") }\n\nfunc TestOther(t *testing.T) {}", failures{{"module TestIt", "wrong"}}},
		"fails in a part": {
			"func TestIt(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Error(\"wrong\") }) }",
			failures{{"module TestIt/part", "wrong"}},
		},
		"fails in a part and as a whole": {
			"func TestIt(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Error(\"wrong\") }); t.Error(\"whole\") }",
			failures{{"module TestIt/part", "wrong"}, {"module TestIt", "whole"}},
		},
		"fails after its tests": {
			"func TestMain(m *testing.M) { m.Run(); fmt.Println(\"left behind\"); os.Exit(1) }\n\nfunc TestIt(t *testing.T) { t.Error(\"wrong\") }",
			failures{{"module TestIt", "wrong"}, {"module", "left behind"}},
		},
		"skips":        {"func TestIt(t *testing.T) { t.Skip(\"today\") }", failures{{"module TestIt skipped, which is not allowed", "today"}}},
		"skips a part": {"func TestIt(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.SkipNow() }) }", failures{{"module TestIt/part skipped, which is not allowed", ""}}},
		"panics":       {"func TestIt(t *testing.T) { panic(\"unforeseen\") }", failures{{"module TestIt", "panic: unforeseen"}}},
		"exits":        {"func TestIt(t *testing.T) { fmt.Println(\"enough\"); os.Exit(3) }", failures{{"module TestIt did not end", "enough"}}},
		"takes too long": {
			"func TestIt(t *testing.T) { select {} }",
			failures{{"module TestIt did not end", "test timed out"}},
		},
		"cannot start": {"func TestMain(*testing.M) { fmt.Println(\"no server\"); os.Exit(1) }\n\nfunc TestIt(t *testing.T) {}", failures{{"module", "no server"}}},
		"has no tests": {"func BenchmarkIt(b *testing.B) {}", failures{{"module without a test", ""}}},
		"cannot build": {"func TestIt(t *testing.T) { nothing() }", failures{{"module [module.test] cannot be built", "undefined: nothing"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, tt.source)
			timeout := "10m"
			if strings.Contains(tt.source, "select") {
				timeout = "1s"
			}
			err := testModule(t.Context(), dir, []string{"MORE=given"}, "-timeout", timeout, "./...")
			got, _ := errors.AsType[failures](err)
			if len(got) != len(tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("the result is %q, want %q", err, tt.want)
			}
			for i, want := range tt.want {
				if got[i].name != want.name || !strings.Contains(got[i].output, want.output) {
					t.Errorf("%q, want %q", got[i], want)
				}
			}
		})
	}
}

// write makes dir a module with one test file.
func write(t *testing.T, dir, source string) {
	t.Helper()
	for file, text := range map[string]string{
		"go.mod":     "module module\n",
		"it_test.go": "package module\n\nimport (\n\"fmt\"\n\"os\"\n\"testing\"\n)\n\nvar _, _ = os.Exit, fmt.Print\n\n" + source + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
