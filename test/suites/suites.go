package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memento/test/seededbugs"
)

const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// systems are the platforms to build for: one of each kind.
var systems = []string{"linux/amd64", "darwin/arm64", "windows/amd64"}

// nested are the directories of modules with dependencies that memento does not have.
var nested = []string{"test/conformance", "examples/go-client", "test/powercut"}

func format(ctx context.Context, _ options) error {
	out, err := output(ctx, "gofmt", "-l", ".")
	if err != nil {
		return err
	}
	if out != "" {
		return fmt.Errorf("gofmt would change:\n%s", out)
	}
	for _, dir := range append([]string{"."}, nested...) {
		if err := run(ctx, "go", "-C", dir, "mod", "tidy", "-diff"); err != nil {
			return err
		}
	}
	// In nested modules verify would have to download this one.
	return run(ctx, "go", "mod", "verify")
}

func vet(ctx context.Context, _ options) error {
	for _, system := range systems {
		goos, goarch, _ := strings.Cut(system, "/")
		if err := runEnv(ctx, []string{"GOOS=" + goos, "GOARCH=" + goarch}, "go", "vet", "-tags", "faults", "./..."); err != nil {
			return err
		}
	}
	return run(ctx, "go", "run", staticcheck, "-tags", "faults", "./...")
}

func vulnerabilities(ctx context.Context, _ options) error {
	out, err := output(ctx, "go", "run", "golang.org/x/vuln/cmd/govulncheck@latest", "./...")
	fmt.Print(out)
	if err != nil && !strings.Contains(out, "Vulnerability #") {
		return fmt.Errorf("%w: govulncheck or its data is not available here", errUnavailable)
	}
	return err
}

func build(ctx context.Context, _ options) error {
	dir, err := os.MkdirTemp("", "memento-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, system := range systems {
		goos, goarch, _ := strings.Cut(system, "/")
		binary := filepath.Join(dir, "memento-"+goos+"-"+goarch)
		// Without -trimpath, so that what the suite vet has compiled need not be again.
		err := runEnv(ctx, []string{"GOOS=" + goos, "GOARCH=" + goarch},
			"go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/memento")
		if err != nil {
			return err
		}
		info, err := os.Stat(binary)
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %.1f MB\n", system, float64(info.Size())/1e6)
	}
	return nil
}

// goTests leaves vetting to the suite of that name, as the others do.
func goTests(ctx context.Context, o options) error {
	return testModule(ctx, ".", o.env(), "-vet=off", "-timeout", o.timeout(), "./...")
}

func sdks(ctx context.Context, _ options) error {
	for _, dir := range nested {
		if err := run(ctx, "go", "-C", dir, "vet", "./..."); err != nil {
			return err
		}
		if err := run(ctx, "go", "-C", dir, "run", staticcheck, "./..."); err != nil {
			return err
		}
	}
	return testModule(ctx, "test/conformance", nil, "-vet=off", "./...")
}

// faults runs the tests that have a build tag of their own, because they need root
// or other programs, in all packages that have some.
func faults(ctx context.Context, o options) error {
	packages, err := taggedPackages(ctx)
	if err != nil {
		return err
	}
	args := []string{"-vet=off", "-timeout", o.timeout(), "-tags", "faults", "-run", "^TestFault"}
	return testModule(ctx, ".", o.env(), append(args, packages...)...)
}

// crash runs the tests that cut the power: a few times, or hundreds of times in a long run.
func crash(ctx context.Context, o options) error {
	return testModule(ctx, "test/powercut", o.env(), "-vet=off", "-timeout", o.timeout(), "./...")
}

// seededBugs applies one patch after the other, each with a bug, and runs the tests that
// must fail. Whether the patches apply is tested by their package, in every run.
func seededBugs(ctx context.Context, o options) error {
	if !o.long {
		fmt.Println("it runs only with -long")
		return nil
	}
	patches, err := seededbugs.Load(".")
	if err != nil {
		return err
	}
	return seededbugs.Run(ctx, ".", nil, patches, func(r seededbugs.Result) {
		fmt.Printf("%-9s %6.1fs  %s: %s (%s)\n", r.Verdict, r.Took.Seconds(), r.Name, r.What, r.Detail)
	})
}

// taggedPackages returns the packages with test files that the build tag faults
// selects.
func taggedPackages(ctx context.Context) (packages []string, err error) {
	out, err := output(ctx, "go", "list", "-f", "{{$p := .}}{{range .IgnoredGoFiles}}{{$p.ImportPath}} {{$p.Dir}} {{.}}\n{{end}}", "./...")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) != 3 || !strings.HasSuffix(words[2], "_test.go") || slices.Contains(packages, words[0]) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(words[1], words[2]))
		if err != nil {
			return nil, err
		}
		if first, _, _ := bytes.Cut(source, []byte("\n")); bytes.HasPrefix(first, []byte("//go:build ")) && bytes.Contains(first, []byte("faults")) {
			packages = append(packages, words[0])
		}
	}
	return packages, nil
}

func fuzz(ctx context.Context, o options) error {
	length := "3s"
	if o.long {
		length = "1m"
	}
	out, err := output(ctx, "go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "./...")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		pkg, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		targets, err := fuzzTargets(dir)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if err := fuzzTarget(ctx, pkg, target, length); err != nil {
				return err
			}
		}
	}
	return nil
}

// fuzzTarget fuzzes one target for a time.
//
// go test can report the end of -fuzztime as a failure, if the target is busy just then
// (golang.org/issue/75804, fixed in Go 1.27). It has found nothing then, so the target
// is tried again.
func fuzzTarget(ctx context.Context, pkg, target, length string) error {
	for attempts := 3; ; attempts-- {
		// Without the last flag a short run can spend all its time on minimizing the first inputs.
		out, err := output(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-fuzztime", length, "-fuzzminimizetime", "10x", pkg)
		fmt.Print(out)
		cutOff := strings.Contains(out, "context deadline exceeded") && !strings.Contains(out, "Failing input")
		if err == nil || !cutOff || attempts == 1 {
			return err
		}
		fmt.Println("go test reported its end as a failure: trying again")
	}
}

// fuzzTargets finds the fuzz targets of the package in dir.
func fuzzTargets(dir string) (targets []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(source) {
			if rest, ok := bytes.CutPrefix(line, []byte("func Fuzz")); ok {
				name, _, _ := bytes.Cut(rest, []byte("("))
				targets = append(targets, "Fuzz"+string(name))
			}
		}
	}
	return targets, nil
}

func bench(ctx context.Context, _ options) error {
	return run(ctx, "go", "run", "./test/bench", "-quick")
}
