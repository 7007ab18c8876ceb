package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/storetest"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// spoil changes the contents of a file and updates the index's times, which simulates
// damage below the file system.
func (s *site) spoil(name, text string) {
	s.Helper()
	if err := s.b.Close(); err != nil {
		s.Fatal(err)
	}
	path := filepath.Join(s.memories, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		s.Fatal(err)
	}
	print := printOf(info)
	conn, err := sqlite.OpenConn(filepath.Join(s.base, hiddenFolder, indexFile), sqlite.OpenReadWrite)
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.Execute(conn, `UPDATE files SET mtime = ?, changed = ?, inode = ?, checked = ? WHERE path = ?`, &sqlitex.ExecOptions{
		Args: []any{print.mtime, print.changed, int64(print.inode), print.changed + time.Hour.Nanoseconds(), "/" + name},
	})
	if err != nil || conn.Changes() != 1 || info.Size() != print.size {
		s.Fatalf("%v, %d rows", err, conn.Changes())
	}
	s.b = s.open(nil)
}

// A file that the disk has damaged is found, is never served, and is written again.
func TestFileDamagedBelow(t *testing.T) {
	s := newSite(t)
	s.put("/a.md", "1000 EUR\n")
	s.put("/b.md", "beside it\n")
	verify := func() []string {
		faults, err := s.b.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return faults
	}
	if faults := verify(); len(faults) > 0 {
		t.Fatalf("sound, and %q", faults)
	}
	before := s.get("/a.md")
	s.spoil("a.md", "9000 EUR\n")
	s.holds(map[memento.Path]string{"/a.md": "1000 EUR\n", "/b.md": "beside it\n"})
	faults := verify()
	if len(faults) != 1 || !strings.Contains(faults[0], string(before.ID)) || !strings.Contains(faults[0], string(before.Version)) || strings.Contains(faults[0], "a.md") {
		t.Fatalf("found: %q", faults)
	}
	for _, dryRun := range []bool{true, false} {
		repaired, err := s.b.Repair(t.Context(), dryRun)
		if err != nil || len(repaired) != 1 || !strings.Contains(repaired[0], string(before.ID)) {
			t.Fatalf("repaired: %q, %v", repaired, err)
		}
		if dryRun != (len(verify()) == 1) {
			t.Errorf("dry run %v, and then %q", dryRun, verify())
		}
	}
	if data, err := os.ReadFile(filepath.Join(s.memories, "a.md")); err != nil || string(data) != "1000 EUR\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	if after := s.get("/a.md"); after.Version != before.Version || after.Content != before.Content {
		t.Errorf("%+v, and before %+v", after, before)
	}
	s.reopen()
	if faults := verify(); len(faults) > 0 {
		t.Errorf("after reopening: %q", faults)
	}
}

// A change by hand is not damage.
func TestEditIsNoDamage(t *testing.T) {
	s := newSite(t)
	s.put("/a.md", "1000 EUR\n")
	if err := os.WriteFile(filepath.Join(s.memories, "a.md"), []byte("9000 EUR\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults, err := s.b.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("%q, %v", faults, err)
	}
	s.holds(map[memento.Path]string{"/a.md": "9000 EUR\n"})
}

// What is damaged in the database is still in the file, and a change of the file by hand
// becomes a version nevertheless.
func TestSalvage(t *testing.T) {
	s := newSite(t)
	s.put("/a.md", "the text of a\n")
	s.put("/b.md", "the text of b\n")
	a := s.get("/a.md")
	if err := s.b.Close(); err != nil {
		t.Fatal(err)
	}
	blobs, err := storetest.FileBlobs(filepath.Join(s.base, hiddenFolder, dbFile))
	if err != nil {
		t.Fatal(err)
	}
	data := strings.ReplaceAll(string(blobs[0].Data), "the text of", "The text of")
	if err := blobs[0].Write(t.Context(), []byte(data)); err != nil {
		t.Fatal(err)
	}
	s.b = s.open(nil)
	s.getError("/a.md", memento.ErrDamaged)
	if text, err := s.b.Salvage(t.Context(), s.store, a.Version); err != nil || text != "the text of a\n" {
		t.Errorf("salvaged: %q, %v", text, err)
	}
	if text, err := s.b.Salvage(t.Context(), s.store, "memver_unknown"); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("of an unknown version: %q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(s.memories, "b.md"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.get("/b.md").Content; got != "by hand\n" {
		t.Errorf("changed by hand: %q", got)
	}
	s.getError("/a.md", memento.ErrDamaged)
}
