// Package longtest tells tests whether they have the time that nightly runs have.
package longtest

import "os"

// Variable is the environment variable that go run ./internal/suites -long sets
// to 1 for the tests that it runs.
const Variable = "MEMENTO_LONG"

// Enabled reports whether tests are to take minutes for what otherwise takes them
// seconds.
func Enabled() bool { return os.Getenv(Variable) == "1" }

// Scaled returns n, or long in a long run. Each call names a count of repetitions.
func Scaled(n, long int) int {
	if Enabled() {
		return long
	}
	return n
}
