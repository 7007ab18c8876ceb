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

// errMoved says that the file at the path of the database is not the one that was opened.
var errMoved = fmt.Errorf("%w: the database file was removed or replaced while it was open; restart the programs that use it", memento.ErrUnavailable)

// A fileIdentity identifies an open file and its log. If another process removes or
// replaces either, an open connection keeps writing to files without a name: SQLite does
// not notice, and everything is lost when they are closed.
type fileIdentity struct {
	path       string
	dir        string // the folder of path
	file       fs.FileInfo
	log        fs.FileInfo              // nil if there was none
	checkedDir atomic.Pointer[dirState] // the directory when both names were last checked, if its time is old enough to show later changes
}

// dirTimeGranularity returns how far apart two changes to a directory must be to have
// different times. t is the directory's time. The result is 2 s if times are in whole
// seconds, as on FAT, and otherwise several ticks of the kernel's clock for files.
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

// addLog adds the log of the file, which exists by now.
func (i *fileIdentity) addLog() {
	if info, err := os.Stat(i.path + "-wal"); err == nil {
		i.log = info
	}
}

// check returns errMoved if there is another file or another log at the path. As long as
// the names in the directory do not change, this takes one system call.
func (i *fileIdentity) check() error {
	dir, err := statDir(i.dir)
	if err != nil {
		return errMoved
	}
	if seen := i.checkedDir.Load(); seen != nil && seen.isSame(&dir) {
		return nil
	}
	if !isAt(i.path, i.file) || i.log != nil && !isAt(i.path+"-wal", i.log) {
		return errMoved
	}
	if made := dir.changed(); time.Since(made) > dirTimeGranularity(made) {
		seen := dir // a copy, so that dir itself is not allocated each time
		i.checkedDir.Store(&seen)
	}
	return nil
}

func isAt(path string, opened fs.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(opened, now)
}
