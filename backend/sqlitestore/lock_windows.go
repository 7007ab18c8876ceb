package sqlitestore

import "os"

// lockFile opens a file that SQLite cannot read. No lock is necessary: on Windows, a file
// that another process has open cannot be renamed.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }
