package sqlitestore_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/sqlitestore"

	"github.com/google/go-cmp/cmp"
)

// marked is a text that can be found in the file.
const marked = "a text that is found again in the file"

// makeBackup writes a backup of a store in which everything has happened.
func makeBackup(t *testing.T, path string) backend.BackupSummary {
	t.Helper()
	b, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memento.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	store := makeStore(t, b, "notes", 30)
	apply := func(changes ...memento.Change) []memento.Version {
		t.Helper()
		done, err := b.Apply(t.Context(), store, memento.Actor{}, changes)
		if err != nil {
			t.Fatal(err)
		}
		return done.Versions
	}
	apply(memento.Put{Path: "/marked", Content: marked})
	old := apply(memento.Put{Path: "/redacted", Content: "secret"})
	apply(memento.Put{Path: "/redacted", Content: "harmless"})
	apply(memento.Move{From: "/first", To: "/moved"})
	apply(memento.Put{Path: "/gone", Content: "for a while"})
	apply(memento.Remove{Path: "/gone"})
	if _, err := b.Redact(t.Context(), store, old[0].ID, memento.Actor{}); err != nil {
		t.Fatal(err)
	}
	makeStore(t, b, "other", 2)
	apply(memento.Put{Path: "/late", Content: "not indexed yet"})
	sum := backUp(t, b, path)
	want := backend.BackupSummary{Size: sum.Size, Stores: 2, Memories: 47, Bytes: sum.Bytes, Versions: 110, NewestAt: sum.NewestAt}
	if diff := cmp.Diff(want, sum); diff != "" || sum.Bytes == 0 || sum.NewestAt.IsZero() {
		t.Fatalf("summary (-want +got):\n%s", diff)
	}
	return sum
}

// A sound backup is found to be one, and is left as it is.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "100% sure? #1.db") // a URI of this must be escaped
	sum := makeBackup(t, path)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sqlitestore.Verify(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sum, got); diff != "" {
		t.Errorf("summary (-backup +verify):\n%s", diff)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
	if now, err := os.Stat(path); err != nil || !now.ModTime().Equal(info.ModTime()) {
		t.Errorf("the file was touched (%v)", err)
	}
	if diff := cmp.Diff([]string{filepath.Base(path)}, namesIn(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := sqlitestore.Verify(t.Context(), filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("of no file: %v", err)
	}
}

// damages are ways to damage a backup, with the expected finding.
var damages = []struct {
	name, want string
	restore    bool                     // whether restoring it is tried, which is the same code
	script     string                   // of SQL, or
	do         func(data []byte) []byte // with its bytes, or
	beside     func(path string) error  // adds files beside it
}{
	{name: "empty", want: "it is not an SQLite database", do: func([]byte) []byte { return nil }},
	{name: "text", want: "it is not an SQLite database", do: func(data []byte) []byte { return bytes.Repeat([]byte("text\n"), 1000) }},
	{name: "cut off", restore: true, want: "it is truncated: it has", do: func(data []byte) []byte { return data[:len(data)/2] }},
	{name: "one byte short", want: "it is truncated: it has", do: func(data []byte) []byte { return data[:len(data)-1] }},
	{name: "a bit of a text", restore: true, want: "has contents with another hash", do: func(data []byte) []byte {
		data[bytes.Index(data, []byte(marked))+10] ^= 1
		return data
	}},
	{name: "a page of zeros", want: "damaged: ", do: func(data []byte) []byte {
		clear(data[8*4096 : 9*4096])
		return data
	}},
	{name: "the first page", want: "the database is damaged", do: func(data []byte) []byte {
		clear(data[100:4096])
		return data
	}},
	{name: "with a log", restore: true, want: `another file with the suffix "-wal"`, beside: func(path string) error {
		return os.WriteFile(path+"-wal", []byte("a log"), 0o600)
	}},
	{name: "another program's", restore: true, want: "a database of another program", script: "PRAGMA application_id = 7"},
	{name: "newer", restore: true, want: "was written by a newer memento", script: "PRAGMA user_version = 1000"},
	{name: "no tables", want: "it is a database without tables", script: "PRAGMA writable_schema = ON; DELETE FROM sqlite_master; PRAGMA user_version = 0"},
	{name: "a lost table", want: "its tables do not match its schema version", script: "DROP TABLE counters"},
	{name: "a wrong hash", restore: true, want: "has contents with another hash", script: "UPDATE versions SET sha256 = zeroblob(32) WHERE seq = 3 AND store = 1"},
	{name: "a short hash", want: "has contents with another hash", script: "UPDATE versions SET sha256 = x'00' WHERE seq = 3 AND store = 1"},
	{name: "a wrong size", want: "has contents with another size", script: "UPDATE versions SET size = size + 1 WHERE seq = 3 AND store = 1"},
	{name: "other contents", want: "has contents with another hash", script: "UPDATE contents SET data = 'changed' WHERE id = 3"},
	{name: "not UTF-8", want: "has contents with another hash", script: "UPDATE contents SET data = CAST(x'ff' AS TEXT) WHERE id = 3"},
	{name: "lost contents", want: "has no contents", script: "DELETE FROM contents WHERE id = 3"},
	{name: "contents of a deletion", want: "has contents, although it is redacted or a deletion", script: "UPDATE versions SET content = 1 WHERE operation = 'deleted'"},
	{name: "contents that were redacted", want: "has contents, although it is redacted or a deletion", script: "UPDATE versions SET content = 1 WHERE redacted_at IS NOT NULL"},
	{name: "a path that was redacted", want: "has a path although it is redacted", script: "UPDATE versions SET path = '/p' WHERE redacted_at IS NOT NULL"},
	{name: "no newest version", want: "its newest version does not exist", script: "DELETE FROM versions WHERE store = 1 AND path = '/marked'"},
	{name: "another newest version", want: "differs from its newest version", script: "UPDATE memories SET version = 'memver_x' WHERE path = '/marked'"},
	{name: "another path", want: "differs from its newest version", script: "UPDATE memories SET path = '/elsewhere' WHERE path = '/marked'"},
	{name: "another size of a memory", want: "differs from its newest version", script: "UPDATE memories SET size = 1 WHERE path = '/marked'"},
	{name: "an older state", want: "is newer than its memory", script: `UPDATE memories SET seq = (SELECT min(v.seq) FROM versions v
		WHERE v.store = memories.store AND v.memory = memories.id) WHERE path = '/moved/1/a'`},
	{name: "a lost memory", want: "belongs to a memory that was not deleted but does not exist", script: "DELETE FROM memories WHERE path = '/marked'"},
	{name: "a deletion undone", want: "belongs to a memory that was not deleted but does not exist", script: "DELETE FROM versions WHERE operation = 'deleted'"},
	{name: "a memory that is a directory", want: "is also a directory", script: "UPDATE memories SET path = '/moved/1' WHERE path = '/marked'"},
	{name: "a memory of no store", want: "belongs to no store", script: "UPDATE memories SET store = 99 WHERE path = '/marked'"},
	{name: "a version of no store", want: "belongs to no store", script: "UPDATE versions SET store = 99 WHERE path = '/gone'"},
	{name: "too few memories", want: "it should have 44 memories, and has 43", script: "UPDATE counters SET memories = 44 WHERE store = 1"},
	{name: "other bytes", want: "it should have 1 bytes, and has", script: "UPDATE counters SET bytes = 1 WHERE store = 1"},
	{name: "an older counter", want: "as its last version, and has", script: "UPDATE counters SET last_seq = 3 WHERE store = 1"},
	{name: "another sum of a directory", want: "the directory /moved should have", script: "UPDATE directories SET bytes = bytes + 1 WHERE path = '/moved'"},
	{name: "another time of a directory", want: "the directory /moved should have", script: "UPDATE directories SET updated_at = updated_at + 1 WHERE path = '/moved'"},
	{name: "no sums of a directory", want: "the directory /moved/1 should have 0 memories", script: "DELETE FROM directories WHERE path = '/moved/1'"},
	{name: "sums of no directory", want: "of which 1 have no memories", script: "INSERT INTO directories VALUES (1, '/none', 1, 1, 1, 1)"},
	{name: "no counters", want: "has no counters", script: "DELETE FROM counters"},
	{name: "settings", want: "its description cannot be read", script: "UPDATE stores SET settings = 'nonsense'"},
	{name: "an index", want: "the database is damaged", script: "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'stores_by_name') WHERE name = 'stores_by_workspace'"},
}

// Damage of a file is found and reported, and such a file is not restored.
func TestVerifyFindsDamage(t *testing.T) {
	dir := t.TempDir()
	sound := filepath.Join(dir, "sound.db")
	makeBackup(t, sound)
	whole, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "memento.db")
	t.Cleanup(func() { // once all are done
		if diff := cmp.Diff([]string{"sound.db"}, namesIn(t, dir)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	})
	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "backup.db")
			data := bytes.Clone(whole)
			if tt.do != nil {
				data = tt.do(data)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.script != "" {
				execute(t, path, tt.script)
			}
			if tt.beside != nil {
				if err := tt.beside(path); err != nil {
					t.Fatal(err)
				}
			}
			_, err := sqlitestore.Verify(t.Context(), path, nil)
			found, ok := errors.AsType[*backend.BackupError](err)
			if !ok || !errors.Is(err, memento.ErrFormat) {
				t.Fatalf("%v, want a BackupError", err)
			}
			if !strings.Contains(strings.Join(found.Faults, "\n"), tt.want) {
				t.Errorf("faults %q, want %q", found.Faults, tt.want)
			}
			if strings.Contains(err.Error(), dir) || strings.Contains(strings.Join(found.Faults, ""), "filler") {
				t.Errorf("it tells too much: %v", err)
			}
			if tt.restore {
				if _, err := sqlitestore.Restore(t.Context(), target, path, nil); !errors.Is(err, memento.ErrFormat) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("restore: %v", err)
				}
			}
		})
	}
}

// A file with very many findings has a limited number of them reported.
func TestVerifyEnough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backup.db")
	b, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	makeStore(t, b, "notes", 200)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, "UPDATE contents SET data = 'changed'")
	_, err = sqlitestore.Verify(t.Context(), path, nil)
	found, ok := errors.AsType[*backend.BackupError](err)
	if !ok || len(found.Faults) != 100 || !strings.Contains(err.Error(), "(and 99 more)") {
		t.Errorf("%v", err)
	}
}

// A database that is damaged is not copied as if it were sound.
func TestBackupOfDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "memento.db")
	b := open(t, path)
	makeStore(t, b, "notes", 10)
	execute(t, path, "DELETE FROM contents WHERE id = 3")
	if _, err := b.Backup(t.Context(), filepath.Join(dir, "backup.db"), nil); !errors.Is(err, memento.ErrFormat) || !strings.Contains(err.Error(), "has no contents") {
		t.Errorf("%v", err)
	}
	for _, name := range namesIn(t, dir) {
		if strings.HasPrefix(name, "backup") {
			t.Errorf("%s is left", name)
		}
	}
}
