package dirstore

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
)

// hexed is a backend.Sealer that only makes contents longer.
type hexed struct{}

func (hexed) Seal(_ memento.MemoryID, _ memento.VersionID, text string) (string, error) {
	return hex.EncodeToString([]byte(text)), nil
}
func (hexed) Digest(sha256 string) string                { return "d" + sha256[1:] }
func (hexed) Clear(p memento.Path) (memento.Path, error) { return p, nil }

func (s *site) sealed(changes ...memento.Change) {
	s.Helper()
	for i, c := range changes {
		changes[i] = backend.Sealed{Change: c, Sealing: backend.Sealing{By: hexed{}}}
	}
	s.apply(changes...)
}

func sealedText(text string) string { return hex.EncodeToString([]byte(text)) }

// The folder has what the sealer made, whether or not it is longer than a memory may be.
func TestSealedFiles(t *testing.T) {
	s := newSite(t)
	long := strings.Repeat("0123456789", 8_000) // twice that, sealed, is above the limit
	s.sealed(memento.Put{Path: "/a", Content: "text"}, memento.Put{Path: "/dir/long", Content: long})
	s.onDisk(map[string]string{"a": sealedText("text"), "dir/": "", "dir/long": sealedText(long)})
	text := "moved and changed"
	s.sealed(memento.Move{From: "/dir", To: "/other"}, memento.Move{From: "/a", To: "/b", Content: &text})
	s.onDisk(map[string]string{"b": sealedText(text), "other/": "", "other/long": sealedText(long)})
	want := []string{"/b " + sealedText(text), "/other/long " + sealedText(long)}
	is := func(what string) {
		t.Helper()
		var got []string
		for e, err := range s.b.List(t.Context(), s.store, memento.ListOptions{Contents: true}) {
			s.do(err)
			if e.Foreign || e.Memory.Digest == "" {
				t.Errorf("%s: %s is foreign, or not sealed any more", what, e.Path)
			}
			got = append(got, string(e.Path)+" "+e.Memory.Content)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: it holds %.60q, want %.60q", what, got, want)
		}
	}
	is("as written")
	versions := len(s.versions())

	quiet()
	s.do(os.Chtimes(s.file("other/long"), time.Unix(1, 0), time.Unix(1, 0)))
	is("touched")
	s.do(s.b.Close())
	for _, name := range []string{indexFile, indexFile + "-wal", indexFile + "-shm"} {
		if err := os.Remove(filepath.Join(s.base, hiddenFolder, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	s.reopen()
	is("without the index")
	if n := len(s.versions()); n != versions {
		t.Errorf("%d versions, want %d as before", n, versions)
	}

	quiet()
	s.do(os.Rename(s.file("other/long"), s.file("other/renamed")))
	want[1] = "/other/renamed " + sealedText(long)
	is("renamed by hand")
}

// A file written by hand among sealed ones is not sealed, and is replaced by a sealed
// one.
func TestSealedByHand(t *testing.T) {
	s := newSite(t)
	s.sealed(memento.Put{Path: "/a", Content: "text"}, memento.Put{Path: "/b", Content: "text"})
	quiet()
	s.write("a", "by hand")
	s.write("copy", sealedText("text"))
	s.holds(map[memento.Path]string{"/a": "by hand", "/b": sealedText("text"), "/copy": sealedText("text")})
	for _, p := range []memento.Path{"/a", "/copy"} {
		m, err := s.b.Get(t.Context(), s.store, memento.ByPath(p))
		s.do(err)
		if m.Digest != "" || m.Size != int64(len(m.Content)) {
			t.Errorf("%s: %+v", p, m)
		}
	}
	s.sealed(memento.Put{Path: "/a", Content: "by hand"}, memento.Remove{Path: "/copy"})
	s.onDisk(map[string]string{"a": sealedText("by hand"), "b": sealedText("text")})
}
