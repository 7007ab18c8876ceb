package dirstore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"memento"
)

// prepare examines the files that changes are about, makes versions from changes by hand
// there, and refuses changes that would damage unmanaged files. The caller has the lock.
func (f *folder) prepare(ctx context.Context, list []memento.Change) error {
	const several = 20 // from here on it is faster to compare everything
	differs := false
	var err error
	if len(list) > several {
		differs, err = f.differsBelow(ctx, memento.Root)
	} else {
		for _, c := range list {
			if differs, err = f.differsFor(ctx, c); differs || err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	if differs {
		if err := f.reconcile(ctx, false); err != nil {
			return err
		}
	}
	if err := f.refusePostponed(list); err != nil {
		return err
	}
	return f.refuse(list)
}

// pathsOf returns the paths of a change: to has those that it writes to, from has those
// that it removes. Invalid paths are left out: the database refuses them.
func pathsOf(c memento.Change) (to, from []memento.Path) {
	switch c := c.(type) {
	case memento.Put:
		to = append(to, c.Path)
	case memento.Remove:
		from = append(from, c.Path)
	case memento.Move:
		to, from = append(to, c.To), append(from, c.From)
	}
	invalid := func(p memento.Path) bool {
		_, err := memento.ParsePath(string(p))
		return err != nil
	}
	return slices.DeleteFunc(to, invalid), slices.DeleteFunc(from, invalid)
}

// differsFor reports whether any file that a change is about differs from the index.
func (f *folder) differsFor(ctx context.Context, c memento.Change) (bool, error) {
	root, ok := f.present()
	if !ok {
		return true, nil
	}
	to, from := pathsOf(c)
	_, isPut := c.(memento.Put)
	for _, p := range slices.Concat(to, from) {
		if !f.unchanged(root, p, f.row(p)) {
			return true, nil
		}
		for dir := range p.Ancestors() {
			if !f.unchanged(root, dir, f.row(dir)) {
				return true, nil
			}
		}
		if isPut && f.row(p) != nil {
			continue
		}
		if differs, err := f.differsBelow(ctx, p); differs || err != nil {
			return differs, err
		}
	}
	return false, nil
}

// refuse returns an error if a change affects an unmanaged file, or would write to the
// file of another memory.
func (f *folder) refuse(list []memento.Change) error {
	var came []memento.Path
	for _, c := range list {
		to, from := pathsOf(c)
		op := "put"
		switch c.(type) {
		case memento.Remove:
			op = "remove"
		case memento.Move:
			op = "move"
		}
		for _, p := range from {
			if err := f.checkManaged(op, p); err != nil {
				return err
			}
			for _, r := range f.rowsBelow(p) {
				if r.status.kind != managed {
					return foreign(op, r.path, r.status.reason)
				}
			}
		}
		for _, p := range to {
			other, aliased := f.alias(p)
			if aliased && !leaves(list, other) {
				return errSame(op, p, other)
			}
			if other, ok := f.aliasAmong(came, p); ok {
				return errSame(op, p, other)
			}
			if f.b.traits.merges() {
				came = append(came, p)
			}
			if err := f.checkManaged(op, p); err != nil {
				return err
			}
			if aliased {
				continue // what is there is removed by these changes
			}
			if err := f.obstacle(op, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaves reports whether one of the changes removes what is at p, or all that is below
// it.
func leaves(list []memento.Change, p memento.Path) bool {
	for _, c := range list {
		_, from := pathsOf(c)
		for _, gone := range from {
			if gone == p || gone.Contains(p) {
				return true
			}
		}
	}
	return false
}

// aliasAmong returns one of the paths that the file system does not tell apart from p, or
// from a directory above it.
func (f *folder) aliasAmong(paths []memento.Path, p memento.Path) (memento.Path, bool) {
	for _, other := range paths {
		a, b := slices.Collect(other.Segments()), slices.Collect(p.Segments())
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				continue
			}
			t := f.b.traits
			if t.key(t.diskName(a[i])) == t.key(t.diskName(b[i])) {
				return other, true
			}
			break
		}
	}
	return "", false
}

// checkManaged returns an error if the index has an unmanaged file at or above a path.
func (f *folder) checkManaged(op string, p memento.Path) error {
	if !f.hasUnmanaged() {
		return nil
	}
	at := p
	for ; !at.IsRoot(); at = at.Parent() {
		if r := f.row(at); r != nil && r.status.kind != managed {
			return foreign(op, at, r.status.reason)
		}
	}
	return nil
}

// obstacle returns an error if something on disk at or above a path is neither a folder
// nor a memory's file. A folder at the path itself is an obstacle if it contains anything
// that is not in the database.
func (f *folder) obstacle(op string, p memento.Path) error {
	o := f.opened.Load()
	if o == nil {
		return nil
	}
	dir, at := o.root, memento.Root
	defer func() {
		if dir != o.root {
			dir.Close()
		}
	}()
	for segment := range p.Segments() {
		at = at.Join(segment)
		info, err := dir.Lstat(f.b.traits.diskName(segment))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			if r := f.row(at); r == nil {
				return foreign(op, at, obstacleReason(at, info))
			}
			return nil // the database returns the right error
		}
		next, err := enter(dir, info)
		switch {
		case isAbsent(err), errors.Is(err, errNoFolder):
			return foreign(op, at, "it was just replaced")
		case err != nil:
			return err
		}
		if dir != o.root {
			dir.Close()
		}
		dir = next
	}
	if f.row(p) == nil && len(f.rowsBelow(p)) == 0 && !isEmpty(dir) {
		return foreign(op, p, "a folder with other files is in its place")
	}
	return nil
}

func obstacleReason(p memento.Path, info fs.FileInfo) string {
	if classify(info, nil) == file && p.IsHidden() {
		return "a hidden file of another program is in its place"
	}
	return kindReason(info)
}

// hasListedBelow reports whether there are listed unmanaged files below p.
func (f *folder) hasListedBelow(p memento.Path) bool { return len(f.listedBelow(p)) > 0 }

// listedBelow returns the listed unmanaged files below dir, ordered by path.
func (f *folder) listedBelow(dir memento.Path) (listed []*row) {
	if !f.hasUnmanaged() {
		return nil
	}
	for _, r := range f.rowsBelow(dir) {
		if r.listed() && dir.Contains(r.path) {
			listed = append(listed, r)
		}
	}
	slices.SortFunc(listed, func(a, b *row) int { return cmp.Compare(a.path, b.path) })
	return listed
}
