package foldersync

import (
	"strings"

	"memento"
	"memento/internal/notefiles"
)

// A base is what both sides had after the last round, without the text.
type base struct {
	row    memento.Path     // in the state file, which a dry run does not change
	sha    string           // of the memory's text
	folder string           // of the file's text if the store has masked it, otherwise ""
	memory memento.MemoryID // by which a rename in the store is known
	merge  *merging         // a merge that was not finished; nil for none
}

// A merging is a merge that was begun.
type merging struct {
	file   string // hash of the file's text
	merged string // hash of the merged text
}

// A file is a note in the folder.
type file struct {
	name string // relative to the folder, with slashes, as on disk
	sha  string // of its text
	hot  bool   // it is perhaps being written just now
}

// A memory is a note in the store.
type memory struct {
	id      memento.MemoryID
	version memento.VersionID
	sha     string
}

// A view is what both sides and the state have at the beginning of a pass.
type view struct {
	base     map[memento.Path]base
	files    map[memento.Path]file
	memories map[memento.Path]memory
	dirs     map[memento.Path]string // names on disk of the folders that have files

	left map[memento.Path]Problem // left alone, with all that is below
	odd  []Problem                // files without a path
}

func newView(rows map[memento.Path]base) *view {
	v := &view{
		base: make(map[memento.Path]base, len(rows)), files: map[memento.Path]file{},
		memories: map[memento.Path]memory{}, dirs: map[memento.Path]string{}, left: map[memento.Path]Problem{},
	}
	for p, b := range rows {
		v.base[p] = b
	}
	return v
}

// leave leaves a path alone, with all that is below it, on both sides.
func (v *view) leave(p Problem) {
	if p.Path == "" {
		v.odd = append(v.odd, p)
		return
	}
	v.left[p.Path] = p
}

// isLeft reports whether a path is left alone.
func (v *view) isLeft(p memento.Path) bool {
	if len(v.left) == 0 {
		return false
	}
	if _, is := v.left[p]; is {
		return true
	}
	for dir := range p.Ancestors() {
		if _, is := v.left[dir]; is {
			return true
		}
	}
	return false
}

// restrict removes what is left alone, hidden or excluded.
func (v *view) restrict(rules *notefiles.Rules) {
	out := func(p memento.Path) bool {
		if v.isLeft(p) {
			return true
		}
		_, reason := rules.Judge(strings.TrimPrefix(string(p), "/"), 0, -1)
		return reason != ""
	}
	for p := range v.memories {
		if out(p) {
			delete(v.memories, p)
		}
	}
	for p := range v.files {
		if out(p) {
			delete(v.files, p)
		}
	}
	for p := range v.base {
		if out(p) {
			delete(v.base, p)
		}
	}
}

// drop removes a path from the view, so that this pass does nothing more about it.
func (v *view) drop(p memento.Path) {
	delete(v.base, p)
	delete(v.files, p)
	delete(v.memories, p)
}
