//go:build linux && faults

package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/sqlitestore"
	"memento/test/smalldisk"
)

var by = memento.Actor{Kind: memento.ActorUser, ID: "test"}

func putAll(t *testing.T, b memento.Backend, store memento.StoreID, n int, text string) {
	t.Helper()
	for i := range n {
		text := text
		if text == prose {
			text = words(i)
		}
		if _, err := b.Apply(t.Context(), store, by, []memento.Change{memento.Put{Path: memento.Path(fmt.Sprintf("/n%04d.md", i)), Content: fmt.Sprintf("word%d %s", i, text)}}); err != nil {
			t.Fatalf("put %d: %v", i, err)
		}
	}
}

// prose stands for a text of 5 kB, of some words out of many, another each time.
const prose = "prose"

func words(seed int) string {
	var b strings.Builder
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for b.Len() < 5000 {
		n := random.IntN(70)
		fmt.Fprintf(&b, "term%d ", n*n)
	}
	return b.String()
}

func put(b memento.Backend, store memento.StoreID, path memento.Path, text string) error {
	_, err := b.Apply(context.Background(), store, by, []memento.Change{memento.Put{Path: path, Content: text}})
	return err
}

func remove(b memento.Backend, store memento.StoreID, path memento.Path) error {
	_, err := b.Apply(context.Background(), store, by, []memento.Change{memento.Remove{Path: path}})
	return err
}

// versionsOf returns the versions that a path has had, newest first.
func versionsOf(t *testing.T, b memento.Backend, store memento.StoreID, path memento.Path) (versions []memento.Version) {
	t.Helper()
	for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{Path: path}) {
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	return versions
}

func openFull(t *testing.T, path string, opts *sqlitestore.Options) *sqlitestore.Backend {
	t.Helper()
	b, err := sqlitestore.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return b
}

func exhaust(t *testing.T, b memento.Backend, store memento.StoreID) {
	t.Helper()
	for i := range 4000 {
		err := put(b, store, memento.Path(fmt.Sprintf("/more/%d.md", i)), strings.Repeat("x", 4000))
		if err != nil {
			t.Logf("refused after %d: %v", i, err)
			if !errors.Is(err, memento.ErrNoSpace) {
				t.Fatalf("a write on a full disk: %v", err)
			}
			return
		}
	}
	t.Fatal("the disk never filled up")
}

// On a completely full disk, a database that is open, or opened again, can be read and
// searched, and its contents can be removed. Other writes are refused until there is space
// again.
func TestFaultFullDisk(t *testing.T) {
	for _, reopened := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopened=%v", reopened), func(t *testing.T) {
			dir := smalldisk.Mount(t, "16m")
			path := filepath.Join(dir, "memento.db")
			b := openFull(t, path, nil)
			info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "a"})
			if err != nil {
				t.Fatal(err)
			}
			other, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "b"})
			if err != nil {
				t.Fatal(err)
			}
			store := info.ID
			putAll(t, b, store, 200, strings.Repeat("text ", 400))
			putAll(t, b, other.ID, 100, strings.Repeat("text ", 400))
			if err := put(b, store, "/n0199.md", "newer"); err != nil {
				t.Fatal(err)
			}
			if reopened {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			}
			filler := smalldisk.Fill(t, dir)
			if reopened {
				b = openFull(t, path, nil)
			}
			if err := b.Ready(t.Context()); !errors.Is(err, memento.ErrNoSpace) {
				t.Errorf("Ready: %v", err)
			}
			exhaust(t, b, store)
			if err := b.Ready(t.Context()); !errors.Is(err, memento.ErrNoSpace) {
				t.Errorf("Ready: %v", err)
			}
			found, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "word7"})
			if err != nil || len(found) == 0 {
				t.Errorf("search: %v, %v", found, err)
			}
			for i := range 180 {
				smalldisk.Fill(t, dir)
				if reopened && i < 40 {
					if err := b.Close(); err != nil {
						t.Fatal(err)
					}
					smalldisk.Fill(t, dir)
					b = openFull(t, path, nil)
				}
				if err := remove(b, store, memento.Path(fmt.Sprintf("/n%04d.md", i))); err != nil {
					t.Fatalf("remove %d: %v", i, err)
				}
			}
			smalldisk.Fill(t, dir)
			if _, err := b.Redact(t.Context(), store, versionsOf(t, b, store, "/n0199.md")[1].ID, by); err != nil {
				t.Errorf("redact: %v", err)
			}
			smalldisk.Fill(t, dir)
			if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, other.ID); err != nil {
				t.Errorf("delete store: %v", err)
			}
			t.Log("after delete store: Ready", b.Ready(t.Context()))
			smalldisk.Fill(t, dir)
			sum, err := b.Prune(t.Context(), store, memento.PruneOptions{Before: time.Now()})
			if err != nil || sum.Versions < 180 {
				t.Errorf("prune: %v, %v", sum, err)
			}
			smalldisk.Fill(t, dir)
			for range 10 {
				if put(b, store, "/last.md", strings.Repeat("y", 50_000)) != nil {
					break
				}
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			if err := b.Ready(t.Context()); err != nil {
				t.Errorf("Ready with room: %v", err)
			}
			if err := put(b, store, "/again.md", strings.Repeat("x", 50_000)); err != nil {
				t.Errorf("put with room: %v", err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(path + "-reserve"); err != nil || info.Size() != 2<<20 {
				t.Errorf("the reserve afterwards: %v, %v", info, err)
			}
		})
	}
}

// filled makes a database with two stores on a small disk, and returns it open.
func filled(t *testing.T, path string, n int, text string) (b *sqlitestore.Backend, store, other memento.StoreID) {
	t.Helper()
	b = openFull(t, path, nil)
	var ids []memento.StoreID
	for _, name := range []string{"a", "b"} {
		info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		putAll(t, b, info.ID, n, text)
		ids = append(ids, info.ID)
	}
	return b, ids[0], ids[1]
}

// What is removed at once may be many times as much as the reserve: it leaves the
// database, its log and its free pages all the same.
func TestFaultFullDiskRemovesMuch(t *testing.T) {
	for _, how := range []string{"delete store", "prune", "redact", "remove all"} {
		t.Run(how, func(t *testing.T) {
			dir := smalldisk.Mount(t, "40m")
			path := filepath.Join(dir, "memento.db")
			b, store, other := filled(t, path, 1000, prose)
			for _, id := range []memento.StoreID{store, other} { // indexed
				if _, err := b.Search(t.Context(), id, memento.SearchOptions{Query: "word3"}); err != nil {
					t.Fatal(err)
				}
			}
			filler := smalldisk.Fill(t, dir)
			exhaust(t, b, other)
			var err error
			switch how {
			case "delete store":
				err = b.DeleteStore(t.Context(), memento.DefaultWorkspace, store)
			case "prune":
				for i := range 1000 {
					if err := remove(b, store, memento.Path(fmt.Sprintf("/n%04d.md", i))); err != nil {
						t.Fatalf("remove %d: %v", i, err)
					}
				}
				_, err = b.Prune(t.Context(), store, memento.PruneOptions{Before: time.Now().Add(time.Hour)})
			case "remove all":
				var changes []memento.Change
				for i := range 1000 {
					changes = append(changes, memento.Remove{Path: memento.Path(fmt.Sprintf("/n%04d.md", i))})
				}
				_, err = b.Apply(t.Context(), store, by, changes)
			case "redact":
				if err := remove(b, store, "/n0007.md"); err != nil {
					t.Fatal(err)
				}
				for _, v := range versionsOf(t, b, store, "/n0007.md") {
					if _, err := b.Redact(t.Context(), store, v.ID, by); err != nil {
						t.Errorf("redact: %v", err)
					}
				}
			}
			if err != nil {
				t.Errorf("%s: %v", how, err)
			}
			if how == "delete store" || how == "prune" {
				if err := put(b, other, "/new.md", words(1)); err != nil {
					t.Errorf("what was removed made no room: %v", err)
				}
				if info, err := os.Stat(path); err != nil || info.Size() > 14<<20 {
					t.Errorf("the database is as large as it was: %v, %v", info, err)
				}
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				info, _ := e.Info()
				t.Log(e.Name(), info.Size())
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			if _, err := sqlitestore.Verify(t.Context(), path, nil); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// Without a reserve, as files of earlier versions have none, a database on a full disk can
// be read, by several processes, also if it was not closed; and is written to by the same
// process as soon as there is room.
func TestFaultFullDiskWithoutReserve(t *testing.T) {
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut=%v", cut), func(t *testing.T) {
			dir := smalldisk.Mount(t, "16m")
			path := filepath.Join(dir, "memento.db")
			b, store, _ := filled(t, path, 50, "the text")
			var log, database []byte
			if cut {
				log, _ = os.ReadFile(path + "-wal")
				database, _ = os.ReadFile(path)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if cut {
				if err := errors.Join(os.WriteFile(path, database, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(path + "-reserve"); err != nil {
				t.Fatal(err)
			}
			filler := smalldisk.Fill(t, dir)
			b = openFull(t, path, nil)
			second := openFull(t, path, nil)
			for _, b := range []*sqlitestore.Backend{b, second} {
				n := 0
				for e, err := range b.List(t.Context(), store, memento.ListOptions{Dir: memento.Root}) {
					if err != nil {
						t.Fatal(err)
					}
					if m, err := b.Get(t.Context(), store, memento.ByPath(e.Path)); err != nil || !strings.HasSuffix(m.Content, "the text") {
						t.Fatalf("get: %v, %v", m, err)
					}
					n++
				}
				if n != 50 {
					t.Errorf("%d memories", n)
				}
				found, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "word7"})
				if err != nil || len(found) != 1 {
					t.Errorf("search: %v, %v", found, err)
				}
				for what, err := range map[string]error{"put": put(b, store, "/x", "x"), "remove": remove(b, store, "/n0001.md"), "Ready": b.Ready(t.Context())} {
					if !errors.Is(err, memento.ErrNoSpace) || !strings.Contains(err.Error(), "the disk that holds the database is full (0 bytes free)") {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			if err := second.Close(); err != nil {
				t.Error(err)
			}
			if err := put(b, store, "/x", "x"); err != nil {
				t.Errorf("put with room: %v", err)
			}
			if err := b.Ready(t.Context()); err != nil {
				t.Errorf("Ready with room: %v", err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			b = openFull(t, path, nil)
			if m, err := b.Get(t.Context(), store, memento.ByPath("/x")); err != nil {
				t.Errorf("afterwards: %v, %v", m, err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
