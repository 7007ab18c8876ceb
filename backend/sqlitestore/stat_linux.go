package sqlitestore

import (
	"io/fs"
	"syscall"
	"time"
)

// A dirState identifies a directory and the last change of the names in it.
type dirState struct {
	dev, inode uint64
	modified   int64 // nanoseconds since 1970
}

// statDir returns the state of the directory at path. Each commit calls it, and os.Stat
// takes three times as long.
func statDir(path string) (dirState, error) {
	var st syscall.Stat_t
	for {
		err := syscall.Stat(path, &st)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return dirState{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
		return dirState{dev: uint64(st.Dev), inode: st.Ino, modified: st.Mtim.Nano()}, nil
	}
}

func (d *dirState) isSame(other *dirState) bool { return *d == *other }

func (d *dirState) changed() time.Time { return time.Unix(0, d.modified) }
