package sqlitestore_test

import (
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/sqlitestore"
)

// The metrics follow the files: what is written grows the log, and the file has it once the
// backend is closed.
func TestMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memento.db")
	open := func() (*sqlitestore.Backend, func() (file, log float64)) {
		b, err := sqlitestore.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b, func() (file, log float64) {
			for _, m := range b.Metrics() {
				switch m.Name {
				case "file_bytes":
					file = m.Value
				case "log_bytes":
					log = m.Value
				default:
					t.Errorf("unknown metric %s", m.Name)
				}
			}
			return file, log
		}
	}
	const size = 90_000
	b, sizes := open()
	before, _ := sizes()
	store := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: unscreened()}, nil)
	if _, err := store.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md", Content: strings.Repeat("x", size)}); err != nil {
		t.Fatal(err)
	}
	if file, log := sizes(); before == 0 || file+log < before+size {
		t.Errorf("%v bytes, and %v of the log, after a write of %d; before it %v", file, log, size, before)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, sizes = open()
	if file, _ := sizes(); file < size {
		t.Errorf("the file has %v bytes", file)
	}
}
