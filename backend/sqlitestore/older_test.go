package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/apikey"
	"memento/backend/sqlitestore"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A file of an older schema keeps its data when it is opened, and accepts new data.
func TestOlderFiles(t *testing.T) {
	dir := t.TempDir()
	present := filepath.Join(dir, "present.db")
	b := open(t, present)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: unscreened()}, nil)
	apply(t, s, memento.Put{Path: "/a", Content: "one umbrella"}, memento.Put{Path: "/b", Content: "two"})
	apply(t, s, memento.Move{From: "/a", To: "/dir/a"})
	apply(t, s, memento.Remove{Path: "/b"})
	apply(t, s, memento.Put{Path: "/dir/deep/er/c", Content: "three"}, memento.Put{Path: "/dir/d", Content: "four"})
	want := everything(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "old.db")
	makeOld(t, old, present)

	// The first one migrates it; the others find it migrated.
	key, _, err := apikey.New("default", "key", apikey.RoleRead, time.Now(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b, err := sqlitestore.Open(t.Context(), old, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if diff := cmp.Diff(want, everything(t, b)); diff != "" {
				t.Error("what it holds (-want +got):\n" + diff)
			}
		})
	}
	wg.Wait()
	b = open(t, old)
	if err := b.AddKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	s = memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, nil)
	if found, err := s.Search(t.Context(), memento.SearchOptions{Query: "umbrella"}); err != nil || len(found) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	apply(t, s, memento.Put{Path: "/dir/a", Content: "changed"})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, old)
	if got, err := b.KeyByHash(t.Context(), key.Hash); err != nil || got != key {
		t.Errorf("the key is %+v, %v", got, err)
	}
	if got := everything(t, b); len(got) != len(want)+1 {
		t.Errorf("it holds %q, want one version more than %q", got, want)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Verify(t.Context(), old, nil); err != nil {
		t.Error(err)
	}
}

// unscreened are settings with which a store needs no detector.
func unscreened() *memento.Settings {
	s := memento.DefaultSettings()
	s.Sensitive.Mode = memento.Off
	return &s
}

// makeOld makes a file as the first memento did, with what another has.
func makeOld(t *testing.T, old, from string) {
	t.Helper()
	first, err := os.ReadFile(filepath.Join("migrations", "0001_init.sql"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.OpenConn(old, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const appID = 0x6d6d746f
	if err := sqlitemigration.Migrate(t.Context(), c, sqlitemigration.Schema{AppID: appID, Migrations: []string{string(first)}}); err != nil {
		t.Fatal(err)
	}
	statements := []string{"ATTACH '" + strings.ReplaceAll(from, "'", "''") + "' AS present"}
	for _, table := range []string{"stores", "counters", "contents", "memories", "versions"} {
		var columns string // that there were then
		err := sqlitex.ExecuteTransient(c, "SELECT group_concat(name) FROM pragma_table_info('"+table+"')", &sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error {
				columns = s.ColumnText(0)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM present.%[1]s", table, columns))
	}
	statements = append(statements, "UPDATE counters SET indexed_seq = 0") // of the search index nothing was copied
	for _, statement := range statements {
		if err := sqlitex.ExecuteTransient(c, statement, nil); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	version, err := sqlitex.ResultInt(c.Prep("PRAGMA user_version"))
	if err != nil || version != 1 {
		t.Fatalf("the file has schema version %d, %v", version, err)
	}
}

// everything returns the memories of all stores, and their histories.
func everything(t *testing.T, b *sqlitestore.Backend) (held []string) {
	for info, err := range b.ListStores(t.Context(), workspace, memento.StoreListOptions{}) {
		if err != nil {
			t.Error(err)
		}
		held = append(held, fmt.Sprint(info.ID, info.Name, info.Usage))
		for e, err := range b.List(t.Context(), info.ID, memento.ListOptions{Contents: true}) {
			held = append(held, fmt.Sprint(e.Path, e.Memory, err))
		}
		for v, err := range b.ListVersions(t.Context(), info.ID, memento.VersionListOptions{Contents: true}) {
			held = append(held, fmt.Sprint(v, err))
		}
	}
	return held
}
