package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// testModule runs go test on the module in dir, with env added to the environment,
// and prints one line for each package. A test that skips itself fails the suite: what was
// not run must not look as if it passed.
func testModule(ctx context.Context, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	outputs := map[string]*strings.Builder{} // by package and test
	tests := map[string]int{}                // passed or skipped, by package
	var failed, skipped []string
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Action, Package, ImportPath, Test, Output string
			Elapsed                                   float64
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text()) // not from the tests
			continue
		}
		key := strings.TrimSuffix(e.Package+" "+e.Test, " ")
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			if outputs[key] == nil {
				outputs[key] = &strings.Builder{}
			}
			outputs[key].WriteString(e.Output)
		case "pass":
			switch {
			case e.Test != "":
				tests[e.Package]++
			case tests[e.Package] == 0: // as if a pattern of names matched none
				failed = append(failed, e.Package+" without a test")
			default:
				fmt.Printf("ok    %-28s %5d tests %7.1fs\n", e.Package, tests[e.Package], e.Elapsed)
			}
		case "fail":
			failed = append(failed, key)
			if out := outputs[key]; out != nil {
				fmt.Print(out)
			}
		case "skip":
			if e.Test != "" { // a package without tests skips, too
				skipped = append(skipped, key)
				tests[e.Package]++
				fmt.Print(outputs[key])
			}
		}
		if e.Action == "pass" || e.Action == "skip" {
			delete(outputs, key)
		}
	}
	err = cmd.Wait()
	switch {
	case len(failed) > 0:
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	case err != nil:
		return err
	case len(skipped) > 0:
		return fmt.Errorf("skipped, which is not allowed: %s", strings.Join(skipped, ", "))
	}
	return lines.Err()
}

// run runs a command and passes its output on.
func run(ctx context.Context, name string, args ...string) error {
	return runEnv(ctx, nil, name, args...)
}

func runEnv(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return nil
}

// output runs a command and returns its standard output and error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return string(out), err
}
