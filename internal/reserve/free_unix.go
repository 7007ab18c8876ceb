//go:build linux || darwin

package reserve

import "syscall"

// Free returns how many bytes of a file's file system are free for this process, or -1 if
// that is not known. A quota may allow less.
func Free(path string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
