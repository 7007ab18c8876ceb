package sqlitestore

import (
	"errors"
	"sync/atomic"
	"time"

	"memento"
	"memento/internal/reserve"

	"zombiezen.com/go/sqlite"
)

// On a full disk SQLite cannot open a file, since it creates two more beside it, nor remove
// anything, since removals are written to the log first. So there is a reserve beside the
// database: a file with allocated but unused blocks. It is released
//
//  - to open the file, as much as SQLite's wal-index needs;
//  - for removals, and to revoke a key: see [writer.runWithReserve];
//  - to copy the log, which may make the database larger.
//
// Afterwards it is filled again as far as possible. While it is incomplete, all other
// writes are refused: they would use the space that the next removal needs.
//
// Everything in the log must fit into the database, or the log could not be restarted. So
// the reserve grows with what the log adds to the database, before a write is committed,
// and shrinks again after the log was copied.

const (
	// defaultReserve is the size of the reserve in bytes.
	defaultReserve = 2 << 20
	// openingBytes is how much space is needed to open a file: 32 KiB for the wal-index,
	// and some for the file system.
	openingBytes = 64 << 10
	// reserveStep is how much the reserve grows at a time.
	reserveStep = 1 << 20
	// reserveFresh is for how long the last check of the reserve is valid. Another process
	// may release the reserve in this time without being noticed.
	reserveFresh = 10 * time.Millisecond
	// plentyBytes is how many free bytes need no further check.
	plentyBytes = 16 << 20
)

// A diskSpace manages the space that a database has on its disk.
type diskSpace struct {
	path         string
	baseSize     int64         // size of the reserve while the log is empty
	reserve      *reserve.File // nil if there is no reserve
	pageSize     int64         // bytes in a page
	coveredPages int64         // how many pages the database may have without another check
	pages        int64         // how many it has at most, unless another process has added some since seenAt
	seenAt       time.Time     // when the reserve was last found complete
	full         atomic.Bool   // whether an ordinary write found no space, and no later check has found any
	released     bool          // whether the reserve is released at present
}

// openDiskSpace opens the reserve of the database at path. If no reserve can be created,
// because the directory accepts no more files, the database is used without.
func openDiskSpace(path string, size int64) *diskSpace {
	s := &diskSpace{path: path, baseSize: size}
	if size > 0 {
		s.reserve, _ = reserve.Open(path + reserve.Suffix)
	}
	return s
}

// onOpen is called when the database is open.
func (s *diskSpace) onOpen(c *conn) {
	s.pageSize = 4096
	_, _ = c.one(`PRAGMA page_size`, func(st *sqlite.Stmt) { s.pageSize = st.ColumnInt64(0) })
	s.full.Store(isFull(s.refill()))
}

// refill makes the reserve complete.
func (s *diskSpace) refill() error {
	if s.reserve == nil {
		return nil
	}
	return s.reserve.Fill(s.baseSize)
}

// recheck reports whether there is space again, in addition to a complete reserve.
func (s *diskSpace) recheck() bool {
	full := isFull(s.refill()) || isFull(s.probe(openingBytes))
	s.full.Store(full)
	return !full
}

// covers reports whether the reserve surely has space for an ordinary transaction that adds
// at most so many pages, counted from when the reserve was last found complete. Counting the
// pages of the database would take longer.
func (s *diskSpace) covers(newPages int64) bool {
	if s.reserve == nil {
		return true
	}
	if s.pages+newPages > s.coveredPages || time.Since(s.seenAt) >= reserveFresh {
		return false
	}
	s.pages += newPages
	return true
}

// reserveFor makes sure that a database of so many pages fits onto the medium, also if
// the log must still be copied into it. Errors: isFull.
func (s *diskSpace) reserveFor(pages int64) error {
	if s.reserve == nil {
		return nil
	}
	s.pages = pages
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
		// Reserve more than necessary, since the next write needs space, too.
		if need == s.baseSize || s.reserve.Fill(need+reserveStep) != nil {
			if err := s.reserve.Fill(need); isFull(err) {
				return err
			}
		}
		size = s.reserve.Size()
	}
	s.coveredPages = (s.fileSize() + max(0, size-s.baseSize/2)) / s.pageSize
	if size >= need {
		s.seenAt = time.Now()
	}
	return nil
}

// reserveForFreeing is reserveFor for removals, which may use the whole reserve.
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

// onLogCopied is called after the log was copied: the reserve can have its usual size
// again.
func (s *diskSpace) onLogCopied() {
	if s.reserve != nil {
		s.coveredPages = 0
		_ = s.reserve.Shrink(s.baseSize)
	}
}

func (s *diskSpace) fileSize() int64 { return sizeOf(s.path) }

// withReserve releases the reserve, runs do, and fills the reserve again as far as
// possible. Only one process does this at a time. If the others take longer than timeout,
// do runs without the reserve. The caller is the writer's leader.
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

// releasePart releases a part of the reserve.
func (s *diskSpace) releasePart(bytes int64) {
	if s.reserve != nil {
		_ = s.reserve.Shrink(max(0, s.reserve.Size()-bytes))
	}
}

// probe checks whether there is space for n more bytes. Errors: isFull. It returns nil if
// that is unknown.
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

// explain returns an error that says what is full.
func (s *diskSpace) explain(cause error) error {
	if !reserve.IsFull(cause) { // SQLite gives no details, or another process is using the reserve
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

// isFull reports whether an error says that there is no space. If a quota is exceeded,
// SQLite only reports a failed write: see diskSpace.isOutOfSpace.
func isFull(err error) bool {
	return err != nil && (reserve.IsFull(err) || errors.Is(err, reserve.ErrBusy) || errors.Is(err, memento.ErrNoSpace) ||
		sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull)
}

// isOutOfSpace reports whether err is caused by lack of space.
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
