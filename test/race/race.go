// Package race lets tests repeat less under the race detector, where the same work takes
// several times as long. They repeat less; they never leave a test out.
package race

// Scaled returns n, or raced under the race detector. Each call is for a number of
// repetitions; the test suites print them all.
func Scaled(n, raced int) int {
	if Enabled {
		return raced
	}
	return n
}
