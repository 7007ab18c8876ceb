// Package longtest reports whether tests run in a long run, such as a nightly one.
package longtest

import "os"

// Variable is the environment variable that go run ./test/suites -long sets
// to 1 for the tests that it runs.
const Variable = "MEMENTO_LONG"

// Enabled reports whether this is a long run, in which tests that otherwise take seconds may
// take minutes.
func Enabled() bool { return os.Getenv(Variable) == "1" }

// Scaled returns n, or long in a long run. n and long are counts of repetitions.
func Scaled(n, long int) int {
	if Enabled() {
		return long
	}
	return n
}
