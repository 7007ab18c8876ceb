package pgstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"memento"
	"memento/backend/pgstore"
)

// A schema of the first version keeps its data when it is opened, and accepts new data.
func TestOlderSchema(t *testing.T) {
	present, old := schemaOf(t.TempDir()), schemaOf(t.TempDir())
	ctx := t.Context()
	someone := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"}
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: present})
	info, err := b.CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, changes := range [][]memento.Change{
		{memento.Put{Path: "/a", Content: "one umbrella"}, memento.Put{Path: "/b", Content: "two"}},
		{memento.Move{From: "/a", To: "/dir/a"}}, {memento.Remove{Path: "/b"}},
	} {
		if _, err := b.Apply(ctx, info.ID, someone, changes); err != nil {
			t.Fatal(err)
		}
	}
	everything := func(b *pgstore.Backend) (list []memento.Version) {
		t.Helper()
		for v, err := range b.ListVersions(ctx, info.ID, memento.VersionListOptions{Contents: true}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		return list
	}
	want := everything(b)

	first, err := os.ReadFile(filepath.Join("migrations", "0001_schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	admin(t, `CREATE SCHEMA `+old, `SET search_path TO `+old+`, pg_catalog;
		CREATE TABLE schema_version (memento_version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now());
		INSERT INTO schema_version (memento_version) VALUES (1);`+string(first))
	c, err := pgx.Connect(ctx, serverURL(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, table := range []string{"stores", "counters", "contents", "memories", "versions"} {
		var columns []string // that there were then, and that are not generated
		err := c.QueryRow(ctx, `SELECT array_agg(quote_ident(column_name)) FROM information_schema.columns
			WHERE table_schema = $1 AND table_name = $2`, old, table).Scan(&columns)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Join(columns, ", ")
		if _, err := c.Exec(ctx, fmt.Sprintf(`INSERT INTO %s.%s (%s) OVERRIDING SYSTEM VALUE SELECT %[3]s FROM %[4]s.%[2]s`, old, table, list, present)); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}

	b = open(t, serverURL(t, ""), &pgstore.Options{Schema: old})
	if diff := cmp.Diff(want, everything(b)); diff != "" {
		t.Error("what it holds (-want +got):\n" + diff)
	}
	withKey := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1", Key: "apikey_1"}
	if _, err := b.Apply(ctx, info.ID, withKey, []memento.Change{memento.Put{Path: "/dir/a", Content: "changed"}}); err != nil {
		t.Fatal(err)
	}
	if got := everything(b); len(got) != len(want)+1 || got[0].CreatedBy != withKey {
		t.Errorf("after a change: %+v", got)
	}
}
