package seededbugs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// All patches apply, and their tests exist. Running the tests takes minutes, so the suite
// seededbugs does that with -long.
func TestPatches(t *testing.T) {
	top := filepath.Join("..", "..")
	patches, err := Load(top)
	if err != nil {
		t.Fatal(err)
	}
	if len(patches) < 25 {
		t.Errorf("only %d patches", len(patches))
	}
	for _, p := range patches {
		if err := p.Check(t.Context(), top); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// module creates a small module with a repository, a test and a patch.
func module(t *testing.T, what, test, diff string) (top string) {
	t.Helper()
	top = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                             "module small\n\ngo 1.26\n",
		"small.go":                           "package small\n\nfunc Two() int {\n\treturn 2\n}\n",
		"unused.go":                          "package small\n\nvar unused = 1\n",
		"two_test.go":                        "package small\n\nimport (\n\t\"testing\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Error(Two())\n\t}\n}\n\nfunc TestBad(t *testing.T) { t.Error() }\n",
		filepath.Join(Folder, "small.patch"): "# what: " + what + "\n# test: " + test + "\n" + diff,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := git(t.Context(), top, "init", "-q"); err != nil {
		t.Fatal(out)
	}
	return top
}

const returnThree = `--- a/small.go
+++ b/small.go
@@ -1,5 +1,5 @@
 package small
 
 func Two() int {
-	return 2
+	return 3
 }
`

// Only a failing test catches a patch.
func TestRun(t *testing.T) {
	for _, tt := range []struct{ name, test, diff, want string }{
		{"caught", "go test . -run '^TestTwo$'", returnThree, "caught"},
		{"survives", "go test . -run '^TestTwo$'", "--- a/unused.go\n+++ b/unused.go\n@@ -1,3 +1,3 @@\n package small\n \n-var unused = 1\n+var unused = 2\n", "SURVIVED"},
		{"panics", "go test . -run '^TestTwo$'", strings.Replace(returnThree, "return 3", "go panic(3); select {}", 1), "caught"},
		{"is not built", "go test . -run '^TestTwo$'", strings.Replace(returnThree, "return 3", "return three", 1), "UNUSABLE"},
		{"fails without", "go test . -run '^TestBad$'", returnThree, "UNUSABLE"},
		{"runs nothing", "go test . -run '^TestNo$'", returnThree, "UNUSABLE"},
		{"does not apply", "go test . -run '^TestTwo$'", strings.Replace(returnThree, "return 2", "return 1", 1), "UNUSABLE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := module(t, "two is not two", tt.test, tt.diff)
			patches, err := Load(top)
			if err != nil || len(patches) != 1 {
				t.Fatal(patches, err)
			}
			var got []string
			err = Run(t.Context(), top, nil, patches, func(r Result) { got = append(got, string(r.Verdict)) })
			if !slices.Equal(got, []string{tt.want}) || (err == nil) != (tt.want == "caught") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A patch that cannot be used is found without running a test.
func TestCheck(t *testing.T) {
	for _, tt := range []struct{ name, test, diff, want string }{
		{"usable", "go test . -run '^TestTwo$'", returnThree, ""},
		{"with a subtest", "go test . -run '^TestTwo$/^dir$'", returnThree, ""},
		{"one of several", "go test . -run '^Test(Two|Three)$'", returnThree, ""},
		{"another test", "go test . -run '^TestThree$'", returnThree, "there is no such test"},
		{"no test", "go test .", returnThree, "names no test"},
		{"another text", "go test . -run '^TestTwo$'", strings.Replace(returnThree, "return 2", "return 1", 1), "does not apply"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := module(t, "two is not two", tt.test, tt.diff)
			patches, err := Load(top)
			if err != nil || len(patches) != 1 {
				t.Fatal(patches, err)
			}
			err = patches[0].Check(t.Context(), top)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	for _, test := range []string{"", "ls"} {
		if _, err := Load(module(t, "something", test, "")); err == nil {
			t.Errorf("the command %q is accepted", test)
		}
	}
}
