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

// What is where, below the folder that Open was given.
const (
	hiddenFolder    = ".memento"
	defaultFolder   = "memories"         // of the store named default
	otherFolders    = "stores"           // one for each other store, with a folder of memories in it
	dbFile          = "books.db"         // in hiddenFolder, like what follows
	indexFile       = "folder.db"        // see fileIndex
	locksFolder     = "locks"            // a lock for each store, and the catalogue's
	locationsFolder = "stores"           // a file for each store outside of defaultFolder, which says where it is
	ownerFile       = "default"          // which store is in defaultFolder
	deletingSuffix  = ".deletingSuffix"  // behind the name of a file in locationsFolder: the store is being deleted
	deletedSuffix   = ".left"            // behind a store's ID: its folder of memories, which could not be removed
	tempPrefix      = ".memento-"        // of a file that is being written, beside the file whose place it will take
	tempSuffix      = ".tmp"             //
	maxName         = 255                // bytes in a name, on every file system there is
	ownMode         = fs.FileMode(0o600) // of files
	ownFolderMode   = fs.FileMode(0o700)
)

// makeFolder makes a folder in dir for its owner only, unless it is there, and
// opens it. A new one is flushed; should that fail, it is removed again, because who
// finds a folder does not flush it. A link to a folder is none.
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

// mkdir makes a folder in dir for its owner only, unless there is something of that
// name. The caller flushes dir.
func mkdir(dir *os.Root, name string) (made bool, err error) {
	switch err := dir.Mkdir(name, ownFolderMode); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, dir.Chmod(name, ownFolderMode) // whatever the umask
}

// errNoFolder says that something else is where a folder should be.
var errNoFolder = errors.New("is not a folder")

// openFolder opens a folder in dir. name has no slash. A link, whatever it leads
// to, is no folder.
func openFolder(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, errNoFolder
	}
	return enter(dir, info)
}

// enter opens the folder that info is about, and no other that has taken its
// place since.
func enter(dir *os.Root, info fs.FileInfo) (*os.Root, error) {
	inner, err := dir.OpenRoot(info.Name() + "/.") // as a folder: opening a FIFO would wait
	if isLink(err) {
		return nil, errNoFolder
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

// openOwn opens one of the backend's own files for reading and writing, and makes
// it, for its owner only, if it is not there. A link is refused.
//
// It is not for the files of SQLite: closing a file ends all locks that the
// process has on it. See makeOwn.
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
			continue // another process made it just now
		}
		if err != nil {
			return nil, err
		}
		if err := f.Chmod(ownMode); err != nil { // whatever the umask
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// makeOwn makes one of the backend's own files, for its owner only, if it is not
// there, and leaves one that is alone. A link is refused.
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

// readOwn reads a small file of the backend's own; "" if it is not there.
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

// slug returns a name of a folder for a store, which every file system can hold
// and nothing else is called.
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

// isDevice reports whether Windows takes a file of this name for a device.
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

// Traits are what a file system does with names.
type traits struct {
	folds    bool // /A is /a
	composes bool // é is é, in whichever Unicode form
	reserved bool // some names and characters are not possible
}

// merges reports whether different paths can be the same file.
func (t traits) merges() bool { return t.folds || t.composes }

// key returns a text that is the same for names that are the same file. It may
// be the same for others too: what one system folds, another does not.
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

// diskName returns what a segment of a path is called on disk: the same, but for
// names that a file system cannot hold, or which mean something else here. Those
// become the beginning of the name and its hash.
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

// safeStart returns the beginning of a name, as far as every system can hold it.
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

// diskPath returns where the file of a memory is, below its store's folder.
func (t traits) diskPath(p memento.Path) string {
	plain := len(p) <= maxName && !t.reserved && !strings.Contains(string(p), tempPrefix)
	if plain { // as nearly always
		return string(p[1:])
	}
	var names []string
	for segment := range p.Segments() {
		names = append(names, t.diskName(segment))
	}
	return strings.Join(names, "/")
}
