package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
)

// A BackupWriter is a [memento.Backend] that can copy all that it keeps to one file, from
// which a backend can be restored. Whoever has the file has everything: memories,
// history and the hashes of API keys.
type BackupWriter interface {
	// Backup writes a copy of everything, as it was at one instant between the call
	// and its return, to a new file at path, and checks the copy. What was acknowledged
	// before the call is in it, and of no Apply a part.
	//
	// Others read and write meanwhile, and wait no more than moments for it. The file,
	// which only its owner can read, is there, complete and flushed, once Backup has
	// returned without an error, and otherwise not at all. Nothing is ever overwritten.
	// A process that dies leaves a file beside it, with the end ".partial" and some
	// digits, which can be removed.
	//
	// progress, if it is not nil, is called regularly with the number of bytes copied and
	// their total.
	//
	// Errors: fs.ErrExist if there is something at path; ErrNoSpace, ErrReadOnly; a
	// BackupError if what the backend keeps is damaged.
	Backup(ctx context.Context, path string, progress func(done, total int64)) (BackupSummary, error)
}

// A BackupSummary says what a backup holds.
type BackupSummary struct {
	Size     int64 // of the file, in bytes
	Stores   int64 // in all workspaces
	Memories int64
	Bytes    int64     // sum of their contents
	Versions int64     // of the history
	Keys     int64     // API keys
	NewestAt time.Time // when the newest version was made; zero if there is none
}

// Restored says what was restored.
type Restored struct {
	BackupSummary
	// Kept is the path on the host to which the replaced data was moved; "" if there was
	// none.
	Kept string
}

// ErrInUse says that another process has the data open that is to be replaced.
var ErrInUse = errors.New("is in use by another process")

// A BackupError says what is wrong with a backup, or with the data to be copied.
// It is [memento.ErrFormat].
type BackupError struct {
	// Faults are sentences that name IDs, but neither paths nor contents of memories.
	// There is at least one. A file with many faults has not all of them here.
	Faults []string
}

func (e *BackupError) Error() string {
	text := "not sound: " + e.Faults[0]
	if n := len(e.Faults) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

func (e *BackupError) Unwrap() error { return memento.ErrFormat }
