package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"memento"

	"golang.org/x/text/unicode/norm"
)

// refresh makes versions from changes by hand below dir. It takes the lock only if
// something differs from the index.
func (f *folder) refresh(ctx context.Context, dir memento.Path) error {
	ready, err := f.isCurrent(ctx)
	if err != nil {
		return err
	}
	if ready {
		if differs, err := f.differsBelow(ctx, dir); err != nil || !differs {
			return err
		}
	}
	return f.locked(ctx, func() error {
		// It may have been another process that wrote the files.
		if differs, err := f.differsBelow(ctx, dir); err != nil || !differs {
			return err
		}
		return f.reconcile(ctx, false)
	})
}

// isCurrent brings the tree up to date with the index, and reports whether that worked.
// If another process has died during a change, it finishes the change.
func (f *folder) isCurrent(ctx context.Context) (bool, error) {
	m, err := f.lock.mark()
	if err != nil {
		return false, err
	}
	if m.dirty != 0 && f.lock.try() {
		return true, f.withLock(ctx, func() error { return nil })
	}
	if !f.caughtUp.Load() {
		return false, nil
	}
	return f.indexGeneration() == m.generation || f.readIndex() == nil, nil
}

// differsBelow reports whether anything on disk below dir differs from the index.
func (f *folder) differsBelow(ctx context.Context, dir memento.Path) (bool, error) {
	root, ok := f.present()
	if !ok {
		return true, nil
	}
	at, err := f.descend(root, dir)
	if err != nil { // there is no such folder
		return slices.ContainsFunc(f.rowsBelow(dir), func(r *row) bool { return r.path != dir }), nil
	}
	if at != root {
		defer at.Close()
	}
	return f.compare(ctx, at, dir)
}

// descend opens the folder at a path, one name at a time, so that no link is followed. If
// p is Root it returns root itself, which may be nil.
func (f *folder) descend(root *os.Root, p memento.Path) (*os.Root, error) {
	if root == nil {
		return nil, fs.ErrNotExist
	}
	at := root
	if p.IsRoot() {
		return at, nil
	}
	for segment := range p.Segments() {
		next, err := openFolder(at, f.b.traits.diskName(segment))
		if at != root {
			err = errors.Join(err, at.Close())
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// compare compares the open folder dir, whose path is at, with the index.
func (f *folder) compare(ctx context.Context, dir *os.Root, at memento.Path) (differs bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	infos, err := readFolder(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return false, nil // not readable, so nothing can be said
	case isAbsent(err), errors.Is(err, fs.ErrClosed):
		return true, nil // the folder no longer exists
	case err != nil:
		return false, err
	}
	unsure, inner, differs := f.compareNames(infos, at)
	if differs {
		return true, nil
	}
	for _, u := range unsure {
		same, checked := u.row.hasContents(dir, u.info.Name(), u.info)
		if !same {
			return true, nil
		}
		f.confirm(u.row, checked)
	}
	for _, i := range inner {
		next, err := enter(dir, i.info)
		switch {
		case errors.Is(err, fs.ErrPermission):
			continue // not readable, so nothing can be said
		case err != nil:
			return true, nil
		}
		differs, err = f.compare(ctx, next, i.path)
		err = errors.Join(err, next.Close())
		if differs || err != nil {
			return differs, err
		}
	}
	return false, nil
}

type unsureFile struct {
	row  *row
	info fs.FileInfo
}

type innerFolder struct {
	path memento.Path
	info fs.FileInfo
}

// compareNames compares the names in a folder with its rows. It returns the files whose
// contents must be read to be sure, and the folders to descend into.
func (f *folder) compareNames(infos []fs.FileInfo, at memento.Path) (unsure []unsureFile, inner []innerFolder, differs bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n := f.tree.find(f.b.traits, at)
	met := 0 // number of nodes of n found on disk
	for _, info := range infos {
		p, known, ok := f.b.pathOf(at, n, info.Name(), nil)
		if known != nil {
			met++
		}
		switch {
		case !ok && f.toCompose(at, info):
			return nil, nil, true
		case !ok:
			continue // cannot be a memory
		case known == nil && p.IsHidden():
			continue // hidden file of another program
		case info.IsDir():
			if known != nil && known.row != nil {
				return nil, nil, true
			}
			inner = append(inner, innerFolder{p, info})
		case known == nil:
			if classify(info, nil) == file {
				return nil, nil, true
			}
		case known.row == nil, known.row.print != printOf(info):
			return nil, nil, true
		case known.row.status.kind == managed && known.row.racy():
			unsure = append(unsure, unsureFile{known.row, info})
		}
	}
	return unsure, inner, n != nil && met < len(n.inner)
}

// pathOf returns the path of the entry called name in the folder at. n is the node of
// that folder, or nil. inner is the node of the entry, or nil. escaped maps names on disk
// to paths for memories without a node whose name on disk differs from that in their
// path. ok is false if the entry can be neither a memory nor a directory.
func (b *Backend) pathOf(at memento.Path, n *node, name string, escaped map[string]memento.Path) (p memento.Path, inner *node, ok bool) {
	if isTemp(name) {
		return "", nil, false
	}
	if b.traits.composes {
		name = norm.NFC.String(name)
	}
	if n != nil {
		if inner := n.inner[name]; inner != nil {
			return at.Join(inner.segment), inner, true
		}
	}
	if len(escaped) > 0 {
		if p, ok := escaped[string(at.Join(name))]; ok {
			return p, nil, true
		}
	}
	p = at.Join(name)
	if _, err := memento.ParsePath(string(p)); err != nil || b.traits.diskName(name) != name {
		return "", nil, false
	}
	return p, nil, true
}

// unchanged reports whether the file at a path is still what its row r says. If r is nil,
// the index has nothing at that path.
func (f *folder) unchanged(root *os.Root, p memento.Path, r *row) bool {
	if root == nil {
		return r == nil
	}
	name := f.b.traits.diskPath(p)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return true // not readable, so nothing can be said
	case err != nil:
		return r == nil && !errors.Is(err, fs.ErrClosed)
	case r == nil:
		return classify(info, nil) != file || p.IsHidden() || f.isAlias(root, p)
	case r.print != printOf(info):
		return false
	case r.status.kind != managed || !r.racy():
		return true
	}
	same, checked := r.hasContents(root, name, info)
	if same {
		f.confirm(r, checked)
	}
	return same
}

// isAlias reports whether the file found at p, which has no row, is a file with another
// name and a row, because the file system does not tell the two names apart.
func (f *folder) isAlias(root *os.Root, p memento.Path) bool {
	other, ok := f.alias(p)
	if !ok {
		return false
	}
	// The name may have been changed by hand, for example in case only.
	asked := p
	for asked.Depth() > other.Depth() {
		asked = asked.Parent()
	}
	dir, err := f.descend(root, asked.Parent())
	if err != nil {
		return false
	}
	if dir != root {
		defer dir.Close()
	}
	_, spelled, err := f.b.spelling(dir, f.b.traits.diskName(asked.Base()))
	return err == nil && !spelled
}

// spelling returns the entry in dir that the file system finds under name. exact says
// that it is called exactly that.
func (b *Backend) spelling(dir *os.Root, name string) (other string, exact bool, err error) {
	infos, err := readFolder(dir)
	if err != nil {
		return "", false, err
	}
	for _, info := range infos {
		called := info.Name()
		if b.traits.composes {
			called = norm.NFC.String(called)
		}
		switch {
		case called == name:
			return info.Name(), true, nil
		case b.traits.key(called) == b.traits.key(name):
			other = info.Name()
		}
	}
	return other, false, nil
}

// alias returns the path of another file or folder that the file system does not tell
// apart from p, or from a directory above p.
func (f *folder) alias(p memento.Path) (other memento.Path, ok bool) {
	if !f.b.traits.merges() && len(p) < maxName {
		return "", false
	}
	f.mu.Lock() // alike fills a cache in the node
	defer f.mu.Unlock()
	n, at := f.tree, memento.Root
	for segment := range p.Segments() {
		name := f.b.traits.diskName(segment)
		if other, ok := n.alike(f.b.traits, name); ok {
			return at.Join(n.inner[other].segment), true
		}
		if n = n.inner[name]; n == nil {
			return "", false
		}
		if at = at.Join(n.segment); n.segment != segment {
			return at, true
		}
	}
	return "", false
}

// now returns the time in the unit of row.checked.
func now() int64 { return time.Now().UnixNano() }
