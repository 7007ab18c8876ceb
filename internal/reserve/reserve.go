// Package reserve keeps space on a file system for operations that must work when it is
// full.
//
// The space is a file with allocated blocks and no data. It is made smaller to release
// space for other files, and larger again once there is space. Several processes can use
// the same file: a lock prevents one from taking the space that another has just
// released.
package reserve

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"
)

// A File is a reserve. It is safe for concurrent use. See [Open].
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	held int // how many callers of this process hold the lock
}

// Suffix is appended to the name of a database for the name of its reserve.
const Suffix = "-reserve"

// Release releases bytes of the reserve of the database at path, for any file. A process
// that has the database open fills the reserve again when it can.
func Release(path string, bytes int64) {
	f, err := Open(path + Suffix)
	if err != nil {
		return
	}
	_ = f.Shrink(max(0, f.Size()-bytes))
	_ = f.Close()
}

// page is the minimum amount of space to take: the block size of most file systems.
const page = 4096

// Open opens the reserve at path. If there is none, it makes an empty one, for its owner
// only. A link is refused. The caller closes it.
func Open(path string) (*File, error) {
	f := &File{path: path}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_RDWR|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if file, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|noFollow, 0o600); err == nil {
			err = file.Chmod(0o600) // regardless of the umask
		}
	}
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a plain file", fs.ErrInvalid)
	}
	if err == nil && hollow(info) { // a sparse copy
		err = file.Truncate(0)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file = file
	return nil
}

// Size returns the size of the reserve in bytes.
func (f *File) Size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size()
}

// size is Size for a caller that holds mu. If the file was removed by hand it is made
// again: the open one would keep its blocks invisibly.
func (f *File) size() int64 {
	if f.file == nil {
		return 0
	}
	info, err := f.file.Stat()
	if err == nil && removed(info) {
		_ = f.file.Close()
		f.file = nil
		if f.open() != nil {
			return 0
		}
		info, err = f.file.Stat()
	}
	if err != nil {
		return 0
	}
	return info.Size()
}

// Fill makes the reserve as large as size, or as large as the free space allows. It never
// makes it smaller.
//
// Errors: that of the file system, for example syscall.ENOSPC, if it is smaller than
// size; [ErrBusy].
func (f *File) Fill(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.size()
	if have >= size {
		return nil
	}
	if f.file == nil {
		return fs.ErrClosed
	}
	if f.held == 0 {
		locked := f.file
		for start := time.Now(); !tryLock(locked); time.Sleep(lockPause) {
			if time.Since(start) > lockTimeout {
				return ErrBusy
			}
		}
		defer unlock(locked)
		if have = f.size(); have >= size { // another process has filled it
			return nil
		}
		if f.file == nil {
			return fs.ErrClosed
		}
	}
	var fault error
	for step := size - have; step >= page; {
		err := f.extend(have, min(step, size-have))
		switch {
		case err == nil:
			if have += min(step, size-have); have >= size {
				return nil
			}
		case IsFull(err):
			fault, step = err, step/2
		default:
			return err
		}
	}
	if fault == nil { // less than a page was missing
		return f.extend(have, size-have)
	}
	return fault
}

// Fill waits for another process that fills the reserve, which takes some milliseconds, and
// not for one that has released it.
const (
	lockTimeout = 100 * time.Millisecond
	lockPause   = time.Millisecond
)

// ErrBusy says that another process has released space of the reserve and still needs it.
var ErrBusy = errors.New("the reserve is in use")

// extend appends bytes to the file.
func (f *File) extend(have, more int64) error {
	err := allocate(f.file, have, more)
	if errors.Is(err, errors.ErrUnsupported) {
		err = write(f.file, have, more)
	}
	if err != nil {
		_ = f.file.Truncate(have) // what was allocated before the space ran out
	}
	return err
}

// write allocates space by writing random data, which file systems neither skip nor
// compress.
func write(file *os.File, at, n int64) error {
	block := make([]byte, 64<<10)
	random := rand.NewChaCha8([32]byte{1})
	for n > 0 {
		part := block[:min(n, int64(len(block)))]
		_, _ = random.Read(part) // never fails
		done, err := file.WriteAt(part, at)
		if err != nil {
			return err
		}
		at, n = at+int64(done), n-int64(done)
	}
	return file.Sync() // some file systems report a full disk only here
}

// Shrink makes the reserve no larger than size.
func (f *File) Shrink(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size() <= size || f.file == nil {
		return nil
	}
	return f.file.Truncate(size)
}

// Lock prevents other processes from filling the reserve until the caller calls unlockIt.
// ok is false if another process has the lock.
func (f *File) Lock() (unlockIt func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size(); f.file == nil || f.held > 0 || !tryLock(f.file) {
		return nil, false
	}
	f.held++
	locked := f.file
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held--
		unlock(locked)
	}, true
}

// Probe reports whether there is space for n bytes besides the reserve, by allocating and
// freeing them. Errors: those of Fill.
func (f *File) Probe(n int64) error {
	have := f.Size()
	err := f.Fill(have + n)
	return errors.Join(err, f.Shrink(have))
}

// Close closes the reserve, which keeps its size.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// IsFull reports whether an error of the operating system says that a file system, or a
// quota on it, is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || isDiskFull(err) || IsQuota(err) }

// IsQuota reports whether it says so for a quota.
func IsQuota(err error) bool { return errors.Is(err, syscall.EDQUOT) }
