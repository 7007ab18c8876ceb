package dirstore

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"time"
)

// A lock is held by one goroutine of one process at a time. It dies with its
// holder, and whoever takes it next finds a mark if that had not finished.
//
// It has two files. The first is the lock proper. The second is the turnstile
// before it: who has passed it and waits for the lock keeps others from passing,
// so that a process which takes the lock again and again cannot keep it.
type lock struct {
	turn chan struct{} // holds a token while somebody in this process has the lock or waits in its name
	main *os.File
	next *os.File
}

// openLock opens the files of a lock in dir, and makes them if need be.
func openLock(dir *os.Root, name string) (*lock, error) {
	main, err := openOwn(dir, name)
	if err != nil {
		return nil, err
	}
	next, err := openOwn(dir, name+".next")
	if err != nil {
		return nil, errors.Join(err, main.Close())
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
	err := wait(ctx, l.next)
	if err == nil {
		err = wait(ctx, l.main)
		err = errors.Join(err, unlock(l.next))
	}
	if err != nil {
		<-l.turn
	}
	return err
}

// try takes the lock if nobody has it.
func (l *lock) try() bool {
	select {
	case l.turn <- struct{}{}:
	default:
		return false
	}
	if ok, err := tryLock(l.main); ok && err == nil {
		return true
	}
	<-l.turn
	return false
}

func (l *lock) release() error {
	err := unlock(l.main)
	<-l.turn
	return err
}

func (l *lock) close() error { return errors.Join(l.main.Close(), l.next.Close()) }

// How long to leave a file that another process has locked alone.
const (
	minPause = 50 * time.Microsecond
	maxPause = 2 * time.Millisecond
)

func wait(ctx context.Context, f *os.File) error {
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		locked, err := tryLock(f)
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

// A mark is what the file of a store's lock says, to those who have the lock and
// to those who have not.
type mark struct {
	generation uint64 // grows whenever the record changes
	unsettled  uint64 // not 0 while files may be behind the books
}

func (l *lock) mark() (m mark, err error) {
	var raw [16]byte
	if n, err := l.main.ReadAt(raw[:], 0); err != nil && !(errors.Is(err, io.EOF) && n == 0) {
		return m, err
	}
	return mark{binary.LittleEndian.Uint64(raw[:8]), binary.LittleEndian.Uint64(raw[8:])}, nil
}

// dead is the mark of a lock whose store was deleted. A store that is copied back under
// its ID has another lock, and perhaps another place.
var dead = mark{math.MaxUint64, math.MaxUint64}

// setMark needs no flush: the mark is for the living, and whoever opens the
// folder looks at everything.
func (l *lock) setMark(m mark) error {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:8], m.generation)
	binary.LittleEndian.PutUint64(raw[8:], m.unsettled)
	_, err := l.main.WriteAt(raw[:], 0)
	return err
}
