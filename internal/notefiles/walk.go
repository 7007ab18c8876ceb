package notefiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"memento"

	"golang.org/x/text/unicode/norm"
)

// A File is an entry of a folder.
type File struct {
	// Name is where it is, relative to the folder, with slashes, as on disk.
	Name string
	// Path is where it belongs in a store; "" for a [BadName].
	Path memento.Path
	// Info describes it as it was found; nil for a folder that cannot be read.
	Info fs.FileInfo
	// Left says why it is not a note; "" for a note. Only contents show [NotText]: see
	// [Read]. A folder is in a walk only if it is left out as a whole.
	Left Reason
	// Err has details for [Unreadable].
	Err error
}

// Walk calls visit for each note in the folder root, and for each file or folder that is
// left out, in the order of their names. An error of visit ends the walk.
//
// Files that disappear meanwhile are passed over. What cannot be read is visited as
// [Unreadable]. Nothing outside of root is ever reached.
func Walk(ctx context.Context, root *os.Root, rules *Rules, visit func(File) error) error {
	seen := map[memento.Path]bool{}
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case name == ".":
			return err
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil: // of a folder that was visited before
			return visit(File{Name: name, Path: memento.Path("/" + norm.NFC.String(name)), Left: Unreadable, Err: err})
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return visit(File{Name: name, Left: Unreadable, Err: err})
		}
		f := File{Name: name, Info: info}
		f.Path, f.Left = rules.Judge(name, info.Mode(), info.Size())
		if info.IsDir() {
			if f.Left == "" {
				return nil
			}
			if err := visit(f); err != nil {
				return err
			}
			return fs.SkipDir
		}
		if f.Left == "" || f.Left == TooLarge {
			if seen[f.Path] {
				f.Left = SameName
			}
			seen[f.Path] = true
		}
		return visit(f)
	})
}

// ErrNotText says that a file is not UTF-8 text.
var ErrNotText = errors.New(string(NotText))

// Read returns the contents of a note that Walk has found, of at most most bytes. A file
// that is not text is not read further than its first bytes show.
//
// Errors: [ErrNotText]; memento.ErrTooLarge; memento.ErrUnavailable if another kind of
// file has taken its name; those of the file system.
func Read(root *os.Root, name string, most int64) (string, error) {
	// A FIFO that has taken the name would block.
	before, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !before.Mode().IsRegular() {
		return "", changed(name)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil {
		return "", err
	} else if !os.SameFile(before, now) {
		return "", changed(name)
	}
	return ReadText(f, most)
}

func changed(name string) error {
	return fmt.Errorf("%w: %q changed while it was read", memento.ErrUnavailable, path.Base(name))
}

// ReadText returns the text of r, of at most most bytes, as [Read] does.
func ReadText(r io.Reader, most int64) (string, error) {
	start, err := io.ReadAll(io.LimitReader(r, min(8<<10, most+1)))
	if err != nil {
		return "", err
	}
	if !TextStart(start) {
		return "", ErrNotText
	}
	rest, err := io.ReadAll(io.LimitReader(r, most-int64(len(start))+1))
	if err != nil {
		return "", err
	}
	text := append(start, rest...)
	switch {
	case int64(len(text)) > most:
		return "", fmt.Errorf("%w: more than %d bytes", memento.ErrTooLarge, most)
	case !IsText(text):
		return "", ErrNotText
	}
	return string(text), nil
}
