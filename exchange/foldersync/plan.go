package foldersync

import (
	"maps"
	"slices"

	"memento"
)

// A choice is what to do about one path.
type choice int

const (
	nothing   choice = iota
	advance          // both sides have the same text: it becomes the base
	forget           // both sides have deleted the note
	upload           // create or replace the memory
	download         // create or replace the file
	removeOut        // remove the memory
	removeIn         // remove the file
	both             // merge, or keep both
)

// decide returns what to do about a path, of which b, f and m are what the state, the
// folder and the store have; nil for nothing. kept reports whether a change on one side
// prevails over a deletion on the other.
func decide(b *base, f *file, m *memory) (c choice, kept bool) {
	switch {
	case f == nil && m == nil:
		if b == nil {
			return nothing, false
		}
		return forget, false
	case f != nil && m != nil && f.sha == m.sha:
		if b != nil && b.sha == m.sha && b.memory == m.id && b.folder == "" && b.merge == nil {
			return nothing, false
		}
		return advance, false
	case b == nil && m == nil:
		return upload, false
	case b == nil && f == nil:
		return download, false
	case b == nil:
		return both, false
	}
	inStore := m != nil && m.sha == b.sha // unchanged in the store
	switch {
	// The store has masked this text: there is nothing more to do.
	case inStore && f != nil && f.sha == b.folder:
		return nothing, false
	case f != nil && f.sha == b.sha: // unchanged in the folder
		if m == nil {
			return removeIn, false
		}
		return download, false
	case inStore && f == nil:
		return removeOut, false
	case inStore:
		return upload, false
	case f == nil:
		return download, true
	case m == nil:
		return upload, true
	// The store got the merged text, and then the process ended.
	case b.merge != nil && b.merge.file == f.sha && b.merge.merged == m.sha:
		return download, false
	}
	return both, false
}

// A task is a choice about a path.
type task struct {
	path memento.Path
	choice
	kept bool
}

// plan returns what to do, in the order in which it must be done: deletions come first,
// because a note can become a directory. Within that, tasks are ordered by path.
func (v *view) plan() []task {
	paths := map[memento.Path]struct{}{}
	for p := range v.base {
		paths[p] = struct{}{}
	}
	for p := range v.files {
		paths[p] = struct{}{}
	}
	for p := range v.memories {
		paths[p] = struct{}{}
	}
	var first, rest []task
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		c, kept := decide(at(v.base, p), at(v.files, p), at(v.memories, p))
		switch c {
		case nothing:
		case removeIn, removeOut, forget:
			first = append(first, task{p, c, kept})
		default:
			rest = append(rest, task{p, c, kept})
		}
	}
	return append(first, rest...)
}

// at returns what a map has at a path, or nil.
func at[T any](m map[memento.Path]T, p memento.Path) *T {
	if x, there := m[p]; there {
		return &x
	}
	return nil
}

// A rename is one that was made on one side, and is to be made on the other.
type rename struct {
	from, to memento.Path // by the state
	file     memento.Path // where the file is
	where    renamed
}

type renamed int

const (
	inFolder renamed = iota // the file was renamed
	inStore                 // the memory was renamed
	inBoth                  // both were, to the same path
)

// renames returns the renames that can be made now. After they were made, there can be
// others, whose new paths were taken before.
func (v *view) renames() []rename {
	byID := map[memento.MemoryID]memento.Path{}
	for p, m := range v.memories {
		byID[m.id] = p
	}
	files := v.renamedFiles()
	var list []rename
	taken := map[memento.Path]bool{}
	for _, p := range slices.Sorted(maps.Keys(v.base)) {
		if r := v.renameOf(p, byID, files[p]); r.to != "" && !taken[r.to] {
			taken[r.to] = true
			list = append(list, r)
		}
	}
	return list
}

// renameOf returns the rename of the note whose old path is p; its new path is "" if there
// is none. fileTo is the new path of its file, or "".
func (v *view) renameOf(p memento.Path, byID map[memento.MemoryID]memento.Path, fileTo memento.Path) rename {
	b := v.base[p]
	f, m := at(v.files, p), at(v.memories, p)
	memoryTo := byID[b.memory]
	if _, known := v.base[memoryTo]; known || memoryTo == p {
		memoryTo = ""
	}
	free := memoryTo != "" && at(v.files, memoryTo) == nil
	switch {
	case memoryTo != "" && memoryTo == fileTo:
		return rename{p, memoryTo, fileTo, inBoth}
	case free && f != nil:
		return rename{p, memoryTo, p, inStore}
	case free && fileTo != "": // to different paths: the one in the store stays
		return rename{p, memoryTo, fileTo, inStore}
	case fileTo != "" && m != nil && m.id == b.memory && at(v.memories, fileTo) == nil:
		return rename{p, fileTo, fileTo, inFolder}
	}
	return rename{}
}

// renamedFiles returns, for each path whose file is gone, where a file with the same text
// is new, if there is no doubt about it.
func (v *view) renamedFiles() map[memento.Path]memento.Path {
	gone, new := map[string][]memento.Path{}, map[string][]memento.Path{}
	for p, b := range v.base {
		if _, there := v.files[p]; !there {
			gone[b.fileSHA()] = append(gone[b.fileSHA()], p)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	for p, f := range v.files {
		if _, known := v.base[p]; !known {
			new[f.sha] = append(new[f.sha], p)
		}
	}
	found := map[memento.Path]memento.Path{}
	for sha, from := range gone {
		if to := new[sha]; len(from) == 1 && len(to) == 1 && sha != emptySHA {
			found[from[0]] = to[0]
		}
	}
	return found
}

// emptySHA is the hash of an empty text, which says nothing about where it comes from.
var emptySHA = memento.HashContent("")

// fileSHA returns the hash that the file had after the last round.
func (b *base) fileSHA() string {
	if b.folder != "" {
		return b.folder
	}
	return b.sha
}
