package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/sqlitestore"
	"memento/test/proctest"

	"github.com/google/go-cmp/cmp"
)

// A place is a database to be replaced, and a backup of another.
type place struct {
	dir, path, backup string
	old, new          memento.StoreID // in the one and in the other
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{dir: t.TempDir()}
	p.path, p.backup = filepath.Join(p.dir, "memento.db"), filepath.Join(p.dir, "backup")
	for _, x := range []struct {
		name, path string
		id         *memento.StoreID
	}{{"old", p.path, &p.old}, {"new", filepath.Join(t.TempDir(), "memento.db"), &p.new}} {
		b, err := sqlitestore.Open(t.Context(), x.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		*x.id = makeStore(t, b, x.name, 20)
		if x.name == "new" {
			backUp(t, b, p.backup)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

var replacing = &sqlitestore.RestoreOptions{Replace: true, Now: func() time.Time { return time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC) }}

// kept is what the database at a path is kept as by replacing.
func (p *place) kept() string { return p.path + ".before-20261121T101500Z" }

// names checks the names in the directory, except the backup.
func (p *place) names(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{"backup"}, want...), namesIn(t, p.dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// holds checks that the database at path is sound, and has this one store.
func holds(t *testing.T, path string, store memento.StoreID) {
	t.Helper()
	b := open(t, path)
	defer b.Close()
	var stores []memento.StoreID
	for info, err := range b.ListStores(t.Context(), workspace, memento.StoreListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, info.ID)
	}
	if diff := cmp.Diff([]memento.StoreID{store}, stores); diff != "" {
		t.Errorf("stores (-want +got):\n%s", diff)
		return
	}
	if n := len(history(t, b, store)); n < 40 {
		t.Errorf("%d versions", n)
	}
	if _, err := writePair(t.Context(), b, store, "/later", 1); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sqlitestore.Verify(t.Context(), path, nil); err != nil {
		t.Error(err)
	}
}

func TestRestore(t *testing.T) {
	p := newPlace(t)
	target := filepath.Join(p.dir, "copy.db")
	done, err := sqlitestore.Restore(t.Context(), target, p.backup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done.Stores != 1 || done.Versions != 40 || done.Kept != "" {
		t.Errorf("restored %+v", done)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info, err)
	}
	p.names(t, "copy.db", "memento.db")
	holds(t, target, p.new)
	p.names(t, "copy.db", "memento.db")
}

// What is there stays, unless it is to be replaced; then it is kept.
func TestRestoreReplaces(t *testing.T) {
	p := newPlace(t)
	before, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, nil); !errors.Is(err, memento.ErrExist) || strings.Contains(err.Error(), p.dir) {
		t.Errorf("without leave: %v", err)
	}
	if after, err := os.ReadFile(p.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database was changed (%v)", err)
	}
	done, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing)
	if err != nil {
		t.Fatal(err)
	}
	if done.Kept != p.kept() {
		t.Errorf("kept as %q", done.Kept)
	}
	p.names(t, "memento.db", filepath.Base(p.kept()))
	holds(t, p.path, p.new)
	holds(t, p.kept(), p.old)
	// Once more in the same second.
	if done, err = sqlitestore.Restore(t.Context(), p.path, p.backup, replacing); err != nil || done.Kept != p.kept()+"-2" {
		t.Errorf("kept as %q, %v", done.Kept, err)
	}
}

// What a process that died has left in the log is in the database that is kept.
func TestRestoreKeepsTheLog(t *testing.T) {
	p := newPlace(t)
	c := proctest.Start(t, childTask{Kind: "write", Path: p.path, Store: p.old})
	var last memento.VersionID
	for range 50 {
		if !c.Lines.Scan() {
			t.Fatal(c.Errs.String())
		}
		last = memento.VersionID(c.Lines.Text())
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	p.names(t, "memento.db", "memento.db-shm", "memento.db-wal")
	if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing); err != nil {
		t.Fatal(err)
	}
	p.names(t, "memento.db", filepath.Base(p.kept()))
	holds(t, p.path, p.new)
	if _, err := open(t, p.kept()).GetVersion(t.Context(), p.old, last); err != nil {
		t.Errorf("what was acknowledged before the restore: %v", err)
	}
}

// A database that a process has open, idle or not, is not replaced.
func TestRestoreInUse(t *testing.T) {
	p := newPlace(t)
	refused := func(what string) {
		t.Helper()
		if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing); !errors.Is(err, backend.ErrInUse) {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range namesIn(t, p.dir) {
			if strings.Contains(name, ".before-") || strings.Contains(name, ".restoring-") {
				t.Errorf("%s: %s was left", what, name)
			}
		}
	}
	c := proctest.Start(t, childTask{Kind: "hold", Path: p.path})
	if !c.Lines.Scan() {
		t.Fatal(c.Errs.String())
	}
	refused("idle")
	writing := proctest.Start(t, childTask{Kind: "write", Path: p.path, Store: p.old})
	if !writing.Lines.Scan() {
		t.Fatal(writing.Errs.String())
	}
	c.End(t)
	refused("writing")
	writing.End(t)

	b := open(t, p.path)
	refused("this process")
	if _, err := writePair(t.Context(), b, p.old, "/still", 1); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing); err != nil {
		t.Errorf("not in use: %v", err)
	}
	holds(t, p.path, p.new)
}

// A database that SQLite cannot read any more is replaced, and kept, unless a
// process has it open.
func TestRestoreReplacesDamaged(t *testing.T) {
	p := newPlace(t)
	c := proctest.Start(t, childTask{Kind: "hold", Path: p.path})
	if !c.Lines.Scan() {
		t.Fatal(c.Errs.String())
	}
	garbage := []byte("what the disk has made of it: " + strings.Repeat("garbage ", 1000))
	if err := os.WriteFile(p.path, garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing); os.PathSeparator == '/' && !errors.Is(err, backend.ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	c.Process.Kill()
	c.Wait()
	done, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(garbage, got) {
		t.Errorf("kept: %q, %v", got, err)
	}
	holds(t, p.path, p.new)
}

// A log without its database is not taken for that of the new one.
func TestRestoreBesideALog(t *testing.T) {
	p := newPlace(t)
	if err := os.Rename(p.path, p.path+"-wal"); err != nil { // any file
		t.Fatal(err)
	}
	if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, nil); !errors.Is(err, memento.ErrExist) {
		t.Errorf("without leave: %v", err)
	}
	done, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing)
	if err != nil || done.Kept != p.kept()+"-wal" {
		t.Fatalf("kept as %q, %v", done.Kept, err)
	}
	p.names(t, "memento.db", filepath.Base(done.Kept))
	holds(t, p.path, p.new)
}

// What Restore must not do.
func TestRestoreRefuses(t *testing.T) {
	p := newPlace(t)
	foreign := filepath.Join(p.dir, "foreign.db")
	execute(t, foreign, "CREATE TABLE theirs (x)")
	for _, link := range []struct{ from, to string }{{"/nowhere/at/all", "dangling"}, {p.backup, "itself"}} {
		if err := os.Symlink(link.from, filepath.Join(p.dir, link.to)); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	want := namesIn(t, p.dir)
	for _, tt := range []struct {
		name, target, backup string
		ctx                  context.Context
		want                 error
	}{
		{"no backup", p.path, filepath.Join(p.dir, "missing"), t.Context(), fs.ErrNotExist},
		{"a folder for a backup", p.path, p.dir, t.Context(), memento.ErrFormat},
		{"a folder for a database", p.dir, p.backup, t.Context(), memento.ErrExist},
		{"itself", p.backup, p.backup, t.Context(), memento.ErrInvalid},
		{"itself, by a link", filepath.Join(p.dir, "itself"), p.backup, t.Context(), memento.ErrInvalid},
		{"a link to nowhere", filepath.Join(p.dir, "dangling"), p.backup, t.Context(), memento.ErrExist},
		{"no folder", filepath.Join(p.dir, "missing", "memento.db"), p.backup, t.Context(), fs.ErrNotExist},
		{"another program's", foreign, p.backup, t.Context(), memento.ErrFormat},
		{"cancelled", p.path, p.backup, cancelled, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sqlitestore.Restore(tt.ctx, tt.target, tt.backup, replacing)
			if !errors.Is(err, tt.want) || err != nil && strings.Contains(err.Error(), p.dir) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
	if diff := cmp.Diff(want, namesIn(t, p.dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	holds(t, p.path, p.old)
}

// A link to the database stays one, and what it leads to is replaced.
func TestRestoreThroughALink(t *testing.T) {
	p := newPlace(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(p.path, link); err != nil {
		t.Fatal(err)
	}
	done, err := sqlitestore.Restore(t.Context(), link, p.backup, replacing)
	if err != nil || filepath.Dir(done.Kept) == filepath.Dir(link) {
		t.Fatalf("kept as %q, %v", done.Kept, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	holds(t, p.path, p.new)
}

// If a process dies while restoring, either the old database or the new one is there.
func TestRestoreKilled(t *testing.T) {
	for step, isNew := range map[string]bool{"held": false, "copied": false, "brought": false, "kept": false, "placed": true} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if !proctest.Start(t, childTask{Kind: "restore", Path: p.path, Backup: p.backup, Step: step}).Died(t) {
				t.Fatal("the child was not killed")
			}
			want := p.old
			if isNew {
				want = p.new
			}
			holds(t, p.path, want)
			done, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, p.path, p.new)
			holds(t, done.Kept, want)
		})
	}
}

// A process that opens the database while it is replaced gets the new one, or an error,
// and damages neither.
func TestRestoreWhileOpened(t *testing.T) {
	for _, step := range []string{"held", "kept", "placed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			opened := make(chan error)
			opts := *replacing
			opts.SetStep(func(at string) {
				if at != step {
					return
				}
				go func() {
					b, err := sqlitestore.Open(t.Context(), p.path, nil)
					if err == nil {
						_, err = b.GetStore(t.Context(), workspace, p.new)
						err = errors.Join(err, b.Close())
					}
					opened <- err
				}()
				for step != "placed" && proctest.TimesOpen(p.path) == 1 { // the restore's own
					time.Sleep(time.Millisecond)
				}
			})
			if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, &opts); err != nil {
				t.Fatal(err)
			}
			if err := <-opened; err != nil {
				t.Errorf("the one who opened it meanwhile: %v", err)
			}
			holds(t, p.path, p.new)
			holds(t, p.kept(), p.old)
		})
	}
}

// A search index that does not match the memories is rebuilt.
func TestRestoreReindexes(t *testing.T) {
	for name, script := range map[string]string{
		"forgotten":   "DELETE FROM search_segments",
		"blocks lost": "DELETE FROM search_blocks WHERE id % 1048576 = 1",
		"head lost":   "DELETE FROM search_blocks WHERE id % 1048576 = 0",
		"damaged":     "UPDATE search_blocks SET data = CAST(substr(data, 1, 100) || zeroblob(10) || substr(data, 111) AS BLOB) WHERE id % 1048576 = 1",
		"too few":     "UPDATE search_segments SET dead = x'00'",
		"of another":  "INSERT INTO search_segments (id, store, state, begun_at, dead) VALUES (5, 99, 1, 0, x'')",
		"too far":     "UPDATE counters SET indexed_seq = last_seq - 2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "memento.db")
			b := open(t, path)
			store := makeStore(t, b, "notes", 20)
			for i := range 11 {
				var many []memento.Change
				for j := range 100 {
					many = append(many, memento.Put{Path: memento.Path(fmt.Sprintf("/many/%d/%d", i, j)), Content: "round and around"})
				}
				if _, err := b.Apply(t.Context(), store, memento.Actor{}, many); err != nil {
					t.Fatal(err)
				}
			}
			awaitSegments(t, path)
			find := func(b *sqlitestore.Backend) int {
				t.Helper()
				found, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "round", Limit: 5000})
				if err != nil {
					t.Fatal(err)
				}
				return len(found)
			}
			want := find(b)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, path, script)
			target := filepath.Join(t.TempDir(), "restored.db")
			if _, err := sqlitestore.Restore(t.Context(), target, path, nil); err != nil {
				t.Fatal(err)
			}
			restored := open(t, target)
			if got := find(restored); got != want || got == 0 {
				t.Errorf("%d found, want %d", got, want)
			}
		})
	}
}

// API keys are in a backup, and let the same programs in once it is restored.
func TestRestoreKeys(t *testing.T) {
	dir := t.TempDir()
	b := open(t, filepath.Join(dir, "memento.db"))
	k, secret, err := apikey.New(workspace, "a server's", apikey.RoleAdmin, time.Now(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.AddKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	backup, target := filepath.Join(dir, "backup"), filepath.Join(dir, "restored.db")
	if sum := backUp(t, b, backup); sum.Keys != 1 {
		t.Errorf("%d keys", sum.Keys)
	}
	if done, err := sqlitestore.Restore(t.Context(), target, backup, nil); err != nil || done.Keys != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	got, err := open(t, target).KeyByHash(t.Context(), apikey.HashSecret(secret))
	if diff := cmp.Diff(k, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A backup of an older memento is sound, and is migrated when it is opened.
func TestRestoreOlder(t *testing.T) {
	p := newPlace(t)
	execute(t, p.backup, "DROP TABLE vectors; ALTER TABLE counters DROP COLUMN has_vectors; DROP TABLE search_segments; DROP TABLE search_blocks; DROP TABLE search_deletions; ALTER TABLE counters DROP COLUMN index_revision; "+
		"CREATE VIRTUAL TABLE words USING fts5 (store, path, body, content = '', contentless_delete = 1, tokenize = 'ascii'); "+
		"CREATE TABLE indexed (doc INTEGER PRIMARY KEY, store INTEGER NOT NULL, memory TEXT NOT NULL, UNIQUE (store, memory)) STRICT; "+
		"DROP TABLE directories; DROP TABLE notes; DROP TABLE forgetting; DROP TABLE keys; ALTER TABLE stores DROP COLUMN envelope; "+
		"ALTER TABLE memories DROP COLUMN digest; ALTER TABLE versions DROP COLUMN digest; "+
		"ALTER TABLE versions DROP COLUMN actor_key; ALTER TABLE versions DROP COLUMN redactor_key; PRAGMA user_version = 1")
	if _, err := sqlitestore.Restore(t.Context(), p.path, p.backup, replacing); err != nil {
		t.Fatal(err)
	}
	holds(t, p.path, p.new)
	for _, err := range open(t, p.path).ListKeys(t.Context(), "") {
		t.Error(err)
	}
}
