package sqlitestore

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// describeCode describes SQLite's code of a storage failure. The driver has no names for
// some of these codes.
func describeCode(code sqlite.ResultCode) string {
	words, known := failures[code]
	if !known {
		words = "an input or output error"
	}
	return fmt.Sprintf("%s; SQLite code %d", words, int32(code))
}

// failures are the extended codes of SQLITE_IOERR and SQLITE_CANTOPEN.
//
// Source: https://www.sqlite.org/rescode.html.
var failures = map[sqlite.ResultCode]string{
	10 | 1<<8:  "a read failed",
	10 | 2<<8:  "a read returned less than there should be",
	10 | 3<<8:  "a write failed",
	10 | 4<<8:  "a flush to the medium failed",
	10 | 5<<8:  "a flush of the directory to the medium failed",
	10 | 6<<8:  "a file could not be truncated",
	10 | 7<<8:  "the state of a file could not be read",
	10 | 8<<8:  "a file could not be unlocked",
	10 | 9<<8:  "a file could not be locked for reading",
	10 | 10<<8: "a file could not be removed",
	10 | 12<<8: "there was not enough memory",
	10 | 13<<8: "the permissions of a file could not be checked",
	10 | 14<<8: "a lock could not be checked",
	10 | 15<<8: "a file could not be locked",
	10 | 16<<8: "a file could not be closed",
	10 | 17<<8: "the directory could not be closed",
	10 | 18<<8: "the shared memory file could not be opened",
	10 | 19<<8: "the shared memory file could not be made larger",
	10 | 20<<8: "the shared memory file could not be locked",
	10 | 21<<8: "the shared memory file could not be mapped",
	10 | 22<<8: "a position in a file could not be reached",
	10 | 23<<8: "a file that was to be removed was not there",
	10 | 24<<8: "a file could not be mapped",
	10 | 25<<8: "there is no folder for temporary files",
	10 | 26<<8: "a path could not be converted",
	10 | 32<<8: "the checksum of a page is wrong",
	10 | 33<<8: "a read failed with an error of the medium or its file system",
	10 | 34<<8: "a page could not be read through a mapping",
	14 | 1<<8:  "there is no folder for temporary files",
	14 | 2<<8:  "it is a directory",
	14 | 3<<8:  "its path could not be resolved",
	14 | 4<<8:  "its path could not be converted",
	14 | 6<<8:  "it is a symbolic link",
}
