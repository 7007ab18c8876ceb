package foldersync

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"memento"
	"memento/internal/notefiles"
)

// errChanged says that a file is not any more what was read.
var errChanged = errors.New("it was changed meanwhile")

// A folder is the folder's side.
type folder struct {
	path    string
	root    *os.Root
	rules   notefiles.Rules
	prefix  string // of the names of temporary files
	journal journal
	step    func(name string)
	plain   bool // use no calls that some systems lack: a test of the other ways

	known     map[string]known // by name, what the last scan read
	displaced []displaced      // files that were displaced in this round
}

// A journal remembers displaced files, so that none is lost if the process ends.
type journal interface {
	displace(displaced) error
	forget(temp string) error
	isDisplaced(temp string) bool
}

// known is what a scan has read of a file that has looked like this.
type known struct {
	print print
	sha   string
}

// A print tells whether a file was probably changed.
type print struct {
	size     int64
	modified int64 // nanoseconds since 1970, like the next
	changed  int64 // time of the last change of the inode, where the system reports it
	inode    uint64
}

// tempPrefix begins the names of temporary files. They are hidden, so they are no notes.
const tempPrefix = ".memento-sync-"

// openFolder opens a folder. id, which is short, distinguishes the temporary files from
// those of other pairs.
func openFolder(dir, id string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	id, _, _ = strings.Cut(id, ".")
	return &folder{path: dir, root: root, prefix: tempPrefix + id[:min(len(id), 8)] + "-", known: map[string]known{}, step: func(string) {}}, nil
}

func (d *folder) close() error { return d.root.Close() }

// temp returns a new name beside the file with the given name.
func (d *folder) temp(name string) string {
	return path.Join(path.Dir(name), d.prefix+rand.Text()[:16])
}

// checkPresent returns an error if the folder is not at its path any more.
func (d *folder) checkPresent() error {
	here, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	open, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(here, open) {
		return fmt.Errorf("%w: the folder %s was replaced by another one", fs.ErrNotExist, d.path)
	}
	return nil
}

// scan adds the files to a view. With clean, it removes temporary files that an earlier
// process has left.
func (d *folder) scan(ctx context.Context, v *view, clean bool) error {
	if err := d.checkPresent(); err != nil {
		return err
	}
	next := make(map[string]known, len(d.known))
	var same []memento.Path
	err := notefiles.Walk(ctx, d.root, &d.rules, func(f notefiles.File) error {
		if base := path.Base(f.Name); clean && strings.HasPrefix(base, d.prefix) && !d.journal.isDisplaced(f.Name) {
			_ = d.root.Remove(f.Name) // was never put in place
		}
		switch f.Left {
		case "":
			return d.scanFile(f, v, next)
		case notefiles.Hidden, notefiles.Excluded:
			return nil
		case notefiles.SameName:
			same = append(same, f.Path)
		}
		if f.Path == "" && f.Left == notefiles.Unreadable {
			return f.Err // what is below it could not be told from what was deleted
		}
		reason := string(f.Left)
		if f.Left == notefiles.BadName {
			reason += ": " + notefiles.NameFault(f.Name)
		}
		v.leave(Problem{Path: f.Path, Name: f.Name, Reason: reason, Err: f.Err, Expected: f.Left.Expected()})
		return nil
	})
	d.known = next
	return err
}

// scanFile adds a file to the view.
func (d *folder) scanFile(f notefiles.File, v *view, next map[string]known) error {
	p := printOf(f.Info)
	k, again := d.known[f.Name]
	if !again || k.print != p || time.Since(f.Info.ModTime()) < racy {
		text, err := d.read(f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, notefiles.ErrNotText):
			v.leave(Problem{Path: f.Path, Name: f.Name, Reason: string(notefiles.NotText), Expected: true})
			return nil
		case errors.Is(err, memento.ErrTooLarge):
			v.leave(Problem{Path: f.Path, Name: f.Name, Reason: string(notefiles.TooLarge)})
			return nil
		case errors.Is(err, errChanged):
			v.files[f.Path] = file{name: f.Name, hot: true}
			return nil
		case err != nil:
			v.leave(Problem{Path: f.Path, Name: f.Name, Reason: string(notefiles.Unreadable), Err: err})
			return nil
		}
		k = known{p, memento.HashContent(text)}
	}
	next[f.Name] = k
	// Many programs empty a file before they write its new text.
	hot := k.sha == emptySHA && time.Since(f.Info.ModTime()).Abs() < emptied
	v.files[f.Path] = file{name: f.Name, sha: k.sha, hot: hot}
	dir, name := f.Path.Parent(), path.Dir(f.Name)
	for ; !dir.IsRoot(); dir, name = dir.Parent(), path.Dir(name) {
		if _, seen := v.dirs[dir]; seen {
			break
		}
		v.dirs[dir] = name
	}
	return nil
}

const (
	// racy is how old a file must be for its times to tell whether it was changed: clocks
	// of file systems are coarse.
	racy = 3 * time.Second

	// emptied is how long an empty file is believed to be about to get its text.
	emptied = time.Second
)

// read returns the text of a file that does not change meanwhile.
//
// Errors: errChanged; notefiles.ErrNotText; memento.ErrTooLarge; those of the file system.
func (d *folder) read(name string) (string, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return "", err
	}
	most := d.rules.MaxBytes
	if most <= 0 {
		most = memento.DefaultLimits().MemoryBytes
	}
	text, err := notefiles.Read(d.root, name, most)
	switch {
	case errors.Is(err, memento.ErrUnavailable):
		return "", errChanged
	case err != nil:
		return "", err
	}
	after, err := d.root.Lstat(name)
	if err != nil {
		return "", err
	}
	if printOf(before) != printOf(after) || after.Size() != int64(len(text)) {
		return "", errChanged
	}
	return text, nil
}

// readAs is read for a file whose hash is known. Errors: errChanged, too, if it is another.
func (d *folder) readAs(name, sha string) (string, error) {
	text, err := d.read(name)
	if err != nil {
		return "", err
	}
	if memento.HashContent(text) != sha {
		return "", errChanged
	}
	return text, nil
}

// nameOf returns the name on disk for a path. Folders that exist keep their names, which
// can be in another Unicode form.
func (v *view) nameOf(p memento.Path) string {
	if f, there := v.files[p]; there {
		return f.name
	}
	for dir := range p.Ancestors() {
		if name, known := v.dirs[dir]; known {
			return name + string(p[len(dir):])
		}
	}
	return strings.TrimPrefix(string(p), "/")
}

// absent reports whether there is no file at a name; a folder can be in its place.
func (d *folder) absent(name string) bool {
	info, err := d.root.Lstat(name)
	if err == nil {
		return info.IsDir()
	}
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) // a file is in the place of its folder
}
