// Package needs decides what becomes of a test that needs something that is not
// installed, such as a database server: it is left out, or it fails where
// everything is required.
package needs

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
)

// Variable names the environment variable that makes everything required, if it is
// set. The test suites set it: what is left out must not look as if it passed.
const Variable = "MEMENTO_REQUIRE_SERVICES"

// ErrMissing is in the error of whatever is not installed.
var ErrMissing = errors.New("not installed")

// LeftOut reports whether err says that something is missing that is not required.
func LeftOut(err error) bool {
	return errors.Is(err, ErrMissing) && os.Getenv(Variable) == ""
}

// Check ends the test if there is an error: what needs something that is [LeftOut]
// is skipped, everything else fails.
func Check(t testing.TB, err error) {
	t.Helper()
	switch {
	case LeftOut(err):
		t.Skipf("left out: %v", err)
	case err != nil:
		t.Fatal(err)
	}
}

// LeaveOut runs none of the tests, for a TestMain whose tests all need what err
// says is missing. It returns the exit code. The summary of go test says
// "[no tests to run]"; with -v it has the error, too.
func LeaveOut(m *testing.M, err error) (code int) {
	fmt.Fprintln(os.Stderr, "left out:", err)
	flag.Parse() // otherwise m.Run parses, and overrides what is set here
	err = errors.Join(flag.Set("test.run", "^$"), flag.Set("test.bench", ""), flag.Set("test.fuzz", ""),
		// Without this log go test does not cache the result. A cached one would
		// count as passed after the server was installed or required.
		flag.Set("test.testlogfile", ""))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
