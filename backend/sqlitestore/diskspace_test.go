package sqlitestore

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Transactions that are not counted never add more pages, together, than there is space
// reserved for, and are counted again soon.
func TestReserveCovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	if err := os.WriteFile(path, make([]byte, 100*4096), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openDiskSpace(path, defaultReserve)
	defer s.close()
	s.pageSize = 4096
	count := func(pages int64) {
		t.Helper()
		if err := s.reserveFor(pages); err != nil {
			t.Fatal(err)
		}
		s.seenAt = time.Now().Add(time.Hour) // however slow this test is
	}
	if s.covers(1) {
		t.Error("covered before the pages were counted")
	}
	count(100)
	covered := s.coveredPages - 100
	if covered < 1 || covered*4096 > s.reserve.Size() {
		t.Fatalf("%d pages are covered by %d bytes", covered, s.reserve.Size())
	}
	if !s.covers(covered-1) || !s.covers(1) || s.covers(1) {
		t.Errorf("not exactly %d pages are covered", covered)
	}
	count(110)
	if !s.covers(covered-10) || s.covers(1) {
		t.Error("the count is not used")
	}
	count(100)
	s.seenAt = time.Now().Add(-reserveFresh)
	if s.covers(0) {
		t.Error("covered by an old count")
	}
	count(100)
	if s.onLogCopied(); s.covers(0) {
		t.Error("covered after the reserve was made smaller")
	}
}
