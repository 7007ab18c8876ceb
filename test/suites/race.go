package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// unraced are packages without a test that could show a race of their own, and why.
var unraced = map[string]string{
	"memento/test/bench":      "it measures sqlitestore, whose own tests race",
	"memento/test/cluster":    "its servers are processes, whose packages have tests of their own",
	"memento/test/archtest":   "it reads source text",
	"memento/test/seededbugs": "it starts git and go",
	"memento/test/suites":     "it starts go",
	"memento/test/linked":     "it starts go",
	"memento/test/rename":     "it starts git and go",
}

// unracedTests match tests that would race the same code again with a slower backend, and
// why. As for go test -skip, what follows a slash matches their parts.
var unracedTests = map[string]string{
	"Test(Names)?Over(SQLitestore|Dirstore|Pgstore|S3store)": "of cryptstore, over backends whose own tests race",
	"TestCrash|TestPowerCut":                                 "of dirstore, whose processes make one change and die",
	"TestSecondServer":                                       "of s3store, again on another server",
	"TestScripts":                                            "of the command, whose processes run packages with tests of their own",
}

// sequential are the groups of storetest that make one call after the other. What a backend
// does meanwhile in the background, it does in the other groups, too.
var sequential = []string{
	"documents", "contents", "paths", "hostile", "history", "settings", "undo", "importing", "sealing", "clocks", "damage", "model",
}

// single are long tests of code that runs in one goroutine, by the folder of their package.
var single = map[string][]string{
	".":                  {"TestByteFidelity"},
	"history":            {"TestAnnotateLarge"},
	"backend/s3store":    {"TestDamaged", "TestLongHistory"},
	"cmd/memento":        {"TestSecretsAreGone"},
	"claude/contextedit": {"TestConversations", "TestWarning", "TestWindowIsKept"},
	"exchange/archive":   {"TestBombs", "TestRoundTripOfMuch"},
	"sensitive":          {"TestIsRandom", "TestKeywords", "TestNecessary", "TestPromisesOfMixedTexts", "TestSameAsPlainly", "TestTimes"},
}

// uninstrumented are packages that are built without the race detector. SQLite is C
// translated to Go: most of its memory is outside Go's heap, which the detector does not
// check, but instrumented it takes several times as long. Its callers are instrumented.
var uninstrumented = []string{"modernc.org/sqlite/lib", "modernc.org/libc", "modernc.org/libc/..."}

// raceTests runs the tests under the race detector, where each takes several times as
// long. It prints in what it does less than the suite go: with -long, only what would be
// the same again.
func raceTests(ctx context.Context, o options) error {
	out, err := output(ctx, "go", "list", "./...")
	if err != nil {
		return err
	}
	var raced []string
	for pkg := range strings.FieldsSeq(out) {
		if why, ok := unraced[pkg]; ok {
			fmt.Printf("not raced: %s: %s\n", pkg, why)
			continue
		}
		raced = append(raced, pkg)
	}
	skipped := skippedTests(o)
	say("not raced", skipped)
	scaled, err := repetitions(".")
	if err != nil {
		return err
	}
	for _, line := range scaled {
		fmt.Println("repeated less:", line)
	}
	// A process under the race detector waits a second at its end, for races of goroutines
	// that still run. Some tests have hundreds of processes.
	env := []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE")}
	args := []string{"-race", "-vet=off", "-p", packages, "-timeout", o.timeout(), "-skip", skipPattern(skipped)}
	for _, pkg := range uninstrumented {
		fmt.Println("not instrumented:", pkg)
		args = append(args, "-gcflags="+pkg+"=-race=false")
	}
	return testModule(ctx, ".", env, append(args, raced...)...)
}

// skippedTests are the tests that are not run under the race detector, and why.
func skippedTests(o options) map[string]string {
	tests := maps.Clone(unracedTests)
	if !o.long {
		tests["Test(Backend|(Names)?Over.*)/("+strings.Join(sequential, "|")+")"] = "of storetest, one call after the other; with -long they are"
		for dir, names := range single {
			tests[strings.Join(names, "|")] = "of " + dir + ", in one goroutine; with -long they are"
		}
	}
	return tests
}

// repetitions returns the lines of source files below dir by which tests repeat less
// often under the race detector.
func repetitions(dir string) (lines []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "node_modules" || base == ".git" || path == filepath.Join(dir, "test", "suites") {
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
