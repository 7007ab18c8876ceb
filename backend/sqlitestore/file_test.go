package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/sqlitestore"
	"memento/sensitive"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const workspace = memento.DefaultWorkspace

func open(t *testing.T, path string) *sqlitestore.Backend {
	t.Helper()
	b, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// onDisk reports which of a database's files hold a text.
func onDisk(t *testing.T, path, text string) (files []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(data), []byte(text)) {
			files = append(files, "memento.db"+suffix)
		}
	}
	return files
}

// Redacted contents are removed from the medium (tables, search index and log) at once;
// pruned versions and deleted stores some seconds later.
func TestRedactedLeavesTheDisk(t *testing.T) {
	const secret = "zzqxsecretword"
	tests := []struct {
		name string
		soon bool // within seconds instead of at once
		// forget removes the secret that store s has at /a.
		forget func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID)
	}{
		{"overwritten", false, func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID) {
			apply(t, s, memento.Put{Path: "/a", Content: "harmless"})
			redact(t, s, id)
		}},
		{"removed", false, func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID) {
			apply(t, s, memento.Remove{Path: "/a"})
			redact(t, s, id)
		}},
		{"pruned", true, func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID) {
			apply(t, s, memento.Put{Path: "/a", Content: "harmless"})
			prune(t, b, s, memento.PruneOptions{})
		}},
		{"removed and pruned", true, func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID) {
			apply(t, s, memento.Remove{Path: "/a"})
			prune(t, b, s, memento.PruneOptions{})
		}},
		{"pruned alone", true, func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID) {
			v := apply(t, s, memento.Remove{Path: "/a"})[0]
			prune(t, b, s, memento.PruneOptions{Memory: v.Memory})
		}},
		{"store deleted", true, func(t *testing.T, b *sqlitestore.Backend, s *memento.Store, id memento.VersionID) {
			store, err := s.ID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := b.DeleteStore(t.Context(), workspace, store); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some of it is waiting
			path := filepath.Join(t.TempDir(), "memento.db")
			b := open(t, path)
			s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
			for i := range 50 { // so that there is an index to hide in
				apply(t, s, memento.Put{Path: memento.Path(fmt.Sprintf("/n%d", i)), Content: strings.Repeat("some words ", i)})
			}
			id := apply(t, s, memento.Put{Path: "/a", Content: "the " + secret + " of all"})[0].ID
			found, err := s.Search(t.Context(), memento.SearchOptions{Query: secret})
			if err != nil || len(found) != 1 {
				t.Fatalf("%d found, %v", len(found), err)
			}
			if len(onDisk(t, path, secret)) == 0 {
				t.Fatal("the secret is not on the disk: nothing is tested")
			}
			tt.forget(t, b, s, id)
			for start := time.Now(); tt.soon && onDisk(t, path, secret) != nil && time.Since(start) < 2*time.Minute; {
				time.Sleep(20 * time.Millisecond)
			}
			if files := onDisk(t, path, secret); files != nil {
				t.Errorf("it is still in %v", files)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if files := onDisk(t, path, secret); files != nil {
				t.Errorf("once closed, it is in %v", files)
			}
		})
	}
}

func apply(t *testing.T, s *memento.Store, changes ...memento.Change) []memento.Version {
	t.Helper()
	done, err := s.Apply(t.Context(), memento.Actor{}, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return done.Versions
}

func redact(t *testing.T, s *memento.Store, id memento.VersionID) {
	t.Helper()
	if _, err := s.Redact(t.Context(), id, memento.Actor{}); err != nil {
		t.Fatal(err)
	}
}

func prune(t *testing.T, b *sqlitestore.Backend, s *memento.Store, opts memento.PruneOptions) {
	t.Helper()
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opts.Before = time.Now().Add(time.Hour)
	if sum, err := b.Prune(t.Context(), id, opts); err != nil || sum.Versions == 0 {
		t.Fatalf("pruned %+v, %v", sum, err)
	}
}

// What is pruned is given back to the file system.
func TestPruneShrinksTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memento.db")
	b := open(t, path)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	for i := range 200 {
		apply(t, s, memento.Put{Path: "/a", Content: strings.Repeat(fmt.Sprint("some words ", i), 2000)})
	}
	size := func() (n int64) {
		for _, name := range []string{path, path + "-wal"} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			n += info.Size()
		}
		return n
	}
	before := size()
	prune(t, b, s, memento.PruneOptions{Keep: 2})
	if after := size(); after > before/20 {
		t.Errorf("%d bytes of %d are left, though 2 of 200 versions are", after, before)
	}
}

// What a short process leaves to do is done when it closes the file, or by the
// next that prunes.
func TestPrunedWordsGoWithTheProcess(t *testing.T) {
	const secret = "zzqxsecretword"
	path := filepath.Join(t.TempDir(), "memento.db")
	b := open(t, path)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	for i := range 50 {
		apply(t, s, memento.Put{Path: memento.Path(fmt.Sprintf("/n%d", i)), Content: strings.Repeat("some words ", i)})
	}
	apply(t, s, memento.Put{Path: "/a", Content: secret})
	if _, err := s.Search(t.Context(), memento.SearchOptions{Query: secret}); err != nil { // which indexes it
		t.Fatal(err)
	}
	v := apply(t, s, memento.Remove{Path: "/a"})[0]
	prune(t, b, s, memento.PruneOptions{Memory: v.Memory})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if files := onDisk(t, path, secret); files != nil {
		t.Errorf("once closed, it is in %v", files)
	}
}

// A store's space goes back when it is deleted.
func TestDeleteStoreShrinksTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memento.db")
	b := open(t, path)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	for i := range 50 {
		apply(t, s, memento.Put{Path: memento.Path(fmt.Sprintf("/n%d", i)), Content: strings.Repeat(fmt.Sprint("some words ", i), 5000)})
	}
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteStore(t.Context(), workspace, id); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 300_000 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// Files that are not ours are refused, and left as they are.
func TestForeignFiles(t *testing.T) {
	tests := []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"text", "is not a database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"another program's", "another program", func(t *testing.T, path string) { execute(t, path, "CREATE TABLE theirs (x)") }},
		{"a newer memento's", "was written by a newer memento", func(t *testing.T, path string) {
			open(t, path).Close()
			execute(t, path, "PRAGMA user_version = 1000")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memento.db")
			tt.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = sqlitestore.Open(t.Context(), path, nil)
			if !errors.Is(err, memento.ErrFormat) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func execute(t *testing.T, path, script string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		t.Fatal(err)
	}
}

// Errors name no path on the host, and a new file is its owner's alone.
func TestFileAndItsErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "missing", "memento.db"), nil)
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("in a missing folder: %v", err)
	}
	path := filepath.Join(dir, "memento.db")
	open(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 && os.PathSeparator == '/' {
		t.Errorf("mode %v", mode)
	}
}

// Many that make the file at the same time all succeed.
func TestFirstOpenIsRaced(t *testing.T) {
	for range 10 {
		path := filepath.Join(t.TempDir(), "memento.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				b, err := sqlitestore.Open(t.Context(), path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Close()
				s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
				if _, err := s.Ensure(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// While another process holds the lock, callers keep their deadlines, and closing does not wait for it.
func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memento.db")
	b := open(t, path)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	apply(t, s, memento.Put{Path: "/a", Content: "x"})
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := s.Apply(ctx, memento.Actor{}, memento.Put{Path: "/b"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Apply: %v", err)
	}
	if _, err := s.Get(t.Context(), memento.ByPath("/a")); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A fault in the middle of a transaction ends it with an error, and not those that follow.
func TestPanicInTransaction(t *testing.T) {
	broken := false
	b, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memento.db"), &sqlitestore.Options{Now: func() time.Time {
		if broken {
			panic("the clock fell off the wall")
		}
		return time.Now()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	apply(t, s, memento.Put{Path: "/a", Content: "one"})
	broken = true
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: "two"}); err == nil || !strings.Contains(err.Error(), "internal fault") {
		t.Errorf("Apply: %v", err)
	}
	broken = false
	if m, err := s.Get(t.Context(), memento.ByPath("/a")); err != nil || m.Content != "one" {
		t.Errorf("%q, %v", m.Content, err)
	}
	apply(t, s, memento.Put{Path: "/a", Content: "three"})
}
