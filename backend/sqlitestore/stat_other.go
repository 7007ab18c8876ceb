//go:build !linux

package sqlitestore

import (
	"io/fs"
	"os"
	"time"
)

// A dirState identifies a directory and the last change of the names in it.
type dirState struct{ info fs.FileInfo }

// statDir returns the state of the directory at path.
func statDir(path string) (dirState, error) {
	info, err := os.Stat(path)
	return dirState{info}, err
}

func (d *dirState) isSame(other *dirState) bool {
	return os.SameFile(d.info, other.info) && d.changed().Equal(other.changed())
}

func (d *dirState) changed() time.Time { return d.info.ModTime() }
