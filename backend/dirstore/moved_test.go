//go:build !windows

package dirstore

import (
	"errors"
	"os"
	"testing"

	"memento"
)

// After the folder was removed or replaced, a write would be lost with the process. It is
// refused, and the memories are not taken for removed by hand.
func TestMovedFolder(t *testing.T) {
	for what, move := range map[string]func(base string) error{
		"removed": os.RemoveAll,
		"moved":   func(base string) error { return os.Rename(base, base+".aside") },
		"replaced": func(base string) error {
			return errors.Join(os.Rename(base, base+".aside"), os.CopyFS(base, os.DirFS(base+".aside")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := &site{T: t, base: t.TempDir() + "/folder"}
			b, err := Open(t.Context(), s.base, nil)
			s.do(err)
			defer b.Close() //nolint:errcheck // of files that are gone
			info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"})
			s.do(err)
			s.b, s.store = b, info.ID
			s.put("/a", "before")
			s.do(move(s.base))
			for _, c := range []memento.Change{memento.Put{Path: "/a", Content: "after"}, memento.Put{Path: "/b", Content: "new"}, memento.Remove{Path: "/a"}} {
				if err := s.try(c); !errors.Is(err, memento.ErrUnavailable) {
					t.Errorf("%+v was answered with %v", c, err)
				}
			}
			var listErr error
			for _, err := range b.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
				listErr = err
			}
			if !errors.Is(listErr, memento.ErrUnavailable) {
				t.Errorf("a listing was answered with %v", listErr)
			}
		})
	}
}
