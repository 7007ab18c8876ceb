//go:build linux && faults

package dirstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/test/smalldisk"
)

// On a disk without a free byte, a folder can be opened, read and searched, and memories
// can be removed. Writes are refused, and changes by hand wait, until there is space.
func TestFaultFullDisk(t *testing.T) {
	for _, kept := range []bool{true, false} { // the reserve
		t.Run(fmt.Sprintf("reserve=%v", kept), func(t *testing.T) { testFullDisk(t, kept) })
	}
}

func testFullDisk(t *testing.T, kept bool) {
	disk := smalldisk.Mount(t, "24m")
	dir := filepath.Join(disk, "folder")
	by := memento.Actor{Kind: memento.ActorUser, ID: "test"}
	reopen := func(b *Backend) *Backend {
		t.Helper()
		if b != nil {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			smalldisk.Fill(t, disk)
		}
		b, err := Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return b
	}
	b, err := Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(store memento.StoreID, c memento.Change) error {
		_, err := b.Apply(t.Context(), store, by, []memento.Change{c})
		return err
	}
	var ids []memento.StoreID
	for _, name := range []string{"default", "other"} {
		info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
		for i := range 60 {
			if err := apply(info.ID, memento.Put{Path: memento.Path(fmt.Sprintf("/n%d.md", i)), Content: fmt.Sprintf("word%d %s", i, strings.Repeat("text ", 300))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	store := ids[0]
	if err := apply(store, memento.Put{Path: "/n50.md", Content: "newer"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !kept {
		if err := os.Remove(filepath.Join(dir, hiddenFolder, dbFile+"-reserve")); err != nil {
			t.Fatal(err)
		}
	}
	filler := smalldisk.Fill(t, disk)
	b = reopen(nil)
	full := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, memento.ErrNoSpace) || !strings.Contains(err.Error(), "the disk that holds the database is full") {
			t.Errorf("%s: %v", what, err)
		}
	}
	full("Ready", b.Ready(t.Context()))
	full("put", apply(store, memento.Put{Path: "/x.md", Content: strings.Repeat("x", 50_000)}))
	n := 0
	for e, err := range b.List(t.Context(), store, memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m, err := b.Get(t.Context(), store, memento.ByPath(e.Path)); err != nil || m.Content == "" {
			t.Fatalf("get %s: %v", e.Path, err)
		}
		n++
	}
	if n != 60 {
		t.Errorf("%d memories are listed", n)
	}
	if found, err := b.Search(t.Context(), store, memento.SearchOptions{Query: "word7"}); err != nil || len(found) != 1 {
		t.Errorf("search: %v, %v", found, err)
	}

	// By hand: an edit within the block that the file has, and a removal.
	edited := filepath.Join(dir, "memories", "n55.md")
	f, err := os.OpenFile(edited, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("By hand"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	time.Sleep(50 * time.Millisecond)
	for range 2 {
		if m, err := b.Get(t.Context(), store, memento.ByPath("/n55.md")); err != nil || !strings.HasPrefix(m.Content, "word55 ") && !strings.HasPrefix(m.Content, "By hand") {
			t.Errorf("get what was edited by hand: %q, %v", m.Content, err)
		}
		for _, err := range b.List(t.Context(), store, memento.ListOptions{}) {
			if err != nil {
				t.Fatalf("list: %v", err)
			}
		}
		b = reopen(b)
	}
	if !kept {
		full("remove", apply(store, memento.Remove{Path: "/n1.md"}))
	} else {
		full("remove what was edited by hand", apply(store, memento.Remove{Path: "/n55.md"}))
		for i := range 40 {
			smalldisk.Fill(t, disk)
			if err := apply(store, memento.Remove{Path: memento.Path(fmt.Sprintf("/n%d.md", i))}); err != nil {
				t.Fatalf("remove %d: %v", i, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, "memories", fmt.Sprintf("n%d.md", i))); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("removed %d, and its file: %v", i, err)
			}
			if i%3 == 0 {
				b = reopen(b)
			}
		}
		smalldisk.Fill(t, disk)
		var versions []memento.Version
		for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{Path: "/n50.md"}) {
			if err != nil {
				t.Fatal(err)
			}
			versions = append(versions, v)
		}
		if _, err := b.Redact(t.Context(), store, versions[1].ID, by); err != nil {
			t.Errorf("redact: %v", err)
		}
		smalldisk.Fill(t, disk)
		if sum, err := b.Prune(t.Context(), store, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil || sum.Versions < 40 {
			t.Errorf("prune: %v, %v", sum, err)
		}
		smalldisk.Fill(t, disk)
		if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, ids[1]); err != nil {
			t.Errorf("delete store: %v", err)
		}
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("Ready with room: %v", err)
	}
	if err := apply(store, memento.Put{Path: "/x.md", Content: strings.Repeat("x", 50_000)}); err != nil {
		t.Errorf("put with room: %v", err)
	}
	if m, err := b.Get(t.Context(), store, memento.ByPath("/n55.md")); err != nil || !strings.HasPrefix(m.Content, "By hand") {
		t.Errorf("what was edited by hand, with room: %q, %v", m.Content, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "memories", "x.md")); err != nil || len(data) != 50_000 {
		t.Errorf("the file of what was written with room: %d bytes, %v", len(data), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
