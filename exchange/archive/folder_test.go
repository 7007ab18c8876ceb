package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento"
	"memento/exchange/archive"

	"github.com/google/go-cmp/cmp"
)

// tree returns the files below dir, with their contents.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files["/"+filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFolderRoundTrip(t *testing.T) {
	source := lived(t)
	dir := filepath.Join(t.TempDir(), "out")
	sum, err := archive.WriteFolder(t.Context(), dir, source, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := contentsOf(t, source)
	got := map[memento.Path]string{}
	for name, text := range tree(t, dir) {
		got[memento.Path(name)] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files differ:\n%s", diff)
	}
	if sum.Memories != len(want) {
		t.Errorf("summary %+v; want %d memories", sum, len(want))
	}
	if runtime.GOOS != "windows" {
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			wantMode := os.FileMode(0o600)
			if d.IsDir() {
				wantMode = 0o700
			}
			if err == nil && info.Mode().Perm() != wantMode {
				t.Errorf("%s has mode %o; want %o", name, info.Mode().Perm(), wantMode)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteFolderNeverClobbers(t *testing.T) {
	source := lived(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.WriteFolder(t.Context(), dir, source, nil); !errors.Is(err, archive.ErrNotEmpty) {
		t.Errorf("into a folder with a file: %v; want ErrNotEmpty", err)
	}
	if diff := cmp.Diff(map[string]string{"/mine.txt": "mine"}, tree(t, dir)); diff != "" {
		t.Errorf("the folder changed:\n%s", diff)
	}
	if _, err := archive.WriteFolder(t.Context(), filepath.Join(dir, "mine.txt"), source, nil); err == nil {
		t.Error("wrote a folder over a file")
	}
}

func TestWriteFolderOfImpossibleNames(t *testing.T) {
	s := newStore(t)
	long := memento.Path("/z/" + strings.Repeat("n", 256))
	apply(t, s, memento.Put{Path: "/a/fine.md", Content: "x"}, memento.Put{Path: long, Content: "x"})
	parent := t.TempDir()
	_, err := archive.WriteFolder(t.Context(), filepath.Join(parent, "out"), s, nil)
	at, ok := errors.AsType[*memento.Error](err)
	if !ok || at.Path != long || !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("error %v; want ErrInvalid of %s", err, long)
	}
	if left := names(t, parent); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}

// What fails halfway is taken back.
func TestWriteFolderCancelled(t *testing.T) {
	s := lived(t)
	ctx, cancel := contextOf(t)
	parent := t.TempDir()
	opts := &archive.FolderOptions{Progress: func(done int) {
		if done == 3 {
			cancel()
		}
	}}
	if _, err := archive.WriteFolder(ctx, filepath.Join(parent, "out"), s, opts); !errors.Is(err, ctx.Err()) {
		t.Errorf("error %v; want %v", err, ctx.Err())
	}
	if left := names(t, parent); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}

func TestWriteFolderOfNoStore(t *testing.T) {
	parent := t.TempDir()
	if _, err := archive.WriteFolder(t.Context(), filepath.Join(parent, "out"), newStore(t), nil); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("error %v; want ErrNoStore", err)
	}
	if left := names(t, parent); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}
