package storetest

import (
	"maps"

	"memento"
)

// naive has the documents of a store, by a direct implementation of the contract.
type naive map[memento.Path]naiveFile

type naiveFile struct {
	content string
	version int // the number of its newest version
}

func (n naive) clone() naive { return maps.Clone(n) }

// below returns the paths below p in byte order.
func (n naive) below(p memento.Path) []memento.Path {
	below := naive{}
	for q, f := range n {
		if p.Contains(q) {
			below[q] = f
		}
	}
	return sortedPaths(below)
}

// blocked returns the error if no memory can be created at p, where none is.
func (n naive) blocked(p memento.Path) error {
	if len(n.below(p)) > 0 {
		return memento.ErrIsDir
	}
	for q := range n {
		if q.Contains(p) {
			return memento.ErrNotDir
		}
	}
	return nil
}

// fails returns the error if the draft's condition does not hold.
func (n naive) fails(d draft) error {
	f, exists := n[d.path]
	switch d.cond {
	case "absent":
		if exists {
			return memento.ErrExist
		}
	case "hash":
		if !exists || f.content != d.hash {
			return memento.ErrConflict
		}
	case "version":
		if !exists || f.version != d.version {
			return memento.ErrConflict
		}
	}
	return nil
}

func valid(p memento.Path) bool {
	_, err := memento.ParsePath(string(p))
	return err == nil
}

// apply applies the draft. number counts versions.
func (n naive) apply(d draft, number *int) error {
	set := func(p memento.Path, content string) {
		n[p] = naiveFile{content, *number}
		*number++
	}
	if !valid(d.path) || d.kind == "move" && !valid(d.to) {
		return memento.ErrInvalidPath
	}
	old, exists := n[d.path]
	if d.kind == "put" {
		if err := n.fails(d); err != nil {
			return err
		}
		if !exists {
			if err := n.blocked(d.path); err != nil {
				return err
			}
		}
		if !exists || old.content != d.content {
			set(d.path, d.content)
		}
		return nil
	}
	subjects := n.below(d.path)
	if exists {
		subjects = []memento.Path{d.path}
	}
	switch {
	case !exists && len(subjects) > 0 && d.cond != "any":
		return memento.ErrIsDir
	case n.fails(d) != nil:
		return n.fails(d)
	case len(subjects) == 0:
		return memento.ErrNotExist
	}
	if d.kind == "move" {
		_, taken := n[d.to]
		switch {
		case d.rewrites && !exists:
			return memento.ErrIsDir
		case d.path.Contains(d.to) && exists:
			return memento.ErrNotDir
		case d.path.Contains(d.to):
			return memento.ErrInvalidPath
		case taken || len(n.below(d.to)) > 0:
			return memento.ErrExist
		case n.blocked(d.to) != nil:
			return n.blocked(d.to)
		}
	}
	for _, p := range subjects {
		f := n[p]
		delete(n, p)
		switch {
		case d.rewrites:
			set(d.to, d.content)
		case d.kind == "move":
			set(p.Moved(d.path, d.to), f.content)
		default:
			*number++
		}
	}
	return nil
}
