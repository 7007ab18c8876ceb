package sqlitestore_test

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/sqlitestore"
)

// hexed is a backend.Sealer that only makes contents longer.
type hexed struct{}

func (hexed) Seal(_ memento.MemoryID, _ memento.VersionID, text string) (string, error) {
	return hex.EncodeToString([]byte(text)), nil
}
func (hexed) Digest(sha256 string) string                { return "d" + sha256[1:] }
func (hexed) Clear(p memento.Path) (memento.Path, error) { return p, nil }

// A backup with encrypted contents is sound, although the recorded sizes are those of the
// plaintext. Damage in it is still found.
func TestVerifySealed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sealed.db")
	b := open(t, path)
	info, err := b.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: "sealed", Envelope: "a wrapped key"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []memento.Change{
		memento.Put{Path: "/a", Content: "text"}, memento.Put{Path: "/a", Content: "another"},
		memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/c", Content: ""}, memento.Remove{Path: "/c"},
	} {
		if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{backend.Sealed{Change: c, Sealing: backend.Sealing{By: hexed{}}}}); err != nil {
			t.Fatal(err)
		}
	}
	backup := filepath.Join(dir, "backup")
	if sum := backUp(t, b, backup); sum.Bytes != int64(len("another")) {
		t.Errorf("the backup has %+v", sum)
	}
	if _, err := sqlitestore.Verify(t.Context(), backup, nil); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "restored.db")
	if _, err := sqlitestore.Restore(t.Context(), target, backup, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, target).GetStore(t.Context(), workspace, info.ID); err != nil || got.Envelope != "a wrapped key" {
		t.Errorf("restored: %+v, %v", got, err)
	}
	for _, damage := range []struct{ script, want string }{
		{"UPDATE memories SET digest = 'other'", "differs from its newest version"},
		{"UPDATE versions SET digest = ''; UPDATE memories SET digest = ''", "has contents with another size"},
		{"UPDATE versions SET digest = 'x' WHERE operation = 'deleted'", "although it is redacted or a deletion"},
		{"UPDATE contents SET data = data || ' '", "has contents with another hash"},
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		backUp(t, b, bad)
		execute(t, bad, damage.script)
		if _, err := sqlitestore.Verify(t.Context(), bad, nil); err == nil || !strings.Contains(err.Error(), damage.want) {
			t.Errorf("%s: %v, want %q", damage.script, err, damage.want)
		}
	}
}
