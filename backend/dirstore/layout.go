package dirstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"memento"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Names below the folder that Open was given. Those in the hidden folder are part of the
// stored format.
const (
	hiddenFolder    = ".memento"
	defaultFolder   = "memories"         // memories of the store named default
	otherFolders    = "stores"           // one for each other store, with a folder of memories in it
	dbFile          = "books.db"         // the database; in hiddenFolder, like the following
	indexFile       = "folder.db"        // see fileIndex
	locksFolder     = "locks"            // a lock for each store and one for the catalogue
	locationsFolder = "stores"           // a file for each store outside of defaultFolder, with its location
	ownerFile       = "default"          // ID of the store in defaultFolder
	deletingSuffix  = ".leaving"         // after a name in locationsFolder: the store is being deleted
	deletedSuffix   = ".left"            // after a store's ID: its folder of memories, which could not be removed
	tempPrefix      = ".memento-"        // of a file that is being written, beside the file that it will replace
	tempSuffix      = ".tmp"             //
	maxName         = 255                // bytes; every file system can hold such a name
	ownMode         = fs.FileMode(0o600) // of files
	ownFolderMode   = fs.FileMode(0o700)
)

// makeFolder opens a folder in dir, and makes it, for its owner only, if it does not
// exist. A new folder is flushed. If the flush fails it is removed again, because a later
// call does not flush a folder that exists. A link to a folder is refused.
func makeFolder(s syncer, dir *os.Root, name string) (*os.Root, error) {
	made, err := mkdir(dir, name)
	if made && err == nil {
		err = s.syncFolder(dir)
	}
	if err != nil {
		if made {
			_ = removeFolder(dir, name)
		}
		return nil, err
	}
	return openFolder(dir, name)
}

func (b *Backend) makeFolder(dir *os.Root, name string) (*os.Root, error) {
	return makeFolder(b.syncer, dir, name)
}

// mkdir makes a folder in dir, for its owner only, unless that name exists. The caller
// flushes dir.
func mkdir(dir *os.Root, name string) (made bool, err error) {
	switch err := dir.Mkdir(name, ownFolderMode); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, dir.Chmod(name, ownFolderMode) // regardless of the umask
}

// errNoFolder says that something else is where a folder should be.
var errNoFolder = errors.New("not a folder")

// errLinked is the errNoFolder of a link.
var errLinked = fmt.Errorf("%w, but a link", errNoFolder)

// openFolder opens a folder in dir. name has no slash. A link is not a folder, whatever
// its target is.
func openFolder(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, notDir(info)
	}
	return enter(dir, info)
}

// notDir returns errNoFolder for what info describes, or errLinked.
func notDir(info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return errLinked
	}
	return errNoFolder
}

// enter opens the folder that info describes. It refuses another folder that has taken
// its name since.
func enter(dir *os.Root, info fs.FileInfo) (*os.Root, error) {
	inner, err := dir.OpenRoot(info.Name() + "/.") // as a folder: opening a FIFO would block
	if isLink(err) {
		return nil, errLinked
	}
	if err != nil {
		return nil, err
	}
	entered, err := inner.Stat(".")
	if err == nil && !os.SameFile(info, entered) {
		err = errNoFolder
	}
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return inner, nil
}

// openOwn opens one of the backend's own files for reading and writing, and makes it, for
// its owner only, if it does not exist. A link is refused.
//
// It must not be used for SQLite's files: closing a file ends all locks that the process
// has on it. See makeOwn.
func openOwn(dir *os.Root, name string) (*os.File, error) {
	for {
		switch info, err := dir.Lstat(name); {
		case err == nil && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%w: %s/%s is not a plain file", memento.ErrFormat, hiddenFolder, name)
		case err == nil:
			return dir.OpenFile(name, os.O_RDWR, 0)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, ownMode)
		if errors.Is(err, fs.ErrExist) {
			continue // another process has just made it
		}
		if err != nil {
			return nil, err
		}
		if err := f.Chmod(ownMode); err != nil { // regardless of the umask
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// makeOwn makes one of the backend's own files, for its owner only, unless it exists. A
// link is refused.
func makeOwn(dir *os.Root, name string) error {
	if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() {
		return nil
	}
	f, err := openOwn(dir, name)
	if err != nil {
		return err
	}
	return f.Close()
}

// writeOwn replaces one of the backend's own files.
func writeOwn(s syncer, dir *os.Root, name, text string) error {
	temp := tempName()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = errors.Join(f.Chmod(ownMode), s.syncFile(f))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp)
		return err
	}
	return s.syncFolder(dir)
}

// readOwn reads a small file of the backend's own; "" if it does not exist.
func readOwn(dir *os.Root, name string) (string, error) {
	text, err := dir.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

func tempName() string {
	var chance [8]byte
	rand.Read(chance[:]) // never fails: crypto/rand
	return tempPrefix + hex.EncodeToString(chance[:]) + tempSuffix
}

func isTemp(name string) bool {
	return len(name) == len(tempPrefix)+16+len(tempSuffix) && strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// slug turns a store's name into a folder name that every file system can hold and that
// has no special meaning.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 40 {
			break
		}
	}
	s := strings.Trim(b.String(), "-")
	if s == "" || isDevice(s) {
		s = strings.TrimSuffix("store-"+s, "-")
	}
	return s
}

// isDevice reports whether a file name means a device on Windows.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem = strings.TrimRight(stem, " "); stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		port, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && utf8.RuneCountInString(port) == 1 && strings.ContainsAny(port, "0123456789¹²³")
}

// traits are the properties of a file system that concern names.
type traits struct {
	folds    bool // /A and /a are the same file
	composes bool // the Unicode forms of é are the same file
	reserved bool // some names and characters are not allowed
}

// merges reports whether different paths can be the same file.
func (t traits) merges() bool { return t.folds || t.composes }

// key returns a text that is the same for names of the same file. It can also be the same
// for names of different files, since systems fold case differently.
func (t traits) key(name string) string {
	if t.composes {
		name = norm.NFD.String(name)
	}
	if t.folds {
		name = cases.Fold().String(name)
		if t.composes {
			name = norm.NFD.String(name)
		}
	}
	return name
}

// diskName returns the name on disk for a segment of a path. It is the segment itself,
// unless the file system cannot hold that name or the name has another meaning here: then
// it is the beginning of the segment and a hash.
func (t traits) diskName(segment string) string {
	if len(segment) <= maxName && !isTemp(segment) && !(t.reserved && isReserved(segment)) {
		return segment
	}
	sum := sha256.Sum256([]byte(segment))
	return safeStart(segment) + "~" + hex.EncodeToString(sum[:8])
}

const reservedCharacters = `<>:"/\|?*`

func isReserved(segment string) bool {
	return strings.ContainsAny(segment, reservedCharacters) || strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ") || isDevice(segment)
}

// safeStart returns the beginning of a name, without what some system cannot hold.
func safeStart(segment string) string {
	const most = 40 // characters
	var b strings.Builder
	n := 0
	for _, r := range segment {
		if n++; n > most {
			break
		}
		if strings.ContainsRune(reservedCharacters, r) || n == 1 && r == '.' {
			r = '_'
		}
		b.WriteRune(r)
	}
	if isDevice(b.String()) {
		return "_" + b.String()
	}
	return b.String()
}

// diskPath returns the path of a memory's file, relative to its store's folder.
func (t traits) diskPath(p memento.Path) string {
	plain := len(p) <= maxName && !t.reserved && !strings.Contains(string(p), tempPrefix)
	if plain { // the usual case
		return string(p[1:])
	}
	var names []string
	for segment := range p.Segments() {
		names = append(names, t.diskName(segment))
	}
	return strings.Join(names, "/")
}
