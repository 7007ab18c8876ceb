package dirstore

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
	"time"
)

// A lock is held by one goroutine of one process at a time. It is released when its
// holder dies. The next holder then finds a mark if the work was not finished.
//
// It has two files. The first one is the lock itself. The second one is a queue of length
// one before it: the process that has locked it and waits for the first one keeps others
// waiting, so that a process which takes the lock again and again cannot starve them.
type lock struct {
	turn chan struct{} // holds a token while a goroutine of this process has the lock or waits for it
	main *lockFile
	next *lockFile
}

// openLock opens the files of a lock in dir, and makes them if necessary.
func openLock(dir *os.Root, name string) (*lock, error) {
	main, err := openLockFile(dir, name)
	if err != nil {
		return nil, err
	}
	next, err := openLockFile(dir, name+".next")
	if err != nil {
		return nil, errors.Join(err, main.close())
	}
	return &lock{turn: make(chan struct{}, 1), main: main, next: next}, nil
}

// acquire waits for the lock until ctx ends.
func (l *lock) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := l.next.wait(ctx)
	if err == nil {
		err = l.main.wait(ctx)
		l.next.release()
	}
	if err != nil {
		<-l.turn
	}
	return err
}

// try takes the lock if it is free.
func (l *lock) try() bool {
	select {
	case l.turn <- struct{}{}:
	default:
		return false
	}
	if ok, err := tryLock(l.main.open.Load()); ok && err == nil {
		return true
	}
	<-l.turn
	return false
}

// release releases the lock. It returns no error, since the work under the lock is done.
func (l *lock) release() {
	l.main.release()
	<-l.turn
}

func (l *lock) close() error { return errors.Join(l.main.close(), l.next.close()) }

// A lockFile is an open file that is locked as a whole.
type lockFile struct {
	dir  *os.Root
	name string
	open atomic.Pointer[os.File] // replaced by the holder of the lock only
}

func openLockFile(dir *os.Root, name string) (*lockFile, error) {
	f, err := openOwn(dir, name)
	if err != nil {
		return nil, err
	}
	l := &lockFile{dir: dir, name: name}
	l.open.Store(f)
	return l, nil
}

// release unlocks the file. If the system refuses that, the file is closed, which unlocks
// it too, and opened again. If that fails as well, this process keeps the lock, can take
// it again, and then tries again to release it.
func (l *lockFile) release() {
	f := l.open.Load()
	if unlock(f) == nil {
		return
	}
	again, err := openOwn(l.dir, l.name)
	if err != nil {
		return
	}
	if !sameFile(f, again) { // the store was deleted: nobody waits for this lock
		_ = again.Close()
		return
	}
	l.open.Store(again)
	_ = f.Close() // a goroutine that was reading the mark from it reads it again
}

func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

func (l *lockFile) close() error { return l.open.Load().Close() }

// Pauses between attempts to lock a file that another process has locked.
const (
	minPause = 50 * time.Microsecond
	maxPause = 2 * time.Millisecond
)

func (l *lockFile) wait(ctx context.Context) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		locked, err := tryLock(l.open.Load())
		if locked || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A mark is the contents of a store's lock file. It is also read without the lock.
type mark struct {
	generation uint64 // incremented whenever the index changes
	dirty      uint64 // dirty mark: not 0 while files may differ from the database; see dirtyState
}

func (l *lock) mark() (m mark, err error) {
	for {
		f := l.main.open.Load()
		m, err = readMark(f)
		if !errors.Is(err, fs.ErrClosed) || l.main.open.Load() == f {
			return m, err
		}
	}
}

func readMark(f *os.File) (m mark, err error) {
	var raw [16]byte
	if n, err := f.ReadAt(raw[:], 0); err != nil && !(errors.Is(err, io.EOF) && n == 0) {
		return m, err
	}
	return mark{binary.LittleEndian.Uint64(raw[:8]), binary.LittleEndian.Uint64(raw[8:])}, nil
}

// dead is the mark in the lock file of a deleted store. If the store is copied back under
// its ID it gets a new lock file, and perhaps another location.
var dead = mark{math.MaxUint64, math.MaxUint64}

func (l *lock) setMark(m mark) error { return setMark(l.main.open.Load(), m) }

// setMark does not flush: the mark matters only to running processes. After a restart of
// the machine, all files are compared when the folder is opened.
func setMark(f *os.File, m mark) error {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:8], m.generation)
	binary.LittleEndian.PutUint64(raw[8:], m.dirty)
	_, err := f.WriteAt(raw[:], 0)
	return err
}
