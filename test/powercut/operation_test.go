//go:build linux

package powercut

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"memento"
)

// Files are the memories of a writer: contents by store and path, as in "default:/w3/a".
type files map[string]string

// An operation is one call of one writer.
type operation struct {
	Writer   int
	N        int // counted from 1 in each process
	Kind     string
	Store    string
	Path, To string            `json:",omitempty"`
	Text     string            `json:",omitempty"`
	Old      string            `json:",omitempty"`
	Puts     map[string]string `json:",omitempty"` // of a batch: contents by path
}

// The kinds of operations.
const (
	opCreate      = "create"
	opReplace     = "str_replace"
	opInsert      = "insert"
	opRename      = "rename" // of a file or a directory
	opDelete      = "delete" // likewise
	opBatch       = "batch"  // several files, and the removal of Path, as one
	opLog         = "log"    // a line in the memory that all writers share
	opDeleteStore = "delete store"
)

// sharedLog is the memory that all writers of a store insert lines into.
const sharedLog = "/shared/log"

// An effect is a version that an operation creates.
type effect struct {
	Store, Path string
	SHA256      string // "" if the memory is deleted
}

// apply applies the operation to files, and returns the versions it creates.
func (o operation) apply(f files) (made []effect) {
	put := func(path, text string) {
		f[o.Store+":"+path] = text
		made = append(made, effect{o.Store, path, memento.HashContent(text)})
	}
	remove := func(path string) {
		delete(f, o.Store+":"+path)
		made = append(made, effect{Store: o.Store, Path: path})
	}
	switch key := o.Store + ":" + o.Path; o.Kind {
	case opCreate:
		put(o.Path, o.Text)
	case opReplace:
		put(o.Path, strings.Replace(f[key], o.Old, o.Text, 1))
	case opInsert:
		first, rest, _ := strings.Cut(f[key], "\n")
		put(o.Path, first+"\n"+o.Text+"\n"+rest)
	case opRename:
		for _, path := range f.below(o.Store, o.Path) {
			text := f[o.Store+":"+path]
			delete(f, o.Store+":"+path)
			put(o.To+strings.TrimPrefix(path, o.Path), text)
		}
	case opDelete:
		for _, path := range f.below(o.Store, o.Path) {
			remove(path)
		}
	case opBatch:
		remove(o.Path)
		for path, text := range o.Puts {
			put(path, text)
		}
	case opDeleteStore:
		for path := range f.of(o.Store) {
			delete(f, o.Store+":"+path)
		}
	}
	return made
}

// of returns the files of a store, by path.
func (f files) of(store string) files {
	of := files{}
	for key, text := range f {
		if path, ok := strings.CutPrefix(key, store+":"); ok {
			of[path] = text
		}
	}
	return of
}

// below returns the paths of a file, or of all files in a directory.
func (f files) below(store, path string) (paths []string) {
	for p := range f.of(store) {
		if p == path || strings.HasPrefix(p, path+"/") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// A chooser generates the operations of one writer.
type chooser struct {
	writer int
	store  string
	cycle  int
	n      int
	r      *rand.Rand
	files  files
}

// catalogueWriter is the writer that creates and deletes stores.
const catalogueWriter = writers + 1

// next returns an operation that must succeed.
func (c *chooser) next() operation {
	c.n++
	o := operation{Writer: c.writer, N: c.n, Store: c.store}
	paths := slices.Sorted(maps.Keys(c.files.of(c.store)))
	token := fmt.Sprintf("token %d-%d-%d;", c.writer, c.cycle, c.n)
	// Names recur, so that deleted files are created again.
	name := func() string {
		return fmt.Sprintf("/w%d/d%d/f%d.md", c.writer, c.r.IntN(3), c.r.IntN(4))
	}
	free := func() string {
		for range 20 {
			p := name()
			if c.files[c.store+":"+p] == "" {
				return p
			}
		}
		return fmt.Sprintf("/w%d/n%d.md", c.writer, c.cycle*100000+c.n)
	}
	kind := c.r.IntN(100)
	if c.writer == catalogueWriter && len(paths) > 0 && kind < 25 {
		o.Kind = opDeleteStore
		c.store = fmt.Sprintf("temporary-%d-%d", c.cycle, c.n)
		return o
	}
	if len(paths) == 0 || len(paths) < 10 && kind < 30 {
		o.Kind, o.Path, o.Text = opCreate, free(), token+"\n"+strings.Repeat("filling\n", c.r.IntN(40))
		if kind%5 == 0 && len(paths) > 0 { // equal to another file, now or before
			o.Text = c.files[c.store+":"+paths[c.r.IntN(len(paths))]]
		}
		return o
	}
	o.Path = paths[c.r.IntN(len(paths))]
	text := c.files[c.store+":"+o.Path]
	dir := o.Path[:strings.LastIndex(o.Path, "/")]
	switch {
	case kind < 45:
		o.Kind = opReplace
		o.Old, _, _ = strings.Cut(text, "\n")
		o.Text = token
	case kind < 55:
		o.Kind, o.Text = opInsert, "line of "+token
	case kind < 68:
		o.Kind, o.To = opRename, free()
	case kind < 75 && strings.Count(dir, "/") > 1:
		o.Kind, o.Path = opRename, dir
		o.To = fmt.Sprintf("/w%d/r%d", c.writer, c.cycle*100000+c.n)
		for i := range 3 { // possibly a name used before
			if p := fmt.Sprintf("/w%d/d%d", c.writer, i); len(c.files.below(c.store, p)) == 0 {
				o.To = p
			}
		}
	case kind < 83:
		o.Kind = opDelete
	case kind < 86 && strings.Count(dir, "/") > 1:
		o.Kind, o.Path = opDelete, dir
	case kind < 93 || c.writer == catalogueWriter:
		o.Kind = opBatch
		a, b := free(), free()
		o.Puts = map[string]string{a: token + " a\n", b: token + " b\n"}
	default:
		o.Kind, o.Path, o.Text = opLog, sharedLog, token
	}
	return o
}
