package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityDocument checks that the tests named in docs/security.md exist.
func TestSecurityDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	functions, subtests := testNames(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*|storetest: [^`]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 40 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		subtest, inSuite := strings.CutPrefix(m[1], "storetest: ")
		if !functions[m[1]] && !(inSuite && subtests[subtest]) {
			t.Errorf("docs/security.md names %s, which does not exist", m[1])
		}
	}
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.HasSuffix(line, "| shown by |") || strings.HasSuffix(line, "| cannot |") {
			continue
		}
		if shown := cells[3]; i > 25 && !strings.Contains(shown, "`") {
			t.Errorf("docs/security.md, line %d: no test shows it", i+1)
		}
	}
}

// testNames returns the test functions of the module, and the subtests of storetest.
func testNames(t *testing.T) (functions, subtests map[string]bool) {
	t.Helper()
	functions, subtests = map[string]bool{}, map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	subtest := regexp.MustCompile(`(?:h\.run|t\.Run)\((?:t, )?"([^"]+)"`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"): // in a worktree, .git is a file
			return filepath.SkipDir
		}
		suite := strings.HasSuffix(path, ".go") && strings.Contains(path, "storetest"+string(filepath.Separator))
		if !suite && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(source), -1) {
			functions[m[1]] = true
		}
		if suite {
			for _, m := range subtest.FindAllStringSubmatch(string(source), -1) {
				subtests[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return functions, subtests
}
