package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"memento"
)

// A scan is the contents of a store's folder.
type scan struct {
	found          map[memento.Path]found
	unreadableDirs []memento.Path // folders that could not be read
	incomplete     bool           // whether some of them were being replaced
}

// found is a file, or something else that is not a folder.
type found struct {
	name string // on disk, relative to the store's folder
	info fs.FileInfo
}

// sees reports whether the scan covers p.
func (s *scan) sees(p memento.Path) bool {
	for _, dir := range s.unreadableDirs {
		if dir == p || dir.Contains(p) {
			return false
		}
	}
	return true
}

// A scanner walks a store's folder.
type scanner struct {
	f       *folder
	escaped map[string]memento.Path // names on disk that differ from those in paths: see pathOf
	wanted  map[memento.Path]bool   // hidden directories in which the database has memories
	result  *scan
}

// scan reads the names of everything in the folder, and removes temporary files of
// processes that died. heads, if not nil, are the memories that should be there. The
// caller has the lock.
func (f *folder) scan(ctx context.Context, heads map[memento.Path]*memento.Memory) (*scan, error) {
	s := scanner{f: f, result: &scan{found: map[memento.Path]found{}}}
	o := f.opened.Load()
	if o == nil {
		return s.result, nil
	}
	s.prepare(heads)
	return s.result, s.walk(ctx, o.root, memento.Root, "")
}

// prepare collects what the names on disk do not show.
func (s *scanner) prepare(heads map[memento.Path]*memento.Memory) {
	for p := range heads {
		if p.IsHidden() {
			for dir := range p.Ancestors() {
				if s.wanted == nil {
					s.wanted = map[memento.Path]bool{}
				}
				s.wanted[dir] = true
			}
		}
		if s.f.b.traits.diskPath(p) == string(p[1:]) {
			continue
		}
		if s.escaped == nil {
			s.escaped = map[string]memento.Path{}
		}
		at := memento.Root
		for segment := range p.Segments() {
			name := s.f.b.traits.diskName(segment)
			if name != segment {
				s.escaped[string(at.Join(name))] = at.Join(segment)
			}
			at = at.Join(segment)
		}
	}
}

func (s *scanner) walk(ctx context.Context, dir *os.Root, at memento.Path, disk string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	infos, err := readFolder(dir)
	if err != nil {
		return s.noteUnreadable(at, err)
	}
	s.f.mu.RLock()
	n := s.f.tree.find(s.f.b.traits, at)
	s.f.mu.RUnlock()
	for _, info := range infos {
		name := info.Name()
		if isTemp(name) && info.Mode().IsRegular() {
			_ = dir.Remove(name)
			continue
		}
		if info, err = s.compose(dir, at, info); errors.Is(err, fs.ErrNotExist) {
			s.result.incomplete = true
			continue
		} else if err != nil {
			return err
		}
		name = info.Name()
		p, known, ok := s.path(at, n, name)
		if !ok {
			continue
		}
		if !info.IsDir() {
			s.result.found[p] = found{disk + name, info}
			continue
		}
		if known == nil && p.IsHidden() && !s.wanted[p] {
			continue
		}
		if err := s.walkInto(ctx, dir, info, p, disk+name+"/"); err != nil {
			return err
		}
	}
	return nil
}

// path is pathOf under the folder's mutex.
func (s *scanner) path(at memento.Path, n *node, name string) (p memento.Path, known *node, ok bool) {
	s.f.mu.RLock()
	defer s.f.mu.RUnlock()
	return s.f.b.pathOf(at, n, name, s.escaped)
}

func (s *scanner) walkInto(ctx context.Context, dir *os.Root, info fs.FileInfo, at memento.Path, disk string) error {
	inner, err := enter(dir, info)
	if err != nil {
		return s.noteUnreadable(at, err)
	}
	err = s.walk(ctx, inner, at, disk)
	return errors.Join(err, inner.Close())
}

// noteUnreadable records that the folder at a path could not be read. If it was removed,
// the next scan does not find it; this one cannot tell, since another may have replaced
// it.
func (s *scanner) noteUnreadable(at memento.Path, err error) error {
	switch {
	case isAbsent(err), errors.Is(err, errNoFolder):
		s.result.incomplete = true
	case !errors.Is(err, fs.ErrPermission):
		return err
	}
	s.result.unreadableDirs = append(s.result.unreadableDirs, at)
	return nil
}
