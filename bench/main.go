// Bench compares memento with the TypeScript SDK's local memory tool,
// BetaLocalFilesystemMemoryTool, on the same calls, the same machine and the same
// file system, in one run; and its engines with what they stand on, and with
// themselves when they hold more. README.md says what it measures, how, and what
// is unfair to whom.
//
//	go run ./bench
//	go run ./bench -part engines
//
// The first needs node and npm, and fetches the SDK with `npm ci` when it first
// runs. The second needs the servers of package services: `make services`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if file := os.Getenv(bareEnv); file != "" {
		fmt.Fprintln(os.Stderr, "bench:", serveBare(file))
		os.Exit(1)
	}
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted")
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A config is what the command line asks for.
type config struct {
	sizes   []int // of the stores, in files, ascending
	callers []int // ascending
	rounds  int   // counted ones, after one that is not
	seed    uint64
	quick   bool
	dir     string // where the stores are made
	format  string // "text", "markdown" or "json"

	parts    []part
	engines  []engineName // that the last two parts cover
	memories int          // in the large store
	stores   int          // in the large workspace
	profile  string       // a file for a profile of this process's processor time; "" for none
}

func parseArgs(args []string, stderr io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	sizes := f.String("sizes", "20,1000,10000", "sizes of the stores, in `files`")
	callers := f.String("callers", "1,16", "`numbers` of concurrent callers")
	f.IntVar(&c.rounds, "rounds", 5, "counted `rounds`, of which the median is taken")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the generated calls")
	f.BoolVar(&c.quick, "quick", false, "a few seconds: one round of few calls on stores of 20 and 200 files; proves that it runs, not how fast")
	f.StringVar(&c.dir, "dir", ".", "`directory` in whose file system the stores are made, and removed afterwards")
	parts := f.String("part", "", "`parts` to run: "+join(allParts)+", engines for all but the first, or all; sdk unless -quick is set")
	engines := f.String("engines", join(allEngines), "`engines` that encryption and flatness are measured on")
	f.IntVar(&c.memories, "memories", 100_000, "`memories` in the large store")
	f.IntVar(&c.stores, "stores", 10_000, "`stores` in the large workspace")
	f.StringVar(&c.profile, "cpuprofile", "", "a `file` for a profile of this process's processor time")
	markdown := f.Bool("markdown", false, "print the tables as Markdown")
	asJSON := f.Bool("json", false, "print the figures as JSON")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if c.quick && !given["sizes"] {
		*sizes = "20,200"
	}
	if c.quick && !given["rounds"] {
		c.rounds = 1
	}
	if c.quick && !given["memories"] {
		c.memories = 300
	}
	if c.quick && !given["stores"] {
		c.stores = 30
	}
	if !given["part"] {
		*parts = string(partSDK)
		if c.quick {
			*parts = "all"
		}
	}
	var err1, err2, err3, err4 error
	c.sizes, err1 = numbers("sizes", *sizes)
	c.callers, err2 = numbers("callers", *callers)
	c.parts, err3 = parseParts(*parts)
	c.engines, err4 = parseEngines(*engines)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds is %d; it must be at least 1", c.rounds)
	case c.memories < smallStore || c.stores < pageOfStores:
		return c, fmt.Errorf("-memories must be at least %d, and -stores %d", smallStore, pageOfStores)
	case *markdown && *asJSON:
		return c, errors.New("-markdown and -json exclude each other")
	}
	c.format = "text"
	if *markdown {
		c.format = "markdown"
	} else if *asJSON {
		c.format = "json"
	}
	return c, nil
}

// numbers reads a comma-separated list of positive numbers, and sorts it.
func numbers(name, list string) ([]int, error) {
	var ns []int
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-%s: %q is not a positive number", name, field)
		}
		ns = append(ns, n)
	}
	slices.Sort(ns)
	return slices.Compact(ns), nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	cfg, err := parseArgs(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(cfg.dir, ".memento-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if cfg.profile != "" {
		stop, err := startProfile(cfg.profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	b := &bench{config: cfg, work: dir, progress: stderr}
	defer func() { err = errors.Join(err, b.closeEngines()) }()
	r := report{Machine: describeMachine(dir), Rounds: cfg.rounds, Quick: cfg.quick}
	if cfg.has(partSDK) {
		if err := b.measureSDK(ctx, &r); err != nil {
			return err
		}
	}
	if err := b.measureEngines(ctx, &r); err != nil {
		return err
	}
	return r.write(stdout, cfg.format)
}

// measureSDK compares memento with the SDK's tool.
func (b *bench) measureSDK(ctx context.Context, r *report) error {
	source, err := sourceDir(ctx)
	if err != nil {
		return err
	}
	b.sdkDir = filepath.Join(source, "sdk")
	if r.Machine.Node, err = installSDK(ctx, b.sdkDir); err != nil {
		return err
	}
	r.Machine.SDK = sdkVersion
	if b.binary, err = buildBinary(ctx, filepath.Dir(source), b.work); err != nil {
		return err
	}
	c := &comparison{}
	if c.Rows, c.FsyncFloors, err = b.compare(ctx); err != nil {
		return err
	}
	if c.Binary, err = b.measureBinary(ctx, b.sizes[len(b.sizes)-1]); err != nil {
		return fmt.Errorf("the binary: %w", err)
	}
	if c.HTTP, err = b.measureOverHTTP(ctx); err != nil {
		return fmt.Errorf("over HTTP: %w", err)
	}
	if c.Fleet, err = b.measureFleet(ctx); err != nil {
		return fmt.Errorf("many stores: %w", err)
	}
	c.finish()
	r.SDK = c
	return nil
}

// measureEngines measures what is asked for of the other parts.
func (b *bench) measureEngines(ctx context.Context, r *report) (err error) {
	if b.has(partPostgres) {
		if r.Postgres, err = b.measurePostgres(ctx); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
	}
	if b.has(partS3) {
		if r.S3, err = b.measureObjects(ctx); err != nil {
			return fmt.Errorf("s3: %w", err)
		}
	}
	if b.has(partEncryption) {
		if r.Encryption, err = b.measureEncryption(ctx); err != nil {
			return fmt.Errorf("encryption: %w", err)
		}
	}
	if b.has(partFlatness) {
		if r.Flatness, err = b.measureFlatness(ctx); err != nil {
			return fmt.Errorf("flatness: %w", err)
		}
	}
	return nil
}

// startProfile begins to note where this process's time goes, until stop is called.
func startProfile(file string) (stop func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// sourceDir returns the directory of this package.
func sourceDir(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "memento/bench")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("run it inside memento's source tree: go list: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// buildBinary builds the command as it is released, without cgo.
func buildBinary(ctx context.Context, module, dir string) (string, error) {
	binary := filepath.Join(dir, "memento")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "./cmd/memento")
	build.Dir, build.Stderr = module, os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("go build ./cmd/memento: %w", err)
	}
	return binary, nil
}
