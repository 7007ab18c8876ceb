//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// keyDistrust returns why the key in a file must not become the first key of a backend,
// with the next step: another user could have chosen it, and would be the server's
// admin; "" if no other user could. made says that memento itself should have written the
// file, so that nobody else can read it either. A missing file is trusted.
func keyDistrust(path string, made bool) (reason, next string) {
	for _, at := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(at) // a mounted secret is a link
		if err != nil {
			continue
		}
		if sys, ok := info.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() && sys.Uid != 0 {
			return fmt.Sprintf("%s belongs to another user, with the ID %d", at, sys.Uid), "use chown to give it to the user of memento, if you know the key"
		}
		mode := info.Mode()
		switch {
		case mode&0o022 == 0:
		case info.IsDir() && mode&fs.ModeSticky != 0: // users can replace only their own files
		default:
			return fmt.Sprintf("other users can change %s, whose mode is %04o", at, mode.Perm()), "use chmod go-w, if you know the key"
		}
		if made && !info.IsDir() && (mode&0o077 != 0 || !mode.IsRegular()) {
			return fmt.Sprintf("memento has not written %s, whose mode is %04o: it writes key files with mode 0600", at, mode.Perm()), "use chmod 600, if you know the key"
		}
	}
	return "", ""
}
