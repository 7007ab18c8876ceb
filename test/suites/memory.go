package main

import (
	"fmt"
	"os"

	"memento/internal/reserve"
)

// memoryFolder is the folder that Linux keeps in main memory.
const memoryFolder = "/dev/shm"

// enoughMemory is how much must be free there for the files of tests, in bytes.
const enoughMemory = 8 << 30

// A memory is a folder in main memory for temporary files, those of the shared servers too.
// Tests there do not wait for the disk at each of some hundred thousand flushes; what a disk
// loses is for the suites faults and crash.
type memory struct{ dir string }

// newMemory makes the folder, if there is enough memory.
func newMemory() *memory {
	if os.Getenv("TMPDIR") != "" || reserve.Free(memoryFolder) < enoughMemory {
		return &memory{}
	}
	dir, err := os.MkdirTemp(memoryFolder, "tests-of-memento-")
	if err != nil {
		return &memory{}
	}
	// PostgreSQL runs as another user.
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		os.Remove(dir)
		return &memory{}
	}
	return &memory{dir}
}

// use makes new temporary files be there until stop is called.
func (m *memory) use() (stop func()) {
	if m.dir == "" {
		return func() {}
	}
	fmt.Println("temporary files are in main memory, in", m.dir)
	os.Setenv("TMPDIR", m.dir)
	return func() { os.Unsetenv("TMPDIR") }
}

func (m *memory) remove() {
	if m.dir != "" {
		os.RemoveAll(m.dir)
	}
}
