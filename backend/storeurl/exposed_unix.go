//go:build unix

package storeurl

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func exposedFolder(path string) []string {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	found := exposedOwner("folder", path, info)
	// In a sticky folder such as /tmp, users can replace only their own files.
	if mode := info.Mode(); mode&0o022 != 0 && mode&fs.ModeSticky == 0 {
		found = append(found, fmt.Sprintf("other users can change the contents of the folder %s, whose mode is %04o; chmod go-w prevents that", path, mode.Perm()))
	}
	return found
}

func exposedFile(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	found := exposedOwner("file", path, info)
	if mode := info.Mode(); mode&0o026 != 0 {
		found = append(found, fmt.Sprintf("other users can read or change the file %s, whose mode is %04o; chmod 600 prevents that", path, mode.Perm()))
	}
	return found
}

// exposedOwner returns a sentence if a file has another owner, who can do anything with
// it. The administrator can in any case.
func exposedOwner(what, path string, info fs.FileInfo) []string {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(sys.Uid) == os.Geteuid() || sys.Uid == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the %s %s belongs to another user, with the ID %d, who can change it; use chown to give it to the user of memento", what, path, sys.Uid)}
}
