package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/exchange/archive"

	"github.com/google/go-cmp/cmp"
)

// visible is tree without hidden files at the top.
func visible(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := tree(t, dir)
	for name := range files {
		if strings.HasPrefix(name, "/.") {
			delete(files, name)
		}
	}
	return files
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// update updates the folder and compares it with what is wanted.
func update(t *testing.T, dir string, s *memento.Store, opts *archive.UpdateOptions, want map[string]string) archive.Updated {
	t.Helper()
	done, err := archive.UpdateFolder(t.Context(), dir, s, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, visible(t, dir)); diff != "" {
		t.Errorf("files differ:\n%s", diff)
	}
	return done
}

// A folder follows its store, call by call, and what is not memento's stays.
func TestUpdateFolder(t *testing.T) {
	s := newStore(t)
	apply(t, s, memento.Put{Path: "/a.md", Content: "a"}, memento.Put{Path: "/d/b.md", Content: "b"}, memento.Put{Path: "/d/e/c.md", Content: "c"}, memento.Put{Path: "/x", Content: "file"})
	dir := filepath.Join(t.TempDir(), "out")
	update(t, dir, s, nil, map[string]string{"/a.md": "a", "/d/b.md": "b", "/d/e/c.md": "c", "/x": "file"})

	write(t, dir, "mine.md", "mine")
	write(t, dir, "d/pic.png", "\x89PNG\x00")
	apply(t, s, memento.Put{Path: "/a.md", Content: "a2"}, memento.Remove{Path: "/d/e/c.md"}, memento.Put{Path: "/new.md", Content: "new"},
		memento.Remove{Path: "/x"}, memento.Put{Path: "/x/y", Content: "now a directory"})
	want := map[string]string{"/a.md": "a2", "/d/b.md": "b", "/new.md": "new", "/x/y": "now a directory", "/mine.md": "mine", "/d/pic.png": "\x89PNG\x00"}
	done := update(t, dir, s, nil, want)
	if done.Written != 3 || done.Removed != 2 || done.Unchanged != 1 || done.Memories != 4 {
		t.Errorf("updated %+v; want 3 written, 2 removed, 1 unchanged", done)
	}
	if _, err := os.Lstat(filepath.Join(dir, "d", "e")); err == nil {
		t.Error("an empty folder is left")
	}
	if done := update(t, dir, s, nil, want); done.Unchanged != 4 || done.Written+done.Removed != 0 {
		t.Errorf("once more: %+v; want all unchanged", done)
	}

	// And back from a directory to a file.
	apply(t, s, memento.Remove{Path: "/x"}, memento.Put{Path: "/x", Content: "file again"})
	delete(want, "/x/y")
	want["/x"] = "file again"
	update(t, dir, s, nil, want)

	// Notes of others go only if that is asked for; what is not a note never does.
	delete(want, "/mine.md")
	update(t, dir, s, &archive.UpdateOptions{Delete: true}, want)
}

// What somebody has changed is not lost.
func TestUpdateFolderKeepsChanges(t *testing.T) {
	s := newStore(t)
	apply(t, s, memento.Put{Path: "/a.md", Content: "a"}, memento.Put{Path: "/b.md", Content: "b"}, memento.Put{Path: "/c.md", Content: "c"})
	dir := filepath.Join(t.TempDir(), "out")
	update(t, dir, s, nil, map[string]string{"/a.md": "a", "/b.md": "b", "/c.md": "c"})
	write(t, dir, "a.md", "changed by hand")
	write(t, dir, "b.md", "changed by hand")
	write(t, dir, "new.md", "by hand")
	write(t, dir, "n/x.md", "a folder")
	apply(t, s, memento.Remove{Path: "/b.md"}, memento.Put{Path: "/c.md", Content: "c2"}, memento.Put{Path: "/new.md", Content: "by the agent"}, memento.Put{Path: "/n", Content: "a memory"})
	before := tree(t, dir)
	_, err := archive.UpdateFolder(t.Context(), dir, s, nil)
	inWay, ok := errors.AsType[*archive.InWayError](err)
	if !ok || !errors.Is(err, memento.ErrExist) {
		t.Fatalf("update: %v; want an InWayError", err)
	}
	if diff := cmp.Diff([]string{"a.md", "n", "new.md"}, inWay.Names); diff != "" {
		t.Errorf("in the way:\n%s", diff)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("a refused update has changed files:\n%s", diff)
	}
	apply(t, s, memento.Remove{Path: "/n"})
	done := update(t, dir, s, &archive.UpdateOptions{Overwrite: true}, map[string]string{
		"/a.md": "a", "/b.md": "changed by hand", "/c.md": "c2", "/new.md": "by the agent", "/n/x.md": "a folder"})
	if len(done.Skipped) != 1 || done.Skipped[0].Name != "b.md" {
		t.Errorf("skipped %+v; want b.md, whose memory is gone", done.Skipped)
	}
}

// Of a folder without a record, and of one of another store, nothing is removed or
// replaced.
func TestUpdateFolderOfOthers(t *testing.T) {
	s, other := newStore(t), newStore(t)
	apply(t, s, memento.Put{Path: "/a.md", Content: "a"}, memento.Put{Path: "/same.md", Content: "same"})
	apply(t, other, memento.Put{Path: "/b.md", Content: "b"})
	dir := filepath.Join(t.TempDir(), "out")
	update(t, dir, other, nil, map[string]string{"/b.md": "b"})
	write(t, dir, "same.md", "same")
	want := map[string]string{"/a.md": "a", "/b.md": "b", "/same.md": "same"}
	update(t, dir, s, nil, want)
	apply(t, other, memento.Remove{Path: "/b.md"})
	update(t, dir, other, nil, want) // the record is that of s now

	// A link is never followed.
	outside := filepath.Join(t.TempDir(), "target")
	write(t, filepath.Dir(outside), "target", "theirs")
	if err := os.Symlink(outside, filepath.Join(dir, "link.md")); err != nil {
		t.Skip("links need a privilege here:", err)
	}
	apply(t, s, memento.Put{Path: "/link.md", Content: "ours"})
	if _, err := archive.UpdateFolder(t.Context(), dir, s, nil); !errors.Is(err, memento.ErrExist) {
		t.Errorf("a link in the way: %v; want ErrExist", err)
	}
	if _, err := archive.UpdateFolder(t.Context(), dir, s, &archive.UpdateOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "theirs" {
		t.Errorf("the link's target has %q, %v", text, err)
	}
}
