//go:build linux || darwin

package reserve

import "syscall"

// Free returns how many bytes of the file system that a file is on are free for this
// process, or -1 if nobody knows. A quota may leave less.
func Free(path string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
