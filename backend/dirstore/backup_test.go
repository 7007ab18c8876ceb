package dirstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"memento"
)

// dbFiles returns the contents of the database's files. The backend must be closed.
func (s *site) dbFiles() map[string][]byte {
	s.Helper()
	saved := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(filepath.Join(s.base, hiddenFolder, dbFile+suffix))
		if err == nil {
			saved[dbFile+suffix] = data
		} else if !errors.Is(err, os.ErrNotExist) {
			s.Fatal(err)
		}
	}
	return saved
}

// setDBFiles restores the files to what they were when they were saved.
func (s *site) setDBFiles(saved map[string][]byte) {
	s.Helper()
	for name := range s.dbFiles() {
		s.do(os.Remove(filepath.Join(s.base, hiddenFolder, name)))
	}
	for name, data := range saved {
		s.do(os.WriteFile(filepath.Join(s.base, hiddenFolder, name), data, 0o600))
	}
}

// If the database is lost, the files become memories of a new store.
func TestDatabaseLost(t *testing.T) {
	s := newSite(t)
	s.put("/a", "text")
	s.do(s.b.Close())
	s.setDBFiles(nil)
	s.b = s.open(nil)
	var stores []string
	for info, err := range s.b.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
		s.do(err)
		stores = append(stores, info.Name)
		s.store = info.ID
	}
	if !slices.Equal(stores, []string{defaultStore}) {
		t.Fatalf("stores %q", stores)
	}
	s.holds(map[memento.Path]string{"/a": "text"})
	s.put("/b", "x")
	s.mirrored()
	s.wantVersions("hand created /a text", "memento created /b x")
}

// If the database is replaced by an older one, from a backup, what only the files have
// becomes new versions.
func TestDatabaseOlder(t *testing.T) {
	s := newSite(t)
	s.put("/old", "one")
	s.put("/back", "one")
	s.put("/back", "two")
	s.put("/gone", "one")
	s.put("/same", "one")
	s.do(s.b.Close())
	saved := s.dbFiles()
	s.b = s.open(nil)
	s.put("/old", "two, which is newer")
	s.put("/back", "one")
	s.put("/new", "made since")
	s.apply(memento.Remove{Path: "/gone"})
	s.do(s.b.Close())
	quiet()
	s.setDBFiles(saved)
	s.b = s.open(nil)
	want := map[memento.Path]string{
		"/old": "two, which is newer", "/back": "one", "/new": "made since", "/gone": "one", "/same": "one",
	}
	s.holds(want)
	s.mirrored()
	s.wantVersions("memento created /old one", "memento created /back one", "memento modified /back two",
		"memento created /gone one", "memento created /same one",
		"hand modified /back one", "hand created /new made since", "hand modified /old two, which is newer")
	s.reopen()
	s.holds(want)
}

// failing is a database that deletes stores and then returns an error.
type failing struct{ database }

func (b failing) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	return errors.Join(b.database.DeleteStore(ctx, ws, id), errLost)
}

var errLost = errors.New("connection lost")

// A deletion that happened but returned an error leaves nothing.
func TestDeletedAfterAll(t *testing.T) {
	s := newSite(t)
	s.put("/a", "text")
	s.b.db = failing{s.b.db}
	if err := s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, s.store); !errors.Is(err, errLost) {
		t.Errorf("delete: %v", err)
	}
	s.onDisk(map[string]string{})
	info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: defaultStore, UniqueName: true})
	s.do(err)
	s.store = info.ID
	s.put("/b", "x")
	s.onDisk(map[string]string{"b": "x"})
}

// What could not be written to the index is written as soon as possible, unless another
// process has done so.
func TestIndexUnwritable(t *testing.T) {
	for _, shared := range []bool{false, true} {
		s := newSite(t)
		s.put("/keep", "x")
		s.do(s.b.index.exec("PRAGMA query_only = 1"))
		s.put("/n", "was here")
		s.put("/keep", "y")
		if shared {
			other := s.open(nil)
			if m, err := other.Get(t.Context(), s.store, memento.ByPath("/n")); err != nil || m.Content != "was here" {
				t.Errorf("another process reads %q, %v", m.Content, err)
			}
		}
		s.do(s.b.index.exec("PRAGMA query_only = 0"))
		s.put("/m", "m")
		m, err := s.b.folders[s.store].lock.mark()
		s.do(err)
		if m.dirty != 0 {
			t.Error("the mark stays")
		}
		s.do(s.b.Close())
		s.do(os.Remove(s.file("n")))
		s.b = s.open(nil)
		s.lists("/keep", "/m")
		s.wantVersions("memento created /keep x", "memento created /n was here", "memento modified /keep y", "memento created /m m",
			"hand deleted /n")
	}
}

// If the index cannot be read once, it is read or built again the next time.
func TestIndexUnreadable(t *testing.T) {
	s := newSite(t)
	s.put("/a", "one")
	other := s.open(nil)
	if _, err := other.refresh(t.Context(), s.store, memento.Root); err != nil {
		t.Fatal(err)
	}
	s.put("/b", "one")
	s.do(s.b.index.exec("ALTER TABLE files RENAME TO aside"))
	for _, b := range []*Backend{other, s.b} {
		if m, err := b.Get(t.Context(), s.store, memento.ByPath("/b")); err != nil || m.Content != "one" {
			t.Errorf("reads %q, %v", m.Content, err)
		}
	}
	s.put("/c", "one")
	s.do(s.b.index.exec("ALTER TABLE aside RENAME TO files"))
	for _, b := range []*Backend{other, s.b} {
		if _, err := b.refresh(t.Context(), s.store, memento.Root); err != nil {
			t.Error(err)
		}
	}
	s.do(os.Remove(s.file("a")))
	s.lists("/b", "/c")
	s.wantVersions("memento created /a one", "memento created /b one", "memento created /c one", "hand deleted /a")
	s.reopen()
	s.mirrored()
}
