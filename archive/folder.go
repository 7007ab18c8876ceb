package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"memento"
)

// FolderOptions are the options of [WriteFolder]; nil means all defaults.
type FolderOptions struct {
	// Progress, if set, is told after each memory how many were written.
	Progress func(done int)
}

// WriteFolder writes the contents of the store to the folder dir, which it makes
// unless it is there and empty: each memory to a file at its own path, readable
// by its owner only. After an error nothing of it is left.
//
// Errors: [ErrNotEmpty]; ErrInvalid for a memory whose path the file system
// cannot hold, which Error.Path names; ErrNoStore and those of the store; those
// of the file system.
func WriteFolder(ctx context.Context, dir string, store *memento.Store, opts *FolderOptions) (sum Summary, err error) {
	progress := func(int) {}
	if opts != nil && opts.Progress != nil {
		progress = opts.Progress
	}
	if _, err := store.Info(ctx); err != nil {
		return Summary{}, err
	}
	// Names first: most of what can go wrong is known before anything is made.
	for e, err := range store.List(ctx, memento.ListOptions{Brief: true}) {
		if err == nil {
			err = checkNames(e.Path, runtime.GOOS)
		}
		if err != nil {
			return Summary{}, err
		}
	}
	w, err := newFolderWriter(dir)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, w.close(err == nil)) }()
	for e, err := range store.List(ctx, memento.ListOptions{Contents: true}) {
		if err == nil && e.Foreign {
			sum.skip(e)
			continue
		}
		if err == nil {
			err = w.write(e.Path, e.Memory.Content)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Summary{}, err
		}
		sum.Memories++
		sum.Bytes += e.Memory.Size
		progress(sum.Memories)
	}
	return sum, nil
}

// A folderWriter makes files in a folder, and remembers them, to take them back.
type folderWriter struct {
	dir     string
	madeDir bool
	root    *os.Root
	made    []string        // files and folders, in the order of their making
	folders map[string]bool // those of them that are folders
}

func newFolderWriter(dir string) (*folderWriter, error) {
	w := &folderWriter{dir: dir, folders: map[string]bool{}}
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		w.madeDir = true
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	if w.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if !w.madeDir {
		there, err := fs.ReadDir(w.root.FS(), ".")
		if err == nil && len(there) > 0 {
			err = fmt.Errorf("the folder %s %w", dir, ErrNotEmpty)
		}
		if err != nil {
			return nil, errors.Join(err, w.root.Close())
		}
	}
	return w, nil
}

func (w *folderWriter) write(p memento.Path, content string) error {
	if err := checkNames(p, runtime.GOOS); err != nil {
		return err
	}
	name := filepath.FromSlash(strings.TrimPrefix(string(p), "/"))
	if err := w.makeFolders(filepath.Dir(name)); err != nil {
		return cannotHold(p, err)
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cannotHold(p, err)
	}
	w.made = append(w.made, name)
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

func (w *folderWriter) makeFolders(name string) error {
	if name == "." || w.folders[name] {
		return nil
	}
	if err := w.makeFolders(filepath.Dir(name)); err != nil {
		return err
	}
	if err := w.root.Mkdir(name, 0o700); err != nil {
		return err
	}
	w.made = append(w.made, name)
	w.folders[name] = true
	return nil
}

// close ends the writing, and takes everything back unless keep is set.
func (w *folderWriter) close(keep bool) error {
	var errs []error
	if !keep {
		for i := range w.made {
			errs = append(errs, w.root.Remove(w.made[len(w.made)-1-i]))
		}
	}
	errs = append(errs, w.root.Close())
	if !keep && w.madeDir {
		errs = append(errs, os.Remove(w.dir))
	}
	return errors.Join(errs...)
}

// cannotHold words what a file system says about the name of a memory. The
// folder was empty, so what is in the way is another memory.
func cannotHold(p memento.Path, err error) error {
	reason := err
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		reason = at.Err
	}
	if errors.Is(err, fs.ErrExist) {
		reason = errors.New("to it, the name is that of another memory")
	}
	return failed("export", p, fmt.Errorf("%w: the file system cannot hold this path: %w", memento.ErrInvalid, reason))
}
