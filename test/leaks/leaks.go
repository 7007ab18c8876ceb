// Package leaks runs the tests of a package, and checks that no goroutine outlives them.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long goroutines have to end after the tests. Package goleak waits less
// than a second, in which a busy machine may not run them at all.
const timeout = time.Minute

// Main is the TestMain of a package: it runs the tests, waits for their goroutines to end,
// calls cleanup unless that is nil, and exits.
func Main(m *testing.M, cleanup func(), ignored ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := check(timeout, ignored...); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines outlive the tests by %v: %v\n", timeout, err)
			code = 1
		}
	}
	if cleanup != nil {
		cleanup()
	}
	os.Exit(code)
}

// check returns an error with the goroutines that are still there after a time.
func check(within time.Duration, ignored ...goleak.Option) (err error) {
	for end := time.Now().Add(within); ; {
		if err = goleak.Find(ignored...); err == nil || time.Now().After(end) {
			return err
		}
	}
}
