package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// testModule runs go test on the module in dir, with env added to the environment,
// and prints one line for each package. A test that skips itself fails the suite: what was
// not run must not look as if it passed.
func testModule(ctx context.Context, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var said tail
	cmd.Stderr = io.MultiWriter(os.Stderr, &said)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := testRun{outputs: map[string]*strings.Builder{}, builds: map[string]*strings.Builder{}, tests: map[string]int{}}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text()) // not from the tests
			continue
		}
		r.add(e)
	}
	err = cmd.Wait()
	switch {
	case len(r.failed) > 0:
		return r.failed
	case err != nil:
		return failures{{"go test: " + err.Error(), string(said.text)}}
	}
	return lines.Err()
}

// say prints tests that are left out, and why.
func say(what string, tests map[string]string) {
	for _, names := range slices.Sorted(maps.Keys(tests)) {
		fmt.Printf("%s: %s: %s\n", what, names, tests[names])
	}
}

// skipPattern returns the value of go test's -skip that leaves out tests.
func skipPattern(tests map[string]string) string {
	var patterns []string
	for _, names := range slices.Sorted(maps.Keys(tests)) {
		patterns = append(patterns, "^("+strings.ReplaceAll(names, "/", ")$/^(")+")$")
	}
	return strings.Join(patterns, "|")
}

// An event is a line of go test -json: see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string // of a build
	Elapsed                       float64
}

// name returns what the event is about: a package, or one of its tests.
func (e event) name() string { return strings.TrimSuffix(e.Package+" "+e.Test, " ") }

// A testRun is what is known of the tests of a module.
type testRun struct {
	outputs map[string]*strings.Builder // by name; of those that have not ended
	builds  map[string]*strings.Builder // by import path
	tests   map[string]int              // passed or skipped, by package
	failed  failures
}

func (r *testRun) add(e event) {
	name := e.name()
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
		keep(r.builds, e.ImportPath, e.Output)
	case "output":
		keep(r.outputs, name, e.Output)
	case "pass":
		switch {
		case e.Test != "":
			r.tests[e.Package]++
		case r.tests[e.Package] == 0: // as if a pattern of names matched none
			r.failed = append(r.failed, failure{e.Package + " without a test", ""})
		default:
			fmt.Printf("ok    %-28s %5d tests %7.1fs\n", e.Package, r.tests[e.Package], e.Elapsed)
		}
	case "fail":
		fmt.Print(kept(r.outputs, name))
		if e.Test == "" {
			r.unended(e.Package)
		}
		r.fail(e)
	case "skip":
		if e.Test != "" { // a package without tests skips, too
			fmt.Print(kept(r.outputs, name))
			r.failed = append(r.failed, failure{name + " skipped, which is not allowed", kept(r.outputs, name)})
			r.tests[e.Package]++
		}
	}
	if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
		delete(r.outputs, name)
	}
}

func keep(outputs map[string]*strings.Builder, name, output string) {
	if outputs[name] == nil {
		outputs[name] = &strings.Builder{}
	}
	outputs[name].WriteString(output)
}

func kept(outputs map[string]*strings.Builder, name string) string {
	if b := outputs[name]; b != nil {
		return b.String()
	}
	return ""
}

// fail notes what failed. A test or a package that only has parts that failed is no failure
// of its own, nor is a package that cannot be built for the same reason as another.
func (r *testRun) fail(e event) {
	one := failure{e.name(), kept(r.outputs, e.name())}
	if e.FailedBuild != "" {
		one = failure{e.FailedBuild + " cannot be built", kept(r.builds, e.FailedBuild)}
	}
	separator := "/"
	if e.Test == "" {
		separator = " "
	}
	for _, known := range r.failed {
		if known.name == one.name || strings.HasPrefix(known.name, one.name+separator) && len(ownLines(one.output)) == 0 {
			return
		}
	}
	r.failed = append(r.failed, one)
}

// unended notes the tests of a package that failed before they did, by a panic or because its
// time was over: what is printed then may be theirs.
func (r *testRun) unended(pkg string) {
	for _, name := range slices.Sorted(maps.Keys(r.outputs)) {
		if output := kept(r.outputs, name); strings.HasPrefix(name, pkg+" ") && len(ownLines(output)) > 0 {
			r.failed = append(r.failed, failure{name + " did not end", output})
		}
	}
}

// run runs a command and passes its output on.
func run(ctx context.Context, name string, args ...string) error {
	return runEnv(ctx, nil, name, args...)
}

func runEnv(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var said tail
	cmd.Stdout = io.MultiWriter(os.Stdout, &said)
	cmd.Stderr = cmd.Stdout
	return commandFailure(cmd.Run(), string(said.text), slices.Concat(env, []string{name}, args))
}

// output runs a command and returns its standard output and error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return outputIn(ctx, "", name, args...)
}

// outputIn is output in a directory.
func outputIn(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), commandFailure(err, string(out), append([]string{name}, args...))
}

// commandFailure returns the failure of a command line that ended with err, or nil if err is
// nil.
func commandFailure(err error, output string, line []string) error {
	if err == nil {
		return nil
	}
	return failures{{strings.Join(line, " ") + ": " + err.Error(), output}}
}
