package foldersync

import (
	"cmp"
	"maps"
	"slices"

	"memento"
)

// A Kind is what an [Action] does.
type Kind string

// The kinds of actions.
const (
	Upload         Kind = "upload"           // the memory gets the file's text
	Download       Kind = "download"         // the file gets the memory's text
	Merge          Kind = "merge"            // both get a text with the changes of both
	Conflict       Kind = "conflict"         // the file's text is in a copy, the file gets the memory's text
	DeleteInStore  Kind = "delete_in_store"  // the memory is removed, as the file was
	DeleteInFolder Kind = "delete_in_folder" // the file is removed, as the memory was
	RenameInStore  Kind = "rename_in_store"  // the memory is renamed, as the file was
	RenameInFolder Kind = "rename_in_folder" // the file is renamed, as the memory was
)

// An Action is one thing that a round did, or with Options.DryRun would do.
type Action struct {
	Kind Kind
	Path memento.Path // of the note; of a rename, the new one
	From memento.Path // of a rename, the old path; otherwise ""
	Copy memento.Path // of a Conflict, where the file's text is; otherwise ""

	// New reports whether an Upload or a Download makes the note on that side.
	New bool
	// Kept reports whether the other side had deleted the note: the change was kept.
	Kept bool
	// Masked are secrets that the store has masked. The file keeps them.
	Masked []memento.FindingLocation
}

// A Problem is why a note, or another file, was left alone on both sides.
type Problem struct {
	Path   memento.Path // "" for a file whose name cannot be a path
	Name   string       // of the file, if it is about a file
	Reason string       // completes the sentence "left alone: …"
	Err    error        // the error of the store or of the file system; may be nil

	// Expected reports whether it is about a file that is usually no note, such as an image.
	Expected bool
}

// A Result is what a round did.
type Result struct {
	Uploaded   int // notes that the store got, or whose text it got
	Downloaded int // notes that the folder got, or whose text it got
	Merged     int
	Conflicts  int
	Deleted    int // on either side
	Renamed    int // on either side
	Same       int // notes that are the same on both sides now

	Problems []Problem      // what was left alone, by path
	Pending  []memento.Path // what changed all the time; the next round continues
}

// Actions returns the number of actions.
func (r *Result) Actions() int {
	return r.Uploaded + r.Downloaded + r.Merged + r.Conflicts + r.Deleted + r.Renamed
}

func (r *Result) count(k Kind) {
	switch k {
	case Upload:
		r.Uploaded++
	case Download:
		r.Downloaded++
	case Merge:
		r.Merged++
	case Conflict:
		r.Conflicts++
	case DeleteInStore, DeleteInFolder:
		r.Deleted++
	case RenameInStore, RenameInFolder:
		r.Renamed++
	}
}

// sortProblems returns problems ordered by path and name.
func sortProblems(problems map[memento.Path]Problem) []Problem {
	list := slices.Collect(maps.Values(problems))
	slices.SortFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	return list
}
