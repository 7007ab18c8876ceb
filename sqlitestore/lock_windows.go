package sqlitestore

import "os"

// lockFile opens a file that SQLite cannot read. There is no need for a lock: what
// another process has open cannot be renamed here.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }
