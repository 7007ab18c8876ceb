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
	// Progress, if not nil, is called after each memory with the number written so far.
	Progress func(done int)
}

// WriteFolder writes the contents of the store to the folder dir, each memory to a file
// at its own path, readable by its owner only. The folder must be empty; if it does not
// exist, it is made. After an error nothing is left in it.
//
// Errors: [ErrNotEmpty]; ErrInvalid for a memory whose path the file system cannot hold,
// with that path in Error.Path; ErrNoStore and those of the store; those of the file
// system.
func WriteFolder(ctx context.Context, dir string, store *memento.Store, opts *FolderOptions) (Summary, error) {
	progress := func(int) {}
	if opts != nil && opts.Progress != nil {
		progress = opts.Progress
	}
	return writeFolder(ctx, dir, store, progress, func(memento.Path, string) {})
}

// writeFolder is WriteFolder, and calls written after each file.
func writeFolder(ctx context.Context, dir string, store *memento.Store, progress func(done int), written func(memento.Path, string)) (sum Summary, err error) {
	if _, err := store.Info(ctx); err != nil {
		return Summary{}, err
	}
	// Names are checked first, so that most errors occur before anything is made.
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
		written(e.Path, e.Memory.Content)
		sum.Memories++
		sum.Bytes += e.Memory.Size
		progress(sum.Memories)
	}
	return sum, nil
}

// A folderWriter makes files in a folder, and remembers them, so that they can be removed
// again.
type folderWriter struct {
	dir     string
	madeDir bool
	root    *os.Root
	made    []string        // files and folders, in the order in which they were made
	folders map[string]bool // the folders among them
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

// close ends the writing. It removes everything again, unless keep is set.
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

// cannotHold turns a file system's error about the name of a memory into an error of this
// package. The folder was empty, so an existing file is that of another memory.
func cannotHold(p memento.Path, err error) error {
	reason := err
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		reason = at.Err
	}
	if errors.Is(err, fs.ErrExist) {
		reason = errors.New("it does not distinguish the name from that of another memory")
	}
	return failed("export", p, fmt.Errorf("%w: the file system cannot hold this path: %w", memento.ErrInvalid, reason))
}
