// Command suites runs all of memento's tests on a machine that has only Go:
//
//	go run ./test/suites            # everything, in minutes
//	go run ./test/suites -long      # with a minute for each fuzz target, and long campaigns of tests
//	go run ./test/suites go race    # only these suites
//
// It installs the Debian packages that some suites need (a C compiler for the
// race detector, strace to make storage fail, Node.js for the TypeScript SDK, Chromium for
// the console, PostgreSQL), as root or with sudo, and builds S3 servers. Where it cannot,
// those suites fail: none is ever skipped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"memento/test/longtest"
	"memento/test/needs"
)

// A suite is one group of tests with one result.
type suite struct {
	name     string
	about    string
	needs    []tool // installed before it runs
	services bool   // whether it needs the servers of package services
	memory   bool   // whether its temporary files are better kept in main memory
	run      func(context.Context, options) error
}

type options struct {
	long bool // for nightly runs
}

// env is added to the environment of tests.
func (o options) env() []string {
	if o.long {
		return []string{longtest.Variable + "=1"}
	}
	return nil
}

// timeout is how long the tests of one package may take.
func (o options) timeout() string {
	if o.long {
		return "3h"
	}
	return "30m"
}

var all = []suite{
	{"format", "gofmt, go mod tidy and go mod verify change nothing", nil, false, false, format},
	{"vet", "go vet and staticcheck are silent, for every system", nil, false, false, vet},
	{"vulnerabilities", "govulncheck finds nothing, where its data is available", nil, false, false, vulnerabilities},
	{"build", "a static binary for Linux, macOS and Windows", nil, false, false, build},
	{"go", "all Go tests", []tool{node, npm, python}, true, true, goTests},
	{"race", "the Go tests under the race detector, with fewer repetitions", []tool{gcc, node, npm, python}, true, true, raceTests},
	{"sdks", "the official SDKs as clients of the server", []tool{node, npm, python, curl}, false, false, sdks},
	{"faults", "failing flushes and full disks, under the real binary", []tool{strace, mount}, false, false, faults},
	{"crash", "power cuts, under SQLite and plain files", []tool{ext4}, false, false, crash},
	{"console", "the web console in a browser, and that its files are what its sources make", []tool{node, npm, chromium}, false, false, consolePages},
	{"deploy", "the files in the folder deploy, with the parsers of what reads them", []tool{systemd}, false, false, deployment},
	{"seededbugs", "each patch that breaks something is caught by its test; only with -long", []tool{ext4, strace, mount, node, npm, python}, true, false, seededBugs},
	{"fuzz", "every fuzz target, for some seconds", nil, false, false, fuzz},
	{"bench", "the comparison with the TypeScript SDK, small", []tool{node, npm}, false, false, bench},
}

// errUnavailable is the result of a suite that cannot run because something outside of
// the project is missing, and that is not required.
var errUnavailable = errors.New("unavailable")

func main() {
	var o options
	flag.BoolVar(&o.long, "long", false, "give each fuzz target a minute, and run long campaigns of tests ("+longtest.Variable+"=1)")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./test/suites [-long] [SUITE…]")
		for _, s := range all {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-16s %s\n", s.name, s.about)
		}
	}
	flag.Parse()
	os.Setenv(needs.Variable, "1") // for all tests: a missing program is a failure
	os.Setenv("CGO_ENABLED", "0")  // so that all but the race detector share what is compiled
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if !runAll(ctx, o, flag.Args()) {
		os.Exit(1)
	}
}

func runAll(ctx context.Context, o options, names []string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s suite) bool { return s.name == name }) {
			fmt.Fprintf(os.Stderr, "suites: there is no suite %q\n", name)
			return false
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(s suite) bool { return len(names) > 0 && !slices.Contains(names, s.name) })
	temporary := newMemory()
	defer temporary.remove() // after the servers have stopped
	var shared *servers
	if slices.ContainsFunc(chosen, func(s suite) bool { return s.services }) {
		shared = prepare(ctx)
		defer func() { shared.stop() }()
	}
	var results []string
	var failed failures
	for _, s := range chosen {
		fmt.Printf("=== %s: %s\n", s.name, s.about)
		start := time.Now()
		leave := func() {}
		if s.memory {
			leave = temporary.use()
		}
		err := install(ctx, s.needs)
		if err == nil && s.services {
			err = shared.start(ctx)
		}
		if err == nil {
			err = s.run(ctx, o)
		}
		leave()
		result := "ok"
		switch {
		case errors.Is(err, errUnavailable):
			result = err.Error()
		case err != nil:
			found := asFailures(err)
			if _, printed := errors.AsType[failures](err); !printed {
				fmt.Println(err)
			}
			result = "FAIL: " + found.Error()
			for _, f := range found {
				failed = append(failed, failure{s.name + ": " + f.name, f.output})
			}
		}
		line := fmt.Sprintf("%-16s %6.1fs  %s", s.name, time.Since(start).Seconds(), result)
		fmt.Println("--- " + line)
		results = append(results, line)
	}
	fmt.Print(report(results, failed))
	return len(failed) == 0
}
