//go:build !linux

package privatetemp

// sharedMemory is empty on systems without a file system in memory.
const sharedMemory = ""

func isInMemory(string) bool { return false }
