package dirstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memento"
)

// A Layout says where in the folder the memories of the store named "default" are.
type Layout string

// The layouts.
const (
	// LayoutFound is the one that the folder has. A folder that memento has not seen
	// before gets LayoutRoot if it looks like notes of another program, and
	// LayoutMemories otherwise.
	LayoutFound Layout = ""
	// LayoutMemories is the one that the local tools of Anthropic's SDKs have: memories
	// are in the folder "memories".
	LayoutMemories Layout = "memories"
	// LayoutRoot is for folders of other programs, such as an Obsidian vault: all of the
	// folder is the store, except hidden names. Memento's own files, and those of other
	// stores, are in the hidden folder.
	LayoutRoot Layout = "."
)

// Names of LayoutRoot. Its files have a place of their own in the hidden folder, so that
// earlier versions of memento, which do not know it, find no store and change nothing.
const (
	rootFolder      = "root"       // in hiddenFolder: all of memento's own files
	rootOtherStores = "stores-of"  // in rootFolder: what is otherFolders elsewhere
	gitignore       = ".gitignore" // in hiddenFolder, so that version control leaves it out
)

// A place says where a backend keeps what is not in its database.
type place struct {
	inPlace bool   // LayoutRoot
	hidden  string // path of the folder with memento's own files, relative to base
	home    string // location of the store named default
	others  string // location of the folders of other stores, relative to base
}

func placeOf(inPlace bool) place {
	if inPlace {
		hidden := hiddenFolder + "/" + rootFolder
		return place{true, hidden, ".", hidden + "/" + rootOtherStores}
	}
	return place{false, hiddenFolder, defaultFolder, otherFolders}
}

// choosePlace returns the place for a folder that is being opened, and a note about it
// for the user, if there is something to say.
func (b *Backend) choosePlace(want Layout, name string) (place, string, error) {
	has := func(name string) bool {
		_, err := b.base.Lstat(name)
		return err == nil
	}
	isRoot := has(hiddenFolder + "/" + rootFolder)
	hasMemories := has(hiddenFolder+"/"+dbFile) || has(defaultFolder) && !isRoot
	switch want {
	case LayoutRoot:
		if !isRoot && has(hiddenFolder+"/"+dbFile) {
			return place{}, "", fmt.Errorf(`%w: the memories of this folder are in its folder "memories", with their history; open it without root`, memento.ErrInvalid)
		}
		return placeOf(true), "", nil
	case LayoutMemories:
		if isRoot {
			return place{}, "", fmt.Errorf("%w: this folder was opened as a store by itself before; open it with that root, or without any", memento.ErrInvalid)
		}
		return placeOf(false), "", nil
	case LayoutFound:
	default:
		return place{}, "", fmt.Errorf(`%w: the layout of a folder is "memories" or "."`, memento.ErrInvalid)
	}
	switch {
	case isRoot:
		return placeOf(true), "", nil
	case hasMemories || has(otherFolders):
		if !has(defaultFolder) && b.hasNotes() {
			return placeOf(false), fmt.Sprintf(`%s has files but no folder "memories", where memento expects memories; to use its files as they are, move .memento away and add ?root=. to the URL`, name), nil
		}
		return placeOf(false), "", nil
	case b.looksLikeNotes():
		return placeOf(true), fmt.Sprintf(`%s is a folder of notes: each becomes a memory where it is, with its history in .memento; ?root=memories would use the folder "memories" in it instead`, name), nil
	case b.hasNotes():
		return placeOf(false), fmt.Sprintf(`%s has files, but does not look like a folder of notes, so memories go to its folder "memories"; to use its files as memories, add ?root=. to the URL`, name), nil
	}
	return placeOf(false), "", nil
}

// openHidden opens the folder with memento's own files.
func (b *Backend) openHidden() error {
	at := b.base
	for name := range strings.SplitSeq(b.place.hidden, "/") {
		next, err := b.makeFolder(at, name)
		if at != b.base {
			err = errors.Join(err, at.Close())
		}
		if errors.Is(err, errNoFolder) {
			return notFolder(b.place.hidden, err)
		}
		if err != nil {
			return err
		}
		at = next
	}
	b.hidden = at
	if !b.place.inPlace {
		return nil
	}
	ignored := hiddenFolder + "/" + gitignore
	if _, err := b.base.Lstat(ignored); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := b.base.WriteFile(ignored, []byte("*\n"), ownMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// openScratch opens a temporary folder instead of the one with memento's own files.
func (b *Backend) openScratch() (err error) {
	if b.scratch, err = os.MkdirTemp("", "memento-reading-"); err != nil { // mode 0700
		return err
	}
	b.hidden, err = os.OpenRoot(b.scratch)
	return err
}

// closeScratch is the reverse of openScratch.
func (b *Backend) closeScratch() error {
	err := errors.Join(b.hidden.Close(), os.RemoveAll(b.scratch))
	b.hidden, b.scratch = nil, ""
	return err
}

// noteNames are the extensions of notes, and of what is beside notes. Other files, such as
// those of programs, show that a folder is something else.
var (
	noteNames   = []string{".md", ".markdown", ".mdx", ".txt", ".org", ".rst"}
	besideNotes = []string{".canvas", ".base", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".heic", ".pdf", ".mp3", ".m4a", ".mp4", ".wav", ".csv", ".excalidraw"}
)

// looksLikeNotes reports whether a folder that memento has not seen before is one of
// notes: a vault of Obsidian, or nothing but notes and what is beside notes, as far as two
// levels of at most a few thousand names show.
func (b *Backend) looksLikeNotes() bool {
	if info, err := b.base.Lstat(".obsidian"); err == nil && info.IsDir() {
		return true
	}
	left, notes := 2000, 0
	var look func(dir *os.Root, levels int) bool
	look = func(dir *os.Root, levels int) bool {
		infos, err := readFolder(dir)
		if err != nil {
			return false
		}
		for _, info := range infos {
			name := info.Name()
			ext := strings.ToLower(filepath.Ext(name))
			switch {
			case memento.Path("/" + name).IsHidden():
				continue
			case left <= 0:
				return true
			case info.IsDir() && levels > 0:
				inner, err := enter(dir, info)
				if err != nil {
					return false
				}
				same := look(inner, levels-1)
				inner.Close()
				if !same {
					return false
				}
			case info.IsDir():
			case slices.Contains(noteNames, ext):
				notes++
			case !slices.Contains(besideNotes, ext):
				return false
			}
			left--
		}
		return true
	}
	return look(b.base, 1) && notes > 0
}

// hasNotes reports whether there is a visible file or folder beside memento's own.
func (b *Backend) hasNotes() bool {
	infos, err := readFolder(b.base)
	return err == nil && slices.ContainsFunc(infos, func(info fs.FileInfo) bool {
		return !memento.Path("/"+info.Name()).IsHidden() && info.Name() != otherFolders && info.Name() != defaultFolder
	})
}

// checkVisible refuses hidden paths in a store that is a folder of another program: they
// are that program's, version control's, or memento's own.
func (f *folder) checkVisible(paths ...memento.Path) error {
	if !f.b.place.inPlace || f.location != f.b.place.home {
		return nil
	}
	for _, p := range paths {
		if p.IsHidden() {
			return &memento.Error{Op: "put", Path: p, Err: fmt.Errorf("%w: hidden names of this folder belong to other programs", memento.ErrForeign)}
		}
	}
	return nil
}

func writtenPaths(changes []memento.Change) []memento.Path {
	var paths []memento.Path
	for _, c := range changes {
		switch c := c.(type) {
		case memento.Put:
			paths = append(paths, c.Path)
		case memento.Move:
			paths = append(paths, c.To)
		}
	}
	return paths
}

func importedPaths(versions []memento.Version) []memento.Path {
	var paths []memento.Path
	for _, v := range versions {
		paths = append(paths, v.Path)
	}
	return paths
}

// errKeepsFolder says that the store of a folder of another program cannot be deleted.
func (b *Backend) errKeepsFolder(f *folder) error {
	if !b.place.inPlace || f.location != b.place.home {
		return nil
	}
	return fmt.Errorf("%w: the folder itself is this store, and its files are not only memento's; remove the files you do not want, or the folder .memento to forget the history", memento.ErrUnsupported)
}
