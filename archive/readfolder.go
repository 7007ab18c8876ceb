package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"memento"
)

// ReadFolder writes the files in the folder dir to the store, each to its own path, as
// one change made by the given actor. It reads regular files of UTF-8 text whose names
// can be paths, and returns what it skipped. Links are skipped too. A link that leads out
// of the folder is an error, and nothing is written.
//
// Errors: [FormatError]; [ErrTooLarge]; ErrExist if a memory exists already, unless
// opts.Overwrite is set; those of [memento.Store.Apply]; those of the file system.
func ReadFolder(ctx context.Context, dir string, store *memento.Store, by memento.Actor, opts *ReadOptions) (Summary, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Summary{}, err
	}
	defer root.Close()
	r := &folderReader{root: root, opts: opts.complete()}
	r.left = r.opts.MaxBytes
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return r.visit(name, d)
	})
	if err != nil {
		return Summary{}, err
	}
	// Folders are listed by name; memories are sorted by their whole path.
	slices.SortFunc(r.memories, func(a, b memory) int { return strings.Compare(string(a.path), string(b.path)) })
	replaced, err := put(ctx, store, by, r.memories, r.opts.Overwrite)
	if err != nil {
		return Summary{}, err
	}
	r.sum.Masked = countKinds(replaced)
	return r.sum, nil
}

// A folderReader collects the files of one folder.
type folderReader struct {
	root     *os.Root
	opts     ReadOptions
	left     int64
	memories []memory
	sum      Summary
}

func (r *folderReader) skip(name, reason string) error {
	r.sum.Skipped = append(r.sum.Skipped, Skipped{name, reason})
	return nil
}

func (r *folderReader) visit(name string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		// Following it with Root shows whether it leads out of the folder.
		if _, err := r.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &FormatError{name, "it is a link that leads out of the folder; remove it"}
		}
		return r.skip(name, "it is a link")
	case !d.Type().IsRegular():
		return r.skip(name, "it is not a regular file")
	}
	p, err := memento.ParsePath("/" + name)
	if err != nil {
		at, _ := errors.AsType[*memento.PathError](err)
		return r.skip(name, "its name is not a valid path: "+at.Reason)
	}
	text, isText, err := r.read(name)
	switch {
	case err != nil:
		return err
	case !isText:
		return r.skip(name, "it is not UTF-8 text")
	}
	r.memories = append(r.memories, memory{p, string(text)})
	r.sum.Memories++
	r.sum.Bytes += int64(len(text))
	r.opts.Progress(r.sum.Memories)
	return nil
}

// read returns the contents of a file, and whether they are UTF-8 text.
func (r *folderReader) read(name string) (text []byte, isText bool, err error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	// Another file may have taken the name since the folder was listed.
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("%s changed while it was read", quoted(name))
	}
	// A large binary file must not count towards the limit.
	start, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil || !validStart(start) {
		return nil, false, err
	}
	rest, err := io.ReadAll(io.LimitReader(f, max(r.left-int64(len(start)), 0)+1))
	if err != nil {
		return nil, false, err
	}
	text = append(start, rest...)
	if !utf8.Valid(text) {
		return nil, false, nil
	}
	if r.left -= int64(len(text)); r.left < 0 {
		return nil, false, fmt.Errorf("the folder is %w: %d bytes", ErrTooLarge, r.opts.MaxBytes)
	}
	return text, true, nil
}

// validStart reports whether UTF-8 text can start with b, which may end within a
// character.
func validStart(b []byte) bool {
	for len(b) > 0 {
		c, size := utf8.DecodeRune(b)
		if c == utf8.RuneError && size == 1 {
			return !utf8.FullRune(b)
		}
		b = b[size:]
	}
	return true
}
