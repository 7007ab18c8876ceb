// Package archive writes a store to a file or to a folder, and reads it back.
//
// [Write] and [Read] are for moving and archiving: a tar.gz file with the contents of one
// store and, optionally, its whole history. Any tar program can unpack it, and the
// memories in it can be read without memento.
//
// [WriteFolder] and [UpdateFolder] are for exchange with other programs: plain files,
// contents only. Package importer reads them. [WriteGit] writes the history for Git.
//
// Reading is all or nothing, and no input is trusted: a hostile archive gives an error and
// changes nothing.
//
// # Format
//
// Version 1 is a tar file, compressed with gzip, of regular files in this order:
//
//	memento.json       one object: format, version, and the description of the store
//	memories/…         each memory at its own path, in byte order of path
//	history.jsonl      one version a line, oldest first, with contents
//
// The document docs/archive-format.md has the fields. Readers refuse an unknown version,
// an unknown entry, and a history that does not end with the memories in the archive.
// Later versions of this package read version 1.
package archive

import (
	"time"

	"memento"
)

// The names of an archive's entries.
const (
	manifestName   = "memento.json"
	memoriesPrefix = "memories" // followed by the memory's path, which starts with a slash
	historyName    = "history.jsonl"
)

// WriteOptions are the options of [Write]; nil means all defaults.
type WriteOptions struct {
	// ContentsOnly leaves the history out.
	ContentsOnly bool
	// TempDir is the folder for temporary files, used if there are more than a few
	// megabytes; "" means os.TempDir. Only the user can read them.
	TempDir string
	// Progress, if not nil, is called after each memory and each version with the number
	// read or written so far and, once it is known, the total; 0 until then.
	Progress func(done, total int)
	// Collected, if not nil, is called after everything was read from the store, before
	// the first byte is written.
	Collected func()
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// ReadOptions are the options of [Read] and [Load]; nil means all defaults.
type ReadOptions struct {
	// ContentsOnly reads only the memories, as changes made now by the given actor, and
	// ignores the history.
	ContentsOnly bool
	// Overwrite allows replacing existing memories. It applies to ContentsOnly.
	Overwrite bool
	// MaxBytes is the maximum size read, uncompressed, in bytes; 0 means 1 GiB. All of it
	// may be held in memory at the same time.
	MaxBytes int64
	// Progress, if not nil, is called after each memory and each version with the number
	// read so far.
	Progress func(done int)
	// Reserve, if not nil, is called before about this many more bytes of memory are
	// used, including those that Import needs. If it returns an error, Load returns that.
	Reserve func(bytes int64) error
	// Now returns the time; nil means time.Now.
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
	Versions int   // 0 without a history
	Bytes    int64 // contents of the memories
	Skipped  []Skipped

	// Masked counts, by kind, what looked sensitive and was replaced before it
	// was written to the store; nil if nothing was. Bytes are those before.
	Masked map[string]int
	// Marked counts, by kind, what looked like instructions to a model, as the store's
	// settings ask to mark it.
	Marked map[string]int
}

// Skipped is a file in a store that is not a memory and was not written.
type Skipped struct {
	Name   string // relative to the store, with slashes
	Reason string // completes the sentence "skipped NAME: …"
}

// skip records an entry that is not a memory.
func (s *Summary) skip(e memento.Entry) {
	s.Skipped = append(s.Skipped, Skipped{Name: string(e.Path[1:]), Reason: "it is not a memory"})
}

// failed returns an error of op on a memory that does not come from the store.
func failed(op string, p memento.Path, err error) error {
	return &memento.Error{Op: op, Path: p, Err: err}
}
