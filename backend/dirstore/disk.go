package dirstore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"memento"
)

// readFolder returns what is in an open folder, in no particular order. It does not
// follow links.
func readFolder(dir *os.Root) ([]fs.FileInfo, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	infos, err := f.Readdir(-1) // Readdir of a file opened in a Root stats the names in the open folder itself
	return infos, errors.Join(err, f.Close())
}

// isEmpty reports whether a folder contains nothing but folders that are empty in the
// same sense.
func isEmpty(dir *os.Root) bool {
	infos, err := readFolder(dir)
	if err != nil {
		return false
	}
	for _, info := range infos {
		if !info.IsDir() {
			return false
		}
		inner, err := enter(dir, info)
		if err != nil {
			return false
		}
		empty := isEmpty(inner)
		inner.Close()
		if !empty {
			return false
		}
	}
	return true
}

// isAbsent reports whether an error says that there is nothing at a path.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isLink reports whether an error says that a link would have led out of a Root, or
// nowhere. Root reports that with errors of its own, not with the operating system's.
func isLink(err error) bool {
	if err == nil {
		return false
	}
	code, ok := errors.AsType[syscall.Errno](err)
	return !ok && !errors.Is(err, fs.ErrClosed) || code == syscall.ELOOP
}

// classify says what a file is. r is its row in the index, or nil.
func classify(info fs.FileInfo, r *row) presence {
	switch inode, _, links := inodeOf(info); {
	case info.IsDir():
		return absent
	case !info.Mode().IsRegular():
		return special
	case links > 1 && (r == nil || r.print.inode != inode):
		return linked
	}
	return file
}

// kindReason says what is at a path instead of a regular file.
func kindReason(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a folder is in its place"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link is in its place"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe is in its place"
	case mode&fs.ModeSocket != 0:
		return "a socket is in its place"
	case mode&fs.ModeDevice != 0:
		return "a device is in its place"
	case !mode.IsRegular():
		return "a special file is in its place"
	}
	return "a hard link to another file is in its place"
}

var (
	errChanging = errors.New("changed while it was read")
	errTooLong  = errors.New("longer than allowed")
)

// readFile reads the file that info describes, and returns its fingerprint after reading.
// If another file or a link has taken the name since, that is not read.
//
// Errors: errChanging; errTooLong if the file has more than most bytes.
func readFile(root *os.Root, name string, info fs.FileInfo, most int64) (text string, print fingerprint, err error) {
	if info.Size() > most {
		return "", printOf(info), errTooLong
	}
	f, err := root.OpenFile(name, readFlags, 0)
	if isLink(err) {
		return "", print, errChanging
	}
	if err != nil {
		return "", print, err
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return "", print, err
	case !before.Mode().IsRegular() || !os.SameFile(info, before):
		return "", print, errChanging
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", print, err
	}
	if int64(len(data)) > most {
		return "", printOf(before), errTooLong
	}
	after, err := f.Stat()
	if err != nil {
		return "", print, err
	}
	if print = printOf(after); print != printOf(before) || print.size != int64(len(data)) {
		return "", print, errChanging
	}
	return string(data), print, nil
}

// hasContents reports whether the file that info describes has the contents that the row
// says. checked is the time of the check.
func (r *row) hasContents(root *os.Root, name string, info fs.FileInfo) (same bool, checked int64) {
	checked = time.Now().UnixNano()
	text, print, err := readFile(root, name, info, r.print.size)
	return err == nil && print == r.print && memento.HashContent(text) == r.sha256, checked
}
