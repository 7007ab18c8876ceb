package sqlitestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/sqlitestore"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// forgotten is the word that a purge must remove from the file.
const forgotten = "zzqxsecretword"

// A hoard is a database whose search index takes many steps to rewrite, with a store
// that has the word, and another that does not.
type hoard struct {
	path   string
	b      *sqlitestore.Backend
	doomed memento.StoreID
	other  *memento.Store
}

func newHoard(t *testing.T) hoard {
	t.Helper()
	h := hoard{path: filepath.Join(t.TempDir(), "memento.db")}
	h.b = open(t, h.path)
	h.other = memento.OpenNamed(h.b, workspace, memento.StoreSpec{Name: "other", Settings: unscreened()}, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		var notes []memento.Change
		for j := range 50 {
			var text strings.Builder
			for range 250 {
				fmt.Fprintf(&text, "w%x ", rng.IntN(100_000))
			}
			notes = append(notes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: text.String()})
		}
		apply(t, h.other, notes...)
	}
	doomed := memento.OpenNamed(h.b, workspace, memento.StoreSpec{Name: "doomed", Settings: unscreened()}, nil)
	apply(t, doomed, memento.Put{Path: "/a", Content: "the " + forgotten + " of all"})
	for _, s := range []*memento.Store{doomed, h.other} { // which indexes them
		if _, err := s.Search(t.Context(), memento.SearchOptions{Query: forgotten}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.doomed, err = doomed.ID(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h hoard) deleteDoomed(t *testing.T) {
	t.Helper()
	if err := h.b.DeleteStore(t.Context(), workspace, h.doomed); err != nil {
		t.Fatal(err)
	}
	if len(onDisk(t, h.path, forgotten)) == 0 {
		t.Fatal("the word is gone already: nothing is tested")
	}
}

// sound closes the backend and looks whether all of its file is as it should be.
func (h hoard) sound(t *testing.T) {
	t.Helper()
	if err := h.b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Verify(t.Context(), h.path, nil); err != nil {
		t.Error(err)
	}
}

func ask(t *testing.T, path, query string) int64 {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetBusyTimeout(time.Minute)
	n, err := sqlitex.ResultInt64(c.Prep(query))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The words of a deleted store leave the file though others never cease to write and
// to search, and none of theirs is lost.
func TestPurgeWithConcurrentWriters(t *testing.T) {
	t.Parallel()
	h := newHoard(t)
	h.deleteDoomed(t)
	start, n, slowest := time.Now(), 0, time.Duration(0)
	for ; onDisk(t, h.path, forgotten) != nil; n++ {
		if time.Since(start) > 2*time.Minute {
			t.Fatalf("it is still in %v", onDisk(t, h.path, forgotten))
		}
		began := time.Now()
		apply(t, h.other, memento.Put{Path: memento.Path(fmt.Sprintf("/fresh/%d", n)), Content: fmt.Sprintf("fresh%d", n)})
		if found, err := h.other.Search(t.Context(), memento.SearchOptions{Query: fmt.Sprintf("fresh%d", n)}); err != nil || len(found) == 0 {
			t.Fatalf("%d found, %v", len(found), err)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("forgotten after %v, beside %d writes and searches, of which the slowest took %v", time.Since(start), n, slowest)
	for i := range n {
		if found, err := h.other.Search(t.Context(), memento.SearchOptions{Query: fmt.Sprintf("fresh%d", i)}); err != nil || len(found) == 0 {
			t.Errorf("fresh%d: %d found, %v", i, len(found), err)
		}
	}
	h.sound(t)
}

// Close runs a pending purge.
func TestPurgeOnClose(t *testing.T) {
	t.Parallel()
	h := newHoard(t)
	h.deleteDoomed(t)
	h.sound(t)
	if files := onDisk(t, h.path, forgotten); files != nil {
		t.Errorf("once closed, it is in %v", files)
	}
}

// If a process has died before or during a purge, the next process to open the file
// completes it.
func TestPurgeLeftByDeadProcess(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprintf("begun %t", begun), func(t *testing.T) {
			t.Parallel()
			h := newHoard(t)
			h.deleteDoomed(t)
			for start := time.Now(); begun && ask(t, h.path, `SELECT count(upto) FROM forgetting`) == 0; time.Sleep(time.Millisecond) {
				if time.Since(start) > 2*time.Minute {
					t.Fatal("it does not begin")
				}
			}
			left := hoard{path: filepath.Join(t.TempDir(), "left.db")}
			if _, err := h.b.Backup(t.Context(), left.path, nil); err != nil {
				t.Fatal(err)
			}
			if got := ask(t, left.path, `SELECT count(upto) FROM forgetting`); got != 1 && begun {
				t.Fatalf("%d rewritings have begun: nothing is tested", got)
			}
			execute(t, left.path, `UPDATE forgetting SET since = since - 2 * 60 * 1000000`)
			left.b = open(t, left.path)
			left.sound(t)
			if files := onDisk(t, left.path, forgotten); files != nil {
				t.Errorf("it is in %v", files)
			}
			h.sound(t)
		})
	}
}

// A redaction does not wait for the purge of another process. Words deleted after a purge
// has begun are not removed by that purge alone.
func TestRedactDuringPurge(t *testing.T) {
	t.Parallel()
	const late = "zzqxlateword"
	h := newHoard(t)
	h.deleteDoomed(t)
	for start := time.Now(); ask(t, h.path, `SELECT count(upto) FROM forgetting`) == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			t.Fatal("it does not begin")
		}
	}
	second := open(t, h.path) // another process, as far as SQLite knows
	s := memento.OpenNamed(second, workspace, memento.StoreSpec{Name: "other"}, nil)
	id := apply(t, s, memento.Put{Path: "/late", Content: late})[0].ID
	if found, err := s.Search(t.Context(), memento.SearchOptions{Query: late}); err != nil || len(found) != 1 {
		t.Fatalf("%d found, %v", len(found), err)
	}
	apply(t, s, memento.Put{Path: "/late", Content: "harmless"})
	redact(t, s, id)
	for _, word := range []string{forgotten, late} {
		if files := onDisk(t, h.path, word); files != nil {
			t.Errorf("%s is still in %v", word, files)
		}
	}
	if n := ask(t, h.path, `SELECT count(*) FROM forgetting`); n != 0 {
		t.Errorf("%d marks are left", n)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	h.sound(t)
}

// Structure records that are cut off or garbled are errors, or make sense, but never
// take long or panic.
func TestStructures(t *testing.T) {
	h := newHoard(t)
	c, err := sqlite.OpenConn(h.path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var record []byte
	err = sqlitex.ExecuteTransient(c, `SELECT block FROM words_data WHERE id = 10`, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		record = make([]byte, s.ColumnLen(0))
		s.ColumnBytes(0, record)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitestore.ParseSegments(record); err != nil {
		t.Errorf("%x: %v", record, err)
	}
	for n := range record {
		if err := sqlitestore.ParseSegments(record[:n]); err == nil {
			t.Errorf("%d bytes of %x are no error", n, record)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range record {
		for _, b := range []byte{0, 0x7f, 0x80, 0xff} {
			garbled := append([]byte(nil), record...)
			garbled[i] = b
			_ = sqlitestore.ParseSegments(garbled)
		}
	}
	if ctx.Err() != nil {
		t.Error("it took too long")
	}
}

// Quiet moments are used for the indexes of all stores.
func TestIndexesInQuietMoments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memento.db")
	b := open(t, path)
	for _, name := range []string{"one", "two", "three", "four"} {
		s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: name, Settings: unscreened()}, nil)
		apply(t, s, memento.Put{Path: "/a", Content: name})
	}
	for _, turn := range []string{"first", "second"} {
		for start := time.Now(); ask(t, path, `SELECT count(*) FROM counters WHERE indexed_seq < last_seq`) > 0; time.Sleep(20 * time.Millisecond) {
			if time.Since(start) > 2*time.Minute {
				t.Fatalf("%s turn: not all are indexed", turn)
			}
		}
		// The first one again, after which the last step ended.
		s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "one"}, nil)
		apply(t, s, memento.Put{Path: "/b", Content: turn})
	}
}
