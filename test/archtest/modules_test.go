package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modules.txt lists the modules that packages of this one import, each with the
// reason, so that a new dependency is a decision and not an accident.
func TestModules(t *testing.T) {
	listed := listedModules(t)
	required, direct := requiredModules(t)

	used := map[string]bool{}
	for _, e := range imports(t) {
		if _, ours := inModule(e.path); ours || isStandard(e.path) {
			continue
		}
		used[moduleOf(e.path, required)] = true
	}
	var imported []string
	for m := range used {
		imported = append(imported, m)
	}
	slices.Sort(imported)
	if diff := cmp.Diff(listed, imported); diff != "" {
		t.Error("modules.txt is not what is imported (-listed +imported):\n" + diff)
	}
	for _, m := range direct {
		if !slices.Contains(listed, m) {
			t.Errorf("go.mod requires %s directly, but it is not in modules.txt", m)
		}
	}
}

// Documents name the lowest version of Go that go.mod allows.
func TestGoVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\ngo ")
	version, _, _ := strings.Cut(after, "\n")
	docs := documents(t)
	for _, name := range []string{"README.md", "docs/embedding.md"} {
		if version == "" || !strings.Contains(docs[name], version) {
			t.Errorf("%s does not say that Go %s is needed", name, version)
		}
	}
}

// listedModules returns the modules in modules.txt, in order.
func listedModules(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.TrimSpace(reason) == "" {
			t.Errorf("%s has no reason", name)
		}
		listed = append(listed, name)
	}
	if !slices.IsSorted(listed) {
		t.Error("modules.txt is not sorted")
	}
	return listed
}

// requiredModules returns the modules that go.mod requires, and those among
// them that it does not call indirect.
func requiredModules(t *testing.T) (required, direct []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	inBlock := false
	for line := range strings.Lines(string(data)) {
		line, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "require" && words[len(words)-1] == "(":
			inBlock = true
			continue
		case words[0] == ")":
			inBlock = false
			continue
		case words[0] == "require":
			words = words[1:]
		case !inBlock:
			continue
		}
		required = append(required, words[0])
		if strings.TrimSpace(comment) != "indirect" {
			direct = append(direct, words[0])
		}
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	return required, direct
}

// moduleOf returns the required module that has a package: the longest one that
// its path begins with.
func moduleOf(imported string, required []string) string {
	longest := ""
	for _, m := range required {
		if (imported == m || strings.HasPrefix(imported, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	if longest == "" {
		return "no module in go.mod for " + imported
	}
	return longest
}
