package sqlitestore

import (
	"path/filepath"
	"testing"

	"memento"
	"memento/backend/textindex/storagetest"
)

func TestIndexStorage(t *testing.T) {
	b, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	storagetest.Run(t, indexStorage{b}, info.ID)
}
