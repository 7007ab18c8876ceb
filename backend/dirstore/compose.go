package dirstore

import (
	"errors"
	"io/fs"
	"os"

	"memento"

	"golang.org/x/text/unicode/norm"
)

// Paths have Unicode form NFC. Other programs write names in other forms: macOS, and zip
// files made there, decompose them. Where the file system takes the forms for one name,
// pathOf translates. Where it does not, a file or folder gets the name in NFC once it is
// found, unless something else has that name.

// composedName returns the name in NFC of an entry that would be a memory or directory
// under that name; "" for all others.
func (t traits) composedName(at memento.Path, name string) string {
	if t.composes || norm.NFC.IsNormalString(name) {
		return ""
	}
	composed := norm.NFC.String(name)
	p := at.Join(composed)
	if _, err := memento.ParsePath(string(p)); err != nil || memento.Path("/"+composed).IsHidden() || t.diskName(composed) != composed {
		return ""
	}
	return composed
}

// compose renames an entry to its name in NFC, and returns what it is called now. A name
// that is taken, or a folder that cannot be changed, leaves it as it is.
func (s *scanner) compose(dir *os.Root, at memento.Path, info fs.FileInfo) (fs.FileInfo, error) {
	composed := s.f.b.traits.composedName(at, info.Name())
	if composed == "" || !info.IsDir() && !info.Mode().IsRegular() {
		return info, nil
	}
	if _, err := dir.Lstat(composed); !errors.Is(err, fs.ErrNotExist) {
		s.f.keepName(at, info.Name())
		return info, nil
	}
	if err := dir.Rename(info.Name(), composed); err != nil {
		s.f.keepName(at, info.Name())
		return info, nil
	}
	return dir.Lstat(composed)
}

// keepName remembers a name that could not be changed, so that it is not tried with each
// access.
func (f *folder) keepName(at memento.Path, name string) {
	const most = 10_000
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keptNames == nil || len(f.keptNames) >= most {
		f.keptNames = map[string]bool{}
	}
	f.keptNames[string(at.Join(name))] = true
}

// toCompose reports whether the next scan may rename an entry. The caller holds mu.
func (f *folder) toCompose(at memento.Path, info fs.FileInfo) bool {
	return (info.IsDir() || info.Mode().IsRegular()) && f.b.traits.composedName(at, info.Name()) != "" && !f.keptNames[string(at.Join(info.Name()))]
}
