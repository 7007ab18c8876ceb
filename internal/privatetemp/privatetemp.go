// Package privatetemp makes temporary folders for plaintext that must not stay: in memory
// where the system has a file system there, for this user only, and removed by the next
// process if this one is killed.
//
// A folder has a lock file, which the process holds. The lock ends with the process and
// with those that inherit it; then [Sweep] removes the folder.
package privatetemp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// The beginnings of the names of folders: those in use, and those that were kept.
const (
	prefix     = "memento-edit-"
	keptPrefix = "memento-kept-"
	lockName   = ".lock"
)

// A Folder is a temporary folder.
type Folder struct {
	Path     string
	InMemory bool     // whether its files are in memory, and never on a disk
	Lock     *os.File // for processes that use the folder and may live longer than this one; nil if the system has no such locks
}

// New makes a folder.
func New() (*Folder, error) {
	var failed error
	for _, at := range places() {
		path, err := os.MkdirTemp(at.path, prefix) // mode 0700
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		lock, err := takeLock(filepath.Join(path, lockName))
		if err != nil {
			failed = errors.Join(failed, err, os.RemoveAll(path))
			continue
		}
		return &Folder{path, at.inMemory, lock}, nil
	}
	return nil, failed
}

// Remove removes the folder with its files.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	if f.Lock != nil {
		err = errors.Join(err, f.Lock.Close())
	}
	return err
}

// Keep gives the folder a name with which [Sweep] leaves it alone, and changes Path.
func (f *Folder) Keep() error {
	kept := filepath.Join(filepath.Dir(f.Path), keptPrefix+strings.TrimPrefix(filepath.Base(f.Path), prefix))
	if err := os.Rename(f.Path, kept); err != nil {
		return err
	}
	f.Path = kept
	if f.Lock == nil {
		return nil
	}
	return errors.Join(os.Remove(filepath.Join(kept, lockName)), f.Lock.Close())
}

// Sweep removes the folders of processes of this user that were killed, and returns their
// paths.
func Sweep() (removed []string) {
	for _, at := range places() {
		dir, err := os.Open(at.path)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(-1)
		_ = dir.Close()
		for _, name := range names {
			path := filepath.Join(at.path, name)
			if strings.HasPrefix(name, prefix) && isOwn(path) && isAbandoned(filepath.Join(path, lockName)) && os.RemoveAll(path) == nil {
				removed = append(removed, path)
			}
		}
	}
	return removed
}

// A place is a folder for temporary folders.
type place struct {
	path     string
	inMemory bool
}

// places returns the places in the order of preference, without repetition: the folder of
// the user's session and the shared memory, if they are in memory, and the system's folder
// for temporary files.
func places() []place {
	var list []place
	seen := map[string]bool{}
	for _, path := range []string{os.Getenv("XDG_RUNTIME_DIR"), sharedMemory} {
		if path != "" && filepath.IsAbs(path) && !seen[path] && isInMemory(path) {
			seen[path] = true
			list = append(list, place{path, true})
		}
	}
	if temp := os.TempDir(); !seen[temp] {
		list = append(list, place{temp, isInMemory(temp)})
	}
	return list
}
