package seededbugs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"memento/test/modulecopy"
)

// A Verdict is the result of a test with a patch.
type Verdict string

// The verdicts.
const (
	Caught   Verdict = "caught"   // a test failed
	Survived Verdict = "SURVIVED" // all passed
	Unusable Verdict = "UNUSABLE" // neither: it did not build, or did not finish
)

// limit is the longest time of one run, including the build.
const limit = 10 * time.Minute

// A Result is the result of a patch.
type Result struct {
	Patch
	Verdict
	Detail string // the test that failed, or why the patch is unusable
	Took   time.Duration
}

// Run applies each patch to a copy of the module whose top folder is given, two at
// a time, and runs its test there, after a run without the patch. report is called
// with each result, one at a time. The error names the patches that no test caught.
func Run(ctx context.Context, top string, env []string, patches []Patch, report func(Result)) error {
	const workers = 2
	temp, err := os.MkdirTemp("", "memento-seededbugs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	work := make(chan Patch)
	var (
		mu       sync.Mutex // for the fields below, and report
		wg       sync.WaitGroup
		failures []error
		passes   = map[string]Result{} // without a patch, by command
	)
	for n := range workers {
		dir := filepath.Join(temp, fmt.Sprint(n))
		if err := modulecopy.Copy(ctx, top, dir); err != nil {
			return err
		}
		wg.Go(func() {
			for p := range work {
				command := strings.Join(p.Test, " ")
				mu.Lock()
				before, known := passes[command]
				mu.Unlock()
				if !known {
					before = test(ctx, dir, env, p)
				}
				r := Result{p, Unusable, "the test does not pass without the patch: " + before.Detail, before.Took}
				if before.Verdict == Survived {
					r = patched(ctx, dir, env, p)
				}
				mu.Lock()
				passes[command] = before
				report(r)
				if r.Verdict != Caught {
					failures = append(failures, fmt.Errorf("%s: %s", r.Verdict, p.Name))
				}
				mu.Unlock()
			}
		})
	}
	for _, p := range patches {
		work <- p
	}
	close(work)
	wg.Wait()
	return errors.Join(failures...)
}

// patched applies a patch, runs its test, and reverts the patch.
func patched(ctx context.Context, dir string, env []string, p Patch) Result {
	if out, err := git(ctx, dir, "apply", p.file); err != nil {
		return Result{p, Unusable, "it does not apply: " + out, 0}
	}
	r := test(ctx, dir, env, p)
	if out, err := git(ctx, dir, "apply", "-R", p.file); err != nil {
		return Result{p, Unusable, "it cannot be reverted: " + out, r.Took}
	}
	return r
}

// test runs the test of a patch in a copy of the module.
func test(ctx context.Context, dir string, env []string, p Patch) Result {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"test"}
	if at := p.flag("-C"); at != "" { // which must come first
		args = append(args, "-C", at)
	}
	args = append(args, "-json", "-vet=off", "-count=1")
	if p.flag("-timeout") == "" {
		args = append(args, "-timeout", "5m")
	}
	skip := false
	for _, arg := range p.Test[2:] {
		if arg == "-C" || skip {
			skip = !skip
			continue
		}
		args = append(args, arg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	r := Result{Patch: p, Took: time.Since(start)}
	r.Verdict, r.Detail = classify(out, err)
	if ctx.Err() != nil {
		r.Verdict, r.Detail = Unusable, ctx.Err().Error()
	}
	return r
}

// classify returns the verdict for the output of go test -json. If the process ends by a
// panic of another goroutine while a test runs, that test has failed.
func classify(out []byte, err error) (Verdict, string) {
	var failed []string
	running := "" // the last test that has begun and not ended
	var text strings.Builder
	timedOut, passed := false, 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output, FailedBuild string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(&text, lines.Text())
			continue
		}
		text.WriteString(e.Output)
		timedOut = timedOut || strings.Contains(e.Output, "panic: test timed out")
		switch {
		case e.Action == "run":
			running = e.Test
		case e.Test != "" && e.Test == running && (e.Action == "pass" || e.Action == "skip"):
			running = ""
		}
		switch {
		case e.Action == "fail" && e.Test != "":
			failed = append(failed, e.Test)
		case e.Action == "pass" && e.Test != "":
			passed++
		}
	}
	end := text.String()
	end = strings.TrimSpace(end[max(0, len(end)-2000):])
	switch {
	case timedOut:
		return Unusable, "the test timed out: " + end
	case len(failed) > 0:
		return Caught, failed[len(failed)-1]
	case err != nil && running != "" && strings.Contains(text.String(), "panic: "):
		return Caught, running + ", by a panic"
	case err != nil:
		return Unusable, end
	case passed == 0:
		return Unusable, "no test was run"
	}
	return Survived, ""
}
