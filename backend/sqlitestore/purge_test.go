package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/sqlitestore"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// forgotten is the word that a purge must remove from the file.
const forgotten = "zzqxsecretword"

// A hoard is a database with a store whose search index has segments. The word is in an
// older version of one of its memories, and so in a segment.
type hoard struct {
	path  string
	b     *sqlitestore.Backend
	store *memento.Store
}

func newHoard(t *testing.T) hoard {
	t.Helper()
	h := hoard{path: filepath.Join(t.TempDir(), "memento.db")}
	h.b = open(t, h.path)
	h.store = memento.OpenNamed(h.b, workspace, memento.StoreSpec{Name: "hoard", Settings: unscreened()}, nil)
	apply(t, h.store, memento.Put{Path: "/doomed", Content: "the " + forgotten + " of all"})
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 24 {
		var notes []memento.Change
		for j := range 50 {
			var text strings.Builder
			for range 100 {
				fmt.Fprintf(&text, "w%x ", rng.IntN(100_000))
			}
			notes = append(notes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: text.String()})
		}
		apply(t, h.store, notes...)
	}
	awaitSegments(t, h.path)
	apply(t, h.store, memento.Put{Path: "/doomed", Content: "harmless"})
	return h
}

// awaitSegments waits until a search index has segments, for which nobody need ask.
func awaitSegments(t *testing.T, path string) {
	t.Helper()
	for start := time.Now(); ask(t, path, `SELECT count(*) FROM search_segments WHERE state = 1`) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			t.Fatal("the search index has no segments")
		}
	}
}

// forget removes the version that has the word. It remains in the search index.
func (h hoard) forget(t *testing.T) {
	t.Helper()
	prune(t, h.b, h.store, memento.PruneOptions{Keep: 1})
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

// The words of a pruned version leave the file though others never cease to write and to
// search, and none of theirs is lost.
func TestPurgeWithConcurrentWriters(t *testing.T) {
	t.Parallel()
	h := newHoard(t)
	h.forget(t)
	start, n, slowest := time.Now(), 0, time.Duration(0)
	for ; onDisk(t, h.path, forgotten) != nil; n++ {
		if time.Since(start) > 2*time.Minute {
			t.Fatalf("it is still in %v", onDisk(t, h.path, forgotten))
		}
		began := time.Now()
		apply(t, h.store, memento.Put{Path: memento.Path(fmt.Sprintf("/fresh/%d", n)), Content: fmt.Sprintf("fresh%d", n)})
		if found, err := h.store.Search(t.Context(), memento.SearchOptions{Query: fmt.Sprintf("fresh%d", n)}); err != nil || len(found) == 0 {
			t.Fatalf("%d found, %v", len(found), err)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("forgotten after %v, beside %d writes and searches, of which the slowest took %v", time.Since(start), n, slowest)
	for i := range n {
		if found, err := h.store.Search(t.Context(), memento.SearchOptions{Query: fmt.Sprintf("fresh%d", i)}); err != nil || len(found) == 0 {
			t.Errorf("fresh%d: %d found, %v", i, len(found), err)
		}
	}
	h.sound(t)
}

// Close runs a pending purge.
func TestPurgeOnClose(t *testing.T) {
	t.Parallel()
	h := newHoard(t)
	h.forget(t)
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
			h, left := newHoard(t), hoard{path: filepath.Join(t.TempDir(), "left.db")}
			h.forget(t)
			if begun {
				h = duringPurge(t, func(h hoard) bool {
					left.path = filepath.Join(t.TempDir(), "left.db")
					if _, err := h.b.Backup(t.Context(), left.path, nil); err != nil {
						t.Fatal(err)
					}
					return ask(t, left.path, beganPurges) == 1
				})
			} else if _, err := h.b.Backup(t.Context(), left.path, nil); err != nil {
				t.Fatal(err)
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

// beganPurges counts the purges that are under way.
const beganPurges = `SELECT count(nullif(begun, 0)) FROM forgetting`

// duringPurge returns a hoard for which do has returned true while its purge was under way.
func duringPurge(t *testing.T, do func(hoard) bool) hoard {
	t.Helper()
	const attempts = 20 // a purge may end unseen, or before do
	for range attempts {
		h := newHoard(t)
		h.forget(t)
		start := time.Now()
		for ask(t, h.path, beganPurges) == 0 && ask(t, h.path, `SELECT count(*) FROM forgetting`) > 0 {
			if time.Since(start) > 2*time.Minute {
				t.Fatal("it does not begin")
			}
			time.Sleep(time.Millisecond)
		}
		if do(h) {
			return h
		}
		h.sound(t)
	}
	t.Fatal("no purge was seen")
	return hoard{}
}

// A redaction does not wait for the purge of another process. Words deleted after a purge
// has begun are not removed by that purge alone.
func TestRedactDuringPurge(t *testing.T) {
	t.Parallel()
	const late = "zzqxlateword"
	h := duringPurge(t, func(h hoard) bool { return ask(t, h.path, beganPurges) > 0 })
	second := open(t, h.path) // another process, as far as SQLite knows
	s := memento.OpenNamed(second, workspace, memento.StoreSpec{Name: "hoard"}, nil)
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

// Redactions at the same time share purges: they do not take over each other's again and again,
// which would then be in vain.
func TestRedactionsSharePurges(t *testing.T) {
	t.Parallel()
	const n = 12
	h := newHoard(t)
	var ids []memento.VersionID
	for i := range n {
		path := memento.Path(fmt.Sprintf("/late/%d", i))
		ids = append(ids, apply(t, h.store, memento.Put{Path: path, Content: fmt.Sprintf("zzqxlate%d", i)})[0].ID)
		apply(t, h.store, memento.Put{Path: path, Content: "harmless"})
	}
	execute(t, h.path, `CREATE TABLE purges (begun INTEGER PRIMARY KEY)`)
	execute(t, h.path, `CREATE TRIGGER note_purge AFTER UPDATE OF begun ON forgetting BEGIN INSERT OR IGNORE INTO purges VALUES (new.begun); END`)
	var redacting sync.WaitGroup
	for _, id := range ids {
		redacting.Go(func() {
			if _, err := h.store.Redact(t.Context(), id, memento.Actor{}); err != nil {
				t.Error(err)
			}
		})
	}
	redacting.Wait()
	if purges := ask(t, h.path, `SELECT count(*) FROM purges`); purges < 1 || purges > n/2 {
		t.Errorf("%d purges for %d redactions at the same time", purges, n)
	}
	for i := range n {
		if files := onDisk(t, h.path, fmt.Sprintf("zzqxlate%d", i)); files != nil {
			t.Errorf("text %d is in %v", i, files)
		}
	}
	execute(t, h.path, `DROP TRIGGER note_purge`)
	execute(t, h.path, `DROP TABLE purges`)
	h.sound(t)
}

// The words of a deleted store are gone when the call returns.
func TestDeleteStoreRemovesWords(t *testing.T) {
	t.Parallel()
	h := newHoard(t)
	if len(onDisk(t, h.path, forgotten)) == 0 {
		t.Fatal("the word is not there: nothing is tested")
	}
	id, err := h.store.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.b.DeleteStore(t.Context(), workspace, id); err != nil {
		t.Fatal(err)
	}
	if files := onDisk(t, h.path, forgotten); files != nil {
		t.Errorf("it is in %v", files)
	}
	if n := ask(t, h.path, `SELECT (SELECT count(*) FROM search_blocks) + (SELECT count(*) FROM search_segments)`); n != 0 {
		t.Errorf("%d rows of the index are left", n)
	}
	h.sound(t)
}

// The segments of an index serve the next process, which reads only what was written since.
func TestSegmentsOutliveProcess(t *testing.T) {
	t.Parallel()
	h := newHoard(t)
	if err := h.b.Close(); err != nil {
		t.Fatal(err)
	}
	// Texts that are not what the index says show whether they are read again.
	execute(t, h.path, `UPDATE contents SET data = replace(data, 'w', 'v') WHERE id <= 500`)
	h.b = open(t, h.path)
	s := memento.OpenNamed(h.b, workspace, memento.StoreSpec{Name: "hoard"}, nil)
	if found, err := s.Search(t.Context(), memento.SearchOptions{Query: "v1"}); err != nil || len(found) != 0 {
		t.Errorf("%d found of texts that are not indexed, %v: the store was read again", len(found), err)
	}
	if found, err := s.Search(t.Context(), memento.SearchOptions{Query: "harmless"}); err != nil || len(found) != 1 {
		t.Errorf("%d found of what was written since, %v", len(found), err)
	}
}
