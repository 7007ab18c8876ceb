package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unraced are packages without a test that could show a race of their own, and why.
var unraced = map[string]string{
	"memento/bench":             "it measures backends, whose own tests race",
	"memento/cluster":           "its servers are processes, and what they run is raced by its own tests",
	"memento/internal/archtest": "it reads source text",
}

// unracedTests match tests that would race the same code over something slower, and
// why.
var unracedTests = map[string]string{
	"TestOver(Dirstore|Pgstore|S3store)": "of cryptstore, over what is raced by itself",
	"TestSecondServer":                   "of s3store, once more on another server",
	"TestScripts":                        "of the command, whose processes run what is raced by itself",
}

// uninstrumented are packages that the race detector is kept out of. SQLite is C
// translated to Go: most of what it touches is outside Go's heap, where the
// detector does not look, though it takes several times as long to find that out.
// What calls it is watched.
var uninstrumented = []string{"modernc.org/sqlite/lib", "modernc.org/libc", "modernc.org/libc/..."}

// raceTests runs the tests under the race detector, where each takes several
// times as long. It says what it does less of than the suite go.
func raceTests(ctx context.Context, _ options) error {
	out, err := output(ctx, "go", "list", "./...")
	if err != nil {
		return err
	}
	var packages []string
	for pkg := range strings.FieldsSeq(out) {
		if why, ok := unraced[pkg]; ok {
			fmt.Printf("not raced: %s: %s\n", pkg, why)
			continue
		}
		packages = append(packages, pkg)
	}
	skipped := slices.Sorted(maps.Keys(unracedTests))
	for _, tests := range skipped {
		fmt.Printf("not raced: %s: %s\n", tests, unracedTests[tests])
	}
	scaled, err := repetitions(".")
	if err != nil {
		return err
	}
	for _, line := range scaled {
		fmt.Println("repeated less:", line)
	}
	// A process under the race detector takes a second to end, in which races of
	// what it leaves behind would show. Some tests have hundreds of processes.
	env := []string{"GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE")}
	args := []string{"-race", "-vet=off", "-timeout", "30m", "-skip", "^(" + strings.Join(skipped, "|") + ")$"}
	for _, pkg := range uninstrumented {
		fmt.Println("not watched:", pkg)
		args = append(args, "-gcflags="+pkg+"=-race=false")
	}
	return testModule(ctx, ".", env, append(args, packages...)...)
}

// repetitions returns the lines below dir that let a test repeat less under the
// race detector.
func repetitions(dir string) (lines []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "node_modules" || base == ".git" || path == filepath.Join(dir, "internal", "suites") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(source) {
			if bytes.Contains(line, []byte("race.Scaled(")) {
				lines = append(lines, path+": "+string(bytes.TrimSpace(line)))
			}
		}
		return nil
	})
	return lines, err
}
