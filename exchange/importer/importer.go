// Package importer reads what people already have into a store: a folder of notes, a tar,
// tar.gz or zip file of one, a single note, and what other memory programs export.
//
// [Open] and [OpenReader] look at a source, and [Source.Import] reads it: it compares
// every note with the store, lists all problems at once, and writes everything in one
// change or nothing. Notes that the store has already, with the same contents, are no
// conflict and not written again.
//
// # What is left out
//
// Hidden files and folders, such as ".git" and ".obsidian", excluded ones, links, and
// files that are not UTF-8 text, such as images, are left alone and counted. Names are
// normalised to Unicode form NFC. Everything else that cannot be imported is a [Problem].
//
// # Formats
//
// Besides plain notes, single files of other programs are recognized: see [Format]. They
// become notes of a size that an agent reads at once, in Markdown.
//
// # Hostile sources
//
// No source is trusted. Contents are held only up to the limits of the store; what is read
// is bounded by Options.MaxBytes after decompression, whatever headers say; the number of
// entries and of listed problems is bounded; names that lead out of a source are refused,
// and links are never followed.
package importer

import (
	"errors"
	"fmt"

	"memento"
)

// Options are the options of [Source.Import]; nil means all defaults.
type Options struct {
	// Format is the format of the source; "" means that it is detected.
	Format Format
	// Into is the directory that the notes get; "" means the root of the store.
	Into memento.Path
	// Exclude are patterns of paths in the source that are left out. ParsePattern in
	// internal/notefiles reads them as people write them.
	Exclude []memento.Pattern
	// Hidden includes hidden files and folders, except ".memento".
	Hidden bool
	// Overwrite allows replacing memories that have other contents.
	Overwrite bool
	// Partial imports what can be imported, although there are problems.
	Partial bool
	// DryRun changes nothing.
	DryRun bool
	// MaxBytes is the maximum size that is read, in bytes, after decompression; 0 means
	// 1 GiB. In a folder or a zip file, only what is read of each file counts.
	MaxBytes int64
	// NewLimits are the limits of a store that does not exist yet; the zero value means
	// those of [memento.DefaultLimits].
	NewLimits memento.Limits
	// Progress, if not nil, is called after each file with the number looked at so far
	// and, once it is known, the total; 0 until then.
	Progress func(done, total int)
}

const defaultMaxBytes = 1 << 30

// A Result says what was imported, or would be.
type Result struct {
	Format Format // of the source

	Created   int   // new memories
	Replaced  int   // memories that had other contents
	Unchanged int   // memories that had the same contents already
	Bytes     int64 // of what was created or replaced others

	// Left out, as usual: the numbers of hidden files or folders, of excluded ones, of
	// links and other special files, and of files that are not text, by their extension.
	Hidden, Excluded, Links int
	Other                   map[string]int

	// Problems are those of single files, in the order of the source. At most
	// MaxProblems are listed; MoreProblems counts the rest.
	Problems     []Problem
	MoreProblems int

	// Masked counts, by kind, what looked sensitive and was replaced. With DryRun it is
	// what would be.
	Masked map[string]int
	// Marked counts, by kind, what looked like instructions to a model, as the store's
	// settings ask to mark it.
	Marked map[string]int

	// Usage and Limits are those of the store afterwards.
	Usage  memento.Usage
	Limits memento.Limits
}

// MaxProblems is the number of problems that a Result lists.
const MaxProblems = 1000

// A Problem says why a file cannot be imported.
type Problem struct {
	Name   string // in the source, with slashes
	Reason string // completes the sentence "NAME: …"
	// Err is what it corresponds to: memento.ErrExist, ErrTooLarge, ErrInvalidPath and
	// so on. Never nil.
	Err error
}

// ErrProblems is in each [ProblemsError].
var ErrProblems = errors.New("some files cannot be imported")

// A ProblemsError says that nothing was imported, because of problems that the Result
// lists. It is [ErrProblems], and all of the Err of the problems.
type ProblemsError struct {
	Problems []Problem
	Total    int
}

func (e *ProblemsError) Error() string {
	if e.Total == 1 {
		return "1 file cannot be imported; nothing was changed"
	}
	return fmt.Sprintf("%d files cannot be imported; nothing was changed", e.Total)
}

// Unwrap returns ErrProblems, and the errors of the problems without repetition.
func (e *ProblemsError) Unwrap() []error {
	errs := []error{ErrProblems}
	seen := map[error]bool{}
	for _, p := range e.Problems {
		if !seen[p.Err] {
			seen[p.Err] = true
			errs = append(errs, p.Err)
		}
	}
	return errs
}

func (r *Result) problem(name string, err error, format string, args ...any) {
	if len(r.Problems) >= MaxProblems {
		r.MoreProblems++
		return
	}
	r.Problems = append(r.Problems, Problem{Name: name, Reason: fmt.Sprintf(format, args...), Err: err})
}

func (r *Result) problemsError() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return &ProblemsError{Problems: r.Problems, Total: len(r.Problems) + r.MoreProblems}
}

// A FormatError says what is wrong with a source. It is [memento.ErrInvalid].
type FormatError struct {
	Format Format // "" if it is none of the formats
	Reason string
}

func (e *FormatError) Error() string {
	if e.Format == "" {
		return "cannot be imported: " + e.Reason
	}
	return fmt.Sprintf("cannot be imported as %s: %s", e.Format, e.Reason)
}

func (e *FormatError) Unwrap() error { return memento.ErrInvalid }

func malformed(f Format, format string, args ...any) error {
	return &FormatError{Format: f, Reason: fmt.Sprintf(format, args...)}
}
