package privatetemp

import "golang.org/x/sys/unix"

// sharedMemory is a file system in memory that every process can use.
const sharedMemory = "/dev/shm"

// isInMemory reports whether a folder is on a file system that is in memory. What is there
// can still be swapped out.
func isInMemory(path string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return false
	}
	kind := uint32(fs.Type) // of another size on each architecture
	return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
}
