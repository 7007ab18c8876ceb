package sqlitestore

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"memento"
	"memento/internal/reserve"

	"zombiezen.com/go/sqlite"
)

// On a full disk SQLite can neither open a file, since it makes two more beside it, nor
// remove anything, since that is written to the log first. So there is a reserve beside
// the database: a file with blocks that hold nothing. It is given up
//
//   - to open the file, as much as SQLite's wal-index needs;
//   - to what removes something, or revokes a key: see [writer.freeing];
//   - to copy the log, which may make the database larger.
//
// Afterwards it takes whatever room there is. While it is not whole, all other writes are
// refused: they would use up what the next removal needs.
//
// What is in the log must fit into the database, or the log could not be started over.
// So the reserve grows with what the log has appended to the database, before a write is
// committed, and shrinks again when the log was copied.

const (
	// defaultReserve is how large the reserve is, in bytes.
	defaultReserve = 2 << 20
	// openingNeeds is how much room it takes to open a file: 32 KiB for the wal-index,
	// and some for the file system.
	openingBytes = 64 << 10
	// reserveStep is by how much the reserve grows ahead of what is needed.
	reserveStep = 1 << 20
	// reserveFresh is how long the reserve is taken to be as it was last seen: as long as
	// another process may give it up before this one notices.
	reserveFresh = 10 * time.Millisecond
	// plenty is how many free bytes need no second look.
	plentyBytes = 16 << 20
)

// A space is the room that a database has on its medium.
type diskSpace struct {
	path         string
	baseSize     int64         // how large the reserve is while the log is empty
	reserve      *reserve.File // nil if there is none
	pageSize     int64         // bytes in a page
	coveredPages int64         // how many pages the database may come to have, as far as is known
	seenAt       time.Time     // when the reserve was last seen to be whole
	full         atomic.Bool   // whether an ordinary write found no room, and nobody has found any since
	released     bool          // whether the reserve is given up at present
}

// openSpace opens the reserve of the database at path. That there can be none, since the
// folder takes no more files, is no reason not to use the database.
func openDiskSpace(path string, size int64) *diskSpace {
	s := &diskSpace{path: path, baseSize: size}
	if size > 0 {
		s.reserve, _ = reserve.Open(path + reserve.Suffix)
	}
	return s
}

// opened is told that the database is open.
func (s *diskSpace) onOpen(c *conn) {
	s.pageSize = 4096
	_, _ = c.one(`PRAGMA page_size`, func(st *sqlite.Stmt) { s.pageSize = st.ColumnInt64(0) })
	s.full.Store(isFull(s.refill()))
}

// refill makes the reserve whole, unless it is.
func (s *diskSpace) refill() error {
	if s.reserve == nil {
		return nil
	}
	return s.reserve.Fill(s.baseSize)
}

// look reports whether there is room again, besides a whole reserve.
func (s *diskSpace) recheck() bool {
	full := isFull(s.refill()) || isFull(s.probe(openingBytes))
	s.full.Store(full)
	return !full
}

// cover makes sure that a database of so many pages fits onto the medium, also if what is
// in the log has yet to be copied. Errors: isFull.
func (s *diskSpace) reserveFor(pages int64) error {
	if s.reserve == nil {
		return nil
	}
	if pages <= s.coveredPages && time.Since(s.seenAt) < reserveFresh {
		return nil
	}
	size := s.reserve.Size()
	if size >= s.baseSize && pages <= s.coveredPages {
		s.seenAt = time.Now()
		return nil
	}
	need := max(s.baseSize, s.baseSize/2+max(0, pages*s.pageSize-s.fileSize()))
	if size < need {
		// Some more at once, since the next write wants it, too.
		if need == s.baseSize || s.reserve.Fill(need+reserveStep) != nil {
			if err := s.reserve.Fill(need); isFull(err) {
				return err
			}
		}
		size = s.reserve.Size()
	}
	s.coveredPages = (s.fileSize() + max(0, size-s.baseSize/2)) / s.pageSize
	return nil
}

// coverFreeing is cover for what removes something, which may use the whole reserve.
func (s *diskSpace) reserveForFreeing(pages, headroom int64) error {
	if s.reserve == nil || pages <= s.coveredPages {
		return nil
	}
	growth := max(0, pages*s.pageSize-s.fileSize())
	if s.released {
		return s.probe(growth + headroom)
	}
	if growth <= s.reserve.Size() {
		return nil
	}
	return s.reserve.Fill(growth)
}

// copied is told that the log was copied: the reserve need be no larger than usual.
func (s *diskSpace) onLogCopied() {
	if s.reserve != nil {
		s.coveredPages = 0
		_ = s.reserve.Shrink(s.baseSize)
	}
}

func (s *diskSpace) fileSize() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// lend has do happen with the room of the reserve, and takes back what is left of it. Of
// several processes one at a time does so. If the others take longer than patience, do
// happens without. The caller has the writer's lead.
func (s *diskSpace) withReserve(timeout time.Duration, do func()) {
	if s.reserve == nil || s.released {
		do()
		return
	}
	for start := time.Now(); ; time.Sleep(busyPause) {
		unlock, ok := s.reserve.Lock()
		if ok {
			defer unlock()
			break
		}
		if time.Since(start) > timeout {
			do()
			return
		}
	}
	s.released = true
	_ = s.reserve.Shrink(0)
	do()
	s.released, s.coveredPages = false, 0
	s.full.Store(isFull(s.refill()))
}

// lendSome gives a part of the reserve away, to whoever comes first.
func (s *diskSpace) releasePart(bytes int64) {
	if s.reserve != nil {
		_ = s.reserve.Shrink(max(0, s.reserve.Size()-bytes))
	}
}

// probe reports whether there is room for n bytes more. Errors: isFull; nil if nobody knows.
func (s *diskSpace) probe(n int64) error {
	if s.reserve == nil {
		if free := reserve.Free(s.path); free < 0 || free >= n {
			return nil
		}
		return memento.ErrNoSpace
	}
	err := s.reserve.Probe(n)
	if !isFull(err) {
		return nil
	}
	return err
}

// explain says what is full.
func (s *diskSpace) explain(cause error) error {
	if !reserve.IsFull(cause) { // SQLite does not say, or another process is using the reserve
		if err := s.probe(openingBytes); reserve.IsFull(err) {
			cause = err
		}
	}
	return reserve.Explain(cause, "the database", s.path)
}

func (s *diskSpace) close() {
	if s.reserve != nil {
		_ = s.reserve.Shrink(s.baseSize)
		_ = s.refill()
		_ = s.reserve.Close()
	}
}

// isFull reports whether an error says that there is no room on the medium. Of quotas
// SQLite only says that it could not write: see space.lacks.
func isFull(err error) bool {
	return err != nil && (reserve.IsFull(err) || errors.Is(err, reserve.ErrBusy) || errors.Is(err, memento.ErrNoSpace) ||
		sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull)
}

// lacks reports whether err is for lack of room.
func (s *diskSpace) isOutOfSpace(err error) bool {
	if err == nil || isTranslated(err) || errors.Is(err, memento.ErrUncertain) {
		return false
	}
	if isFull(err) {
		return true
	}
	switch sqlite.ErrCode(err) {
	case sqlite.ResultIOErrWrite, sqlite.ResultIOErrSHMSize, sqlite.ResultIOErrSHMOpen, sqlite.ResultIOErrSHMMap,
		sqlite.ResultIOErrTruncate, sqlite.ResultIOErrFsync, sqlite.ResultCantOpen:
		return s.probe(openingBytes) != nil
	}
	return false
}
