package dirstore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento"
)

// holding returns the files in the folder that have a text.
func (s *site) holding(text string) (names []string) {
	s.Helper()
	s.do(filepath.WalkDir(s.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) || bytes.Contains([]byte(path), []byte(text)) {
			names = append(names, filepath.Base(path))
		}
		return err
	}))
	return names
}

// The index of files forgets the path of a redacted version, also in its log, while
// another process has the folder open. That process learns that the file is gone.
func TestRedactedPathLeavesTheIndex(t *testing.T) {
	for _, how := range []string{"redacted", "pruned"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t)
			other := s.open(nil)
			s.put("/stays", "x")
			s.put("/client-lovelace/contract", "y")
			if _, err := other.Get(t.Context(), s.store, memento.ByPath("/client-lovelace/contract")); err != nil {
				t.Fatal(err)
			}
			_, err := s.b.Apply(t.Context(), s.store, s.by, []memento.Change{memento.Remove{Path: "/client-lovelace/contract"}})
			s.do(err)
			if len(s.holding("lovelace")) == 0 {
				t.Fatal("this test looks for it in the wrong place")
			}
			if how == "pruned" {
				_, err = s.b.Prune(t.Context(), s.store, memento.PruneOptions{Before: time.Now().Add(time.Hour)})
				s.do(err)
			} else {
				for v, err := range s.b.ListVersions(t.Context(), s.store, memento.VersionListOptions{}) {
					s.do(err)
					if v.Path != "/stays" {
						_, err := s.b.Redact(t.Context(), s.store, v.ID, s.by)
						s.do(err)
					}
				}
			}
			// The database empties its log when no reader needs it.
			for _, name := range s.holding("lovelace") {
				if strings.HasPrefix(name, indexFile) {
					t.Errorf("with the folder open: in %q", name)
				}
			}
			for e, err := range other.List(t.Context(), s.store, memento.ListOptions{}) {
				s.do(err)
				if e.Path != "/stays" {
					t.Errorf("another process lists %s", e.Path)
				}
			}
			s.put("/later", "z")
			if _, err := other.Get(t.Context(), s.store, memento.ByPath("/later")); err != nil {
				t.Errorf("another process, afterwards: %v", err)
			}
			s.do(other.Close())
			s.do(s.b.Close())
			if held := s.holding("lovelace"); len(held) > 0 {
				t.Errorf("closed: in %q", held)
			}
		})
	}
}
