package sqlitestore

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"memento"
)

// errMoved says that what is at the path of the database is not what was opened.
var errMoved = fmt.Errorf("%w: the database file was removed or replaced while it was open; restart the programs that use it", memento.ErrUnavailable)

// An identity is of a file that is open, and of its log. Whoever removes or replaces
// either leaves an open connection with files that have no name: SQLite goes on
// writing to them, and all of it is gone when they are closed.
type fileIdentity struct {
	path       string
	dir        string // the folder of path
	file       fs.FileInfo
	log        fs.FileInfo                 // nil if there was none
	checkedDir atomic.Pointer[fs.FileInfo] // with these names in it, as of a time that its own tells from later ones
}

// tick is how far apart two changes to a folder must be for its time, of which t is one,
// to show both: 2 s where times are of whole seconds, as FAT has them, and otherwise
// several ticks of the clock by which a kernel dates changes.
func dirTimeGranularity(t time.Time) time.Duration {
	if t.Nanosecond() == 0 {
		return 2100 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// identify returns the identity of the file at path, without its log.
//
// Errors: those of [os.Stat], without the path.
func identify(path string) (*fileIdentity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	return &fileIdentity{path: path, dir: filepath.Dir(path), file: info}, nil
}

// addLog makes the log of the file, which is open by now, part of its identity.
func (i *fileIdentity) addLog() {
	if info, err := os.Stat(i.path + "-wal"); err == nil {
		i.log = info
	}
}

// check returns errMoved if the path has another file by now, or another log. As long
// as the names in their folder do not change, it takes one call of the operating system.
func (i *fileIdentity) check() error {
	dir, err := os.Stat(i.dir)
	if err != nil {
		return errMoved
	}
	if seen := i.checkedDir.Load(); seen != nil && os.SameFile(*seen, dir) && dir.ModTime().Equal((*seen).ModTime()) {
		return nil
	}
	if !isAt(i.path, i.file) || i.log != nil && !isAt(i.path+"-wal", i.log) {
		return errMoved
	}
	if made := dir.ModTime(); time.Since(made) > dirTimeGranularity(made) {
		i.checkedDir.Store(&dir)
	}
	return nil
}

func isAt(path string, opened fs.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(opened, now)
}
