//go:build race

package sensitive_test

const raceEnabled = true
