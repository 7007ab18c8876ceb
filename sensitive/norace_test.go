//go:build !race

package sensitive_test

const raceEnabled = false
