package sqlitestore_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"memento"
	"memento/backend/sqlitestore"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// If a row has become another memory's, no text is shown, even if the text itself is
// undamaged.
func TestRowOfAnother(t *testing.T) {
	for _, change := range []string{
		`UPDATE memories SET path = '/c.md' WHERE path = '/a.md'`,
		`UPDATE memories SET id = 'mem_other' WHERE path = '/a.md'`,
		`UPDATE memories SET version = 'memver_other' WHERE path = '/a.md'`,
		`UPDATE memories SET seq = seq + 1 WHERE path = '/a.md'`,
		`UPDATE memories SET store = (SELECT num FROM stores WHERE name = 'second') WHERE path = '/a.md'`,
		`UPDATE memories SET content = (SELECT content FROM memories WHERE path = '/b.md') WHERE path = '/a.md'`,
		`UPDATE memories SET content = 1000 WHERE path = '/a.md'`,
		`UPDATE memories SET size = size + 1 WHERE path = '/a.md'`,
	} {
		file := filepath.Join(t.TempDir(), "m.db")
		b, err := sqlitestore.Open(t.Context(), file, nil)
		if err != nil {
			t.Fatal(err)
		}
		var stores []memento.StoreID
		for _, name := range []string{"first", "second"} {
			info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			stores = append(stores, info.ID)
			changes := []memento.Change{memento.Put{Path: "/b.md", Content: "of b in " + name}}
			if name == "first" {
				changes = append(changes, memento.Put{Path: "/a.md", Content: "of a"})
			}
			if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sqlitex.ExecuteTransient(conn, change, nil), conn.Close()); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if b, err = sqlitestore.Open(t.Context(), file, nil); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, id := range stores {
			for _, p := range []memento.Path{"/a.md", "/c.md"} {
				switch m, err := b.Get(t.Context(), id, memento.ByPath(p)); {
				case errors.Is(err, memento.ErrDamaged):
					refused++
				case !errors.Is(err, memento.ErrNotExist):
					t.Errorf("%s: Get %s: %+v, %v", change, p, m, err)
				}
			}
			var listed error
			for e, err := range b.List(t.Context(), id, memento.ListOptions{Contents: true}) {
				if listed = err; err == nil && e.Path != "/b.md" {
					t.Errorf("%s: List: %+v", change, e)
				}
			}
			if errors.Is(listed, memento.ErrDamaged) {
				refused++
			}
			if found, err := b.Search(t.Context(), id, memento.SearchOptions{Query: "of a", All: true}); err != nil || slices.ContainsFunc(found, func(m memento.Match) bool { return m.Passage.Text != "" || m.Snippet != "" }) {
				t.Errorf("%s: Search: %+v, %v", change, found, err)
			}
		}
		if refused != 2 {
			t.Errorf("%s: %d reads are refused, want Get and List", change, refused)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
