// Bench compares memento with the TypeScript SDK's local memory tool,
// BetaLocalFilesystemMemoryTool, on the same calls, the same machine and the same
// file system, in one run. It also measures views over HTTP next to a bare handler,
// what encryption costs, and calls over the Model Context Protocol next to other servers.
// README.md says how, and what is unfair to whom.
//
//	go run ./test/bench
//
// It needs node and npm, and fetches the SDK with `npm ci` when it first runs.
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
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if file := os.Getenv(baselineEnv); file != "" {
		fmt.Fprintln(os.Stderr, "bench:", serveBaseline(file))
		os.Exit(1)
	}
	if os.Getenv(echoEnv) != "" {
		if err := serveEcho(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
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

// The parts of a run.
const (
	partSDK        = "sdk"
	partHTTP       = "http"
	partEncryption = "encryption"
	partMCP        = "mcp"
	partSearch     = "search"
	partLarge      = "large"
)

var (
	allParts = []string{partSDK, partHTTP, partEncryption, partMCP, partSearch, partLarge}

	// defaultParts need nothing that is not in the repository.
	defaultParts = []string{partSDK, partHTTP, partEncryption, partMCP}
)

// A config is what the command line asks for.
type config struct {
	parts   []string
	sizes   []int // of the stores, in files, ascending
	callers []int // ascending
	rounds  int   // counted ones, after a warm-up
	seed    uint64
	quick   bool
	dir     string // where the stores are created

	data    []string // folders of data sets, for the part search
	engines []string // that the part search measures
}

// A bench is one run.
type bench struct {
	config
	work     string    // an empty directory of its own
	sdkDir   string    // of the Node program
	mcpDir   string    // of the other MCP server
	binary   string    // the built command
	progress io.Writer // for people
}

func parseArgs(args []string, stderr io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	parts := f.String("part", strings.Join(defaultParts, ","), "`parts` to run")
	sizes := f.String("sizes", "20,1000,10000", "sizes of the stores, in `files`")
	callers := f.String("callers", "1,16", "`numbers` of concurrent callers")
	f.IntVar(&c.rounds, "rounds", 5, "counted `rounds`; the tables have their median")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the generated calls")
	f.BoolVar(&c.quick, "quick", false, "a few seconds: one round of few calls on stores of 20 and 200 files; proves that it runs, not how fast")
	f.StringVar(&c.dir, "dir", ".", "`directory` in whose file system the stores are created, and removed afterwards")
	f.Func("data", "for the parts search and large: a `folder` with corpus.jsonl, queries.jsonl and qrels.tsv; may be repeated", func(folder string) error {
		c.data = append(c.data, folder)
		return nil
	})
	engines := f.String("engines", "memory,sqlite,fts5,fts5-porter", "for the parts search and large: `engines`, and what they are compared with; of search also files, encrypted, postgres, s3, and tsvector for PostgreSQL's own ranking; of large also postgres")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.engines = strings.Split(*engines, ",")
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if c.quick && !given["sizes"] {
		*sizes = "20,200"
	}
	if c.quick && !given["rounds"] {
		c.rounds = 1
	}
	for part := range strings.SplitSeq(*parts, ",") {
		if !slices.Contains(allParts, part) {
			return c, fmt.Errorf("-part: %q is none of %s", part, strings.Join(allParts, ", "))
		}
		c.parts = append(c.parts, part)
	}
	var err1, err2 error
	c.sizes, err1 = parseNumbers("sizes", *sizes)
	c.callers, err2 = parseNumbers("callers", *callers)
	switch {
	case err1 != nil || err2 != nil:
		return c, errors.Join(err1, err2)
	case f.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.rounds < 1:
		return c, fmt.Errorf("-rounds is %d; it must be at least 1", c.rounds)
	}
	return c, nil
}

// parseNumbers parses a comma-separated list of positive numbers, and sorts it.
func parseNumbers(name, list string) ([]int, error) {
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
	source, err := sourceDir(ctx)
	if err != nil {
		return err
	}
	b := &bench{config: cfg, work: dir, sdkDir: filepath.Join(source, "sdk"), mcpDir: filepath.Join(source, "mcp"), progress: stderr}
	if slices.ContainsFunc(b.parts, func(part string) bool { return slices.Contains(defaultParts, part) }) {
		if b.binary, err = buildBinary(ctx, filepath.Join(source, "..", ".."), dir); err != nil {
			return err
		}
	}
	r := &report{machine: describeMachine(dir), rounds: cfg.rounds, quick: cfg.quick}
	for _, part := range b.parts {
		switch part {
		case partSDK:
			err = b.measureSDK(ctx, r)
		case partHTTP:
			err = b.benchmarkHTTP(ctx, r)
		case partEncryption:
			err = b.compareEncryption(ctx, r)
		case partMCP:
			err = b.benchmarkMCP(ctx, r)
		case partSearch:
			err = b.measureSearch(ctx, r)
		case partLarge:
			err = b.measureLarge(ctx, r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return r.write(stdout)
}

func (b *bench) measureSDK(ctx context.Context, r *report) (err error) {
	if r.machine.node, err = installSDK(ctx, b.sdkDir); err != nil {
		return err
	}
	r.machine.sdk = true
	if err := b.compareWithSDK(ctx, r); err != nil {
		return err
	}
	return b.measureStartup(ctx, r)
}

// counts returns how many calls a step has. A directory view takes the SDK a time
// proportional to the number of files, so there are fewer of them.
func (b *bench) counts(size, callers int) counts {
	switch {
	case b.quick:
		return counts{views: 64, dirs: callers, writes: 64}
	case callers == 1:
		return counts{views: 2000, dirs: max(1, 2000/size), writes: 320}
	}
	return counts{views: 4000, dirs: max(callers, 2000/size), writes: 960}
}

// readTime is how long an operation that changes nothing is repeated, so that a fast
// one is measured for long enough.
func (b *bench) readTime() time.Duration {
	if b.quick {
		return 10 * time.Millisecond
	}
	return 250 * time.Millisecond
}

func (b *bench) fsyncTime() time.Duration {
	if b.quick {
		return 50 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// sourceDir returns the directory of this package.
func sourceDir(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "memento/test/bench")
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
