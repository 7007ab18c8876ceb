package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memento/test/seededbugs"
)

const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// systems are the platforms to build for: one of each kind.
var systems = []string{"linux/amd64", "darwin/arm64", "windows/amd64"}

// nested are the directories of modules with dependencies that memento does not have.
var nested = []string{"test/conformance", "examples/go-client", "test/powercut", "test/oracle", deployModule}

// deployModule has so many dependencies that staticcheck, which analyses all of them, is
// left out for it.
const deployModule = "test/deploy"

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
	if err := reachable(ctx, cmp.Or(os.Getenv("GOVULNDB"), "https://vuln.go.dev")); err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	out, err := output(ctx, "go", "run", "golang.org/x/vuln/cmd/govulncheck@latest", "./...")
	fmt.Print(out)
	if err != nil && !strings.Contains(out, "Vulnerability #") {
		return fmt.Errorf("%w: govulncheck or its data is not available here", errUnavailable)
	}
	return err
}

// reachable returns an error if the database of vulnerabilities at a URL does not answer.
// Asking first spares building the program.
func reachable(ctx context.Context, url string) error {
	if !strings.HasPrefix(url, "http") {
		return nil // a folder
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url+"/index/db.json", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
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

// packages is how many packages are tested at a time: more than there are processors on
// small machines, since tests of storage wait for disks and servers.
const packages = "3"

// unrepeated match tests that the suite go runs only with -long, and why. As for go test
// -skip, what follows a slash matches their parts.
var unrepeated = map[string]string{
	"TestOver(Dirstore|Pgstore|S3store)/(" + strings.Join(notEncryption, "|") + ")": "of cryptstore: it does the same over memstore and SQLite, and these backends have tests of their own",
}

// notEncryption are the groups of storetest that are not about what cryptstore stores: what
// it stores are contents, versions and envelopes.
var notEncryption = []string{
	"crash", "catalogue", "documents", "conditions", "move_with_contents", "paths", "hostile", "listing", "limits", "redaction", "pruning",
	"settings", "undo", "powers", "clocks", "search", "keys", "lifetime", "concurrency", "linear", "model",
}

// goTests leaves vetting to the suite of that name, as the others do.
func goTests(ctx context.Context, o options) error {
	args := []string{"-vet=off", "-p", packages, "-timeout", o.timeout()}
	if !o.long {
		say("only with -long", unrepeated)
		args = append(args, "-skip", skipPattern(unrepeated))
	}
	return testModule(ctx, ".", o.env(), append(args, "./...")...)
}

func sdks(ctx context.Context, o options) error {
	for _, dir := range nested {
		if dir == deployModule {
			continue // see deployment
		}
		if err := run(ctx, "go", "-C", dir, "vet", "./..."); err != nil {
			return err
		}
		if err := run(ctx, "go", "-C", dir, "run", staticcheck, "./..."); err != nil {
			return err
		}
	}
	for _, module := range []string{"test/oracle", "test/conformance"} {
		if err := testModule(ctx, module, nil, "-vet=off", "-timeout", o.timeout(), "./..."); err != nil {
			return err
		}
	}
	return nil
}

// deployment tests what a server is deployed with.
func deployment(ctx context.Context, o options) error {
	if err := run(ctx, "go", "-C", deployModule, "vet", "./..."); err != nil {
		return err
	}
	// Not from the cache, which does not see changes of files outside of the module.
	args := []string{"-count=1", "-vet=off", "-timeout", o.timeout()}
	if !o.long {
		left := map[string]string{"TestReproducible": "it compiles everything twice"}
		say("only with -long", left)
		args = append(args, "-skip", skipPattern(left))
	}
	return testModule(ctx, deployModule, o.env(), append(args, "./...")...)
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
	length := "2s"
	if o.long {
		length = "1m"
	}
	out, err := output(ctx, "go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "./...")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "memento-fuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for line := range strings.Lines(out) {
		pkg, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		targets, err := fuzzTargets(dir)
		if err != nil {
			return err
		}
		if len(targets) == 0 {
			continue
		}
		// Built once for all targets of the package.
		binary := filepath.Join(work, "fuzz.test")
		if err := run(ctx, "go", "test", "-c", "-vet=off", "-fuzz", ".", "-o", binary, pkg); err != nil {
			return err
		}
		for _, target := range targets {
			if err := fuzzTarget(ctx, binary, dir, target, length); err != nil {
				return fmt.Errorf("%s in %s: %w", target, pkg, err)
			}
		}
	}
	return nil
}

// fuzzTarget fuzzes one target of a package for a time, in the package's directory dir.
//
// A test binary can report the end of the time as a failure, if the target is busy just then
// (golang.org/issue/75804, fixed in Go 1.27). It has found nothing then, so the target
// is tried again.
func fuzzTarget(ctx context.Context, binary, dir, target, length string) error {
	for attempts := 3; ; attempts-- {
		// Without the last flag a short run can spend all its time on minimizing the first inputs.
		out, err := outputIn(ctx, dir, binary, "-test.run", "^$", "-test.fuzz", "^"+target+"$", "-test.fuzztime", length,
			"-test.fuzzcachedir", filepath.Join(filepath.Dir(binary), "cache"), "-test.fuzzminimizetime", "10x")
		cutOff := strings.Contains(out, "context deadline exceeded") && !strings.Contains(out, "Failing input")
		if err == nil || !cutOff || attempts == 1 {
			fmt.Print(out)
			return err
		}
		fmt.Println(target + ": the end of its time was reported as a failure: trying again")
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
