// Package archive writes a store to a file, or to a folder, and reads it back.
//
// [Write] and [Read] are for moving and for keeping: a tar.gz file with the
// contents of one store and, unless it is left out, its whole history. It can
// be unpacked by any tar, and its memories read without memento.
//
// [WriteFolder] and [ReadFolder] are for working with other programs: plain
// files, contents only.
//
// Whatever is read is taken wholly or not at all, and nothing of what it says is
// trusted: a hostile archive, or folder, gives an error and changes nothing.
//
// # Format
//
// Version 1 is a tar file, compressed with gzip, of regular files in this order:
//
//	memento.json       one object: format, version, and the description of the store
//	memories/…         each memory at its own path, in byte order of path
//	history.jsonl      one version a line, oldest first, with contents
//
// The document docs/archive-format.md has the fields. Readers refuse a version
// that they do not know, an entry that has no place here, and a history that
// does not lead to the memories beside it. Later versions of this package read
// version 1.
package archive

import (
	"time"

	"memento"
)

// The names of an archive's entries.
const (
	manifestName   = "memento.json"
	memoriesPrefix = "memories" // and the memory's path, which starts with a slash
	historyName    = "history.jsonl"
)

// WriteOptions are the options of [Write]; nil means all defaults.
type WriteOptions struct {
	// ContentsOnly leaves the history out.
	ContentsOnly bool
	// TempDir is where more than a few megabytes are put together before they
	// are written; "" means os.TempDir. Only the user can read them there.
	TempDir string
	// Progress, if set, is told after each memory, and each version, how many were written.
	Progress func(done int)
	// Collected, if set, is called once everything was read from the store, before
	// the first byte is written.
	Collected func()
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// ReadOptions are the options of [Read], [Load] and [ReadFolder]; nil means all defaults.
type ReadOptions struct {
	// ContentsOnly takes the memories, as changes of the present by the given
	// actor, and leaves the history. A folder has no other way.
	ContentsOnly bool
	// Overwrite lets contents replace memories that exist. It is for ContentsOnly.
	Overwrite bool
	// MaxBytes is the most that is read, unpacked, in bytes; 0 means 1 GiB. All
	// of it may be held in memory at once.
	MaxBytes int64
	// Progress, if set, is told after each memory, and each version, how many were read.
	Progress func(done int)
	// Reserve, if set, is asked for more bytes of memory as they are needed, those
	// that Import takes included, about. Its error ends Load.
	Reserve func(bytes int64) error
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

const defaultMaxBytes = 1 << 30

func (o *ReadOptions) complete() ReadOptions {
	var c ReadOptions
	if o != nil {
		c = *o
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.Progress == nil {
		c.Progress = func(int) {}
	}
	if c.Reserve == nil {
		c.Reserve = func(int64) error { return nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// A Summary says what was written or read.
type Summary struct {
	Memories int
	Versions int   // 0 if the history was left out
	Bytes    int64 // contents of the memories
	Skipped  []Skipped

	// Masked counts, by kind, what looked sensitive and was replaced before it
	// was written to the store; nil if nothing was. Bytes are those before.
	Masked map[string]int
}

// Skipped is a file in a folder that was not read, or something among the
// memories of a store that was not written.
type Skipped struct {
	Name   string // below the folder or the store, with slashes
	Reason string // completes the sentence "skipped NAME: …"
}

// skip notes something that is no memory.
func (s *Summary) skip(e memento.Entry) {
	s.Skipped = append(s.Skipped, Skipped{Name: string(e.Path[1:]), Reason: "it is not a memory"})
}

// failed is an error of op on a memory, for a cause that is not the store's.
func failed(op string, p memento.Path, err error) error {
	return &memento.Error{Op: op, Path: p, Err: err}
}
