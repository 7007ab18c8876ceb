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
	openingNeeds = 64 << 10
	// reserveStep is by how much the reserve grows ahead of what is needed.
	reserveStep = 1 << 20
	// reserveFresh is how long the reserve is taken to be as it was last seen: as long as
	// another process may give it up before this one notices.
	reserveFresh = 10 * time.Millisecond
	// plenty is how many free bytes need no second look.
	plenty = 16 << 20
)

// A space is the room that a database has on its medium.
type space struct {
	path    string
	base    int64         // how large the reserve is while the log is empty
	reserve *reserve.File // nil if there is none
	page    int64         // bytes in a page
	covered int64         // how many pages the database may come to have, as far as is known
	seen    time.Time     // when the reserve was last seen to be whole
	full    atomic.Bool   // whether an ordinary write found no room, and nobody has found any since
	lent    bool          // whether the reserve is given up at present
}

// openSpace opens the reserve of the database at path. That there can be none, since the
// folder takes no more files, is no reason not to use the database.
func openSpace(path string, size int64) *space {
	s := &space{path: path, base: size}
	if size > 0 {
		s.reserve, _ = reserve.Open(path + reserve.Suffix)
	}
	return s
}

// opened is told that the database is open.
func (s *space) opened(c *conn) {
	s.page = 4096
	_, _ = c.one(`PRAGMA page_size`, func(st *sqlite.Stmt) { s.page = st.ColumnInt64(0) })
	s.full.Store(isFull(s.refill()))
}

// refill makes the reserve whole, unless it is.
func (s *space) refill() error {
	if s.reserve == nil {
		return nil
	}
	return s.reserve.Fill(s.base)
}

// look reports whether there is room again, besides a whole reserve.
func (s *space) look() bool {
	full := isFull(s.refill()) || isFull(s.probe(openingNeeds))
	s.full.Store(full)
	return !full
}

// cover makes sure that a database of so many pages fits onto the medium, also if what is
// in the log has yet to be copied. Errors: isFull.
func (s *space) cover(pages int64) error {
	if s.reserve == nil {
		return nil
	}
	if pages <= s.covered && time.Since(s.seen) < reserveFresh {
		return nil
	}
	size := s.reserve.Size()
	if size >= s.base && pages <= s.covered {
		s.seen = time.Now()
		return nil
	}
	need := max(s.base, s.base/2+max(0, pages*s.page-s.fileSize()))
	if size < need {
		// Some more at once, since the next write wants it, too.
		if need == s.base || s.reserve.Fill(need+reserveStep) != nil {
			if err := s.reserve.Fill(need); isFull(err) {
				return err
			}
		}
		size = s.reserve.Size()
	}
	s.covered = (s.fileSize() + max(0, size-s.base/2)) / s.page
	return nil
}

// coverFreeing is cover for what removes something, which may use the whole reserve.
func (s *space) coverFreeing(pages, headroom int64) error {
	if s.reserve == nil || pages <= s.covered {
		return nil
	}
	growth := max(0, pages*s.page-s.fileSize())
	if s.lent {
		return s.probe(growth + headroom)
	}
	if growth <= s.reserve.Size() {
		return nil
	}
	return s.reserve.Fill(growth)
}

// copied is told that the log was copied: the reserve need be no larger than usual.
func (s *space) copied() {
	if s.reserve != nil {
		s.covered = 0
		_ = s.reserve.Shrink(s.base)
	}
}

func (s *space) fileSize() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// lend has do happen with the room of the reserve, and takes back what is left of it. Of
// several processes one at a time does so. If the others take longer than patience, do
// happens without. The caller has the writer's lead.
func (s *space) lend(patience time.Duration, do func()) {
	if s.reserve == nil || s.lent {
		do()
		return
	}
	for start := time.Now(); ; time.Sleep(busyPause) {
		unlock, ok := s.reserve.Lock()
		if ok {
			defer unlock()
			break
		}
		if time.Since(start) > patience {
			do()
			return
		}
	}
	s.lent = true
	_ = s.reserve.Shrink(0)
	do()
	s.lent, s.covered = false, 0
	s.full.Store(isFull(s.refill()))
}

// lendSome gives a part of the reserve away, to whoever comes first.
func (s *space) lendSome(bytes int64) {
	if s.reserve != nil {
		_ = s.reserve.Shrink(max(0, s.reserve.Size()-bytes))
	}
}

// probe reports whether there is room for n bytes more. Errors: isFull; nil if nobody knows.
func (s *space) probe(n int64) error {
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
func (s *space) explain(cause error) error {
	if !reserve.IsFull(cause) { // SQLite does not say, or another process is using the reserve
		if err := s.probe(openingNeeds); reserve.IsFull(err) {
			cause = err
		}
	}
	return reserve.Explain(cause, "the database", s.path)
}

func (s *space) close() {
	if s.reserve != nil {
		_ = s.reserve.Shrink(s.base)
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
func (s *space) lacks(err error) bool {
	if err == nil || isOurs(err) || errors.Is(err, memento.ErrUncertain) {
		return false
	}
	if isFull(err) {
		return true
	}
	switch sqlite.ErrCode(err) {
	case sqlite.ResultIOErrWrite, sqlite.ResultIOErrSHMSize, sqlite.ResultIOErrSHMOpen, sqlite.ResultIOErrSHMMap,
		sqlite.ResultIOErrTruncate, sqlite.ResultIOErrFsync, sqlite.ResultCantOpen:
		return s.probe(openingNeeds) != nil
	}
	return false
}
