package doctor_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/doctor"
	"memento/backend/sqlitestore"
)

// notices returns what a doctor tells about a store with these paths.
func notices(t *testing.T, b memento.Backend, readOnly memento.Pattern, paths ...memento.Path) (told []doctor.Notice, counted int64) {
	t.Helper()
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	settings.ReadOnly = []memento.Pattern{readOnly}
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "notes", Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	var changes []memento.Change
	for _, p := range paths {
		changes = append(changes, memento.Put{Path: p, Content: "text"})
	}
	if _, err := b.Apply(t.Context(), info.ID, someone, changes); err != nil {
		t.Fatal(err)
	}
	d := doctor.Doctor{
		Backend: b,
		Report:  func(f doctor.Fault) { t.Errorf("fault: %s", f.Text) },
		Notice:  func(n doctor.Notice) { told = append(told, n) },
	}
	seen, err := d.Store(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	return told, seen.Notices
}

func TestLookalikes(t *testing.T) {
	b := openSQLite(t)
	told, counted := notices(t, b, "/policies", "/Policies/a.md", "/notes/plan.md", "/notes/p1an.md", "/notes/other.md", "/Other/plan.md")
	var texts []string
	for _, n := range told {
		text := n.Text
		for i, id := range n.Memories {
			text = strings.ReplaceAll(text, string(id), fmt.Sprint(i))
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	want := []string{"the path of memory 0 looks like a read-only one", "the paths of memories 0 and 1 look alike"}
	if !slices.Equal(texts, want) || counted != 2 {
		t.Errorf("told %q of %d, want %q", texts, counted, want)
	}
}

// Many are counted, and the first hundred told.
func TestLookalikesAreBounded(t *testing.T) {
	var paths []memento.Path
	for i := range 150 {
		paths = append(paths, memento.Path(fmt.Sprintf("/%d/notes.md", i)), memento.Path(fmt.Sprintf("/%d/Notes.md", i)))
	}
	told, counted := notices(t, openSQLite(t), "/policies", paths...)
	if len(told) != 100 || counted != 150 {
		t.Errorf("%d were told, and %d counted", len(told), counted)
	}
}

// Encrypted names are not compared: their letters mean nothing.
func TestLookalikesEncrypted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.db")
	keys, err := cryptstore.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := sqlitestore.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	b, err := cryptstore.Wrap(t.Context(), plain, keys, &cryptstore.Options{EncryptNames: true})
	if err != nil {
		t.Fatal(err)
	}
	if told, _ := notices(t, b, "/policies", "/a/plan.md", "/a/Plan.md"); len(told) != 1 {
		t.Errorf("with keys: %v", told)
	}
	d := doctor.Doctor{Backend: plain, Report: func(f doctor.Fault) { t.Errorf("fault: %s", f.Text) }, Notice: func(n doctor.Notice) { t.Errorf("without keys: %s", n.Text) }}
	stores, err := d.Stores(t.Context(), memento.DefaultWorkspace)
	if err != nil || len(stores) != 1 {
		t.Fatal(stores, err)
	}
	if _, err := d.Store(t.Context(), stores[0]); err != nil {
		t.Fatal(err)
	}
}
