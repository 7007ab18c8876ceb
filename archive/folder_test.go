package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento"
	"memento/archive"

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
	copied := newStore(t)
	if _, err := archive.ReadFolder(t.Context(), dir, copied, ana, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contentsOf(t, copied)); diff != "" {
		t.Errorf("the copy differs:\n%s", diff)
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

// put writes files below dir.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege on Windows:", err)
		}
		t.Fatal(err)
	}
}

func TestReadFolderSkips(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"a.md": "a", "sub/b.md": "b\r\n", "sub.md": "c", ".hidden": "h", "empty": "",
		"picture.png": "\x89PNG\r\n\x1a\n\xff", "late.bin": strings.Repeat("é", 8192) + "\xff",
		"e\u0301.md": "not NFC",
	})
	link(t, "a.md", filepath.Join(dir, "link"))
	link(t, "sub", filepath.Join(dir, "linked"))
	s := newStore(t)
	sum, err := archive.ReadFolder(t.Context(), dir, s, ana, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[memento.Path]string{"/a.md": "a", "/sub/b.md": "b\r\n", "/sub.md": "c", "/.hidden": "h", "/empty": ""}
	if diff := cmp.Diff(want, contentsOf(t, s)); diff != "" {
		t.Errorf("contents differ:\n%s", diff)
	}
	reasons := map[string]string{}
	for _, skipped := range sum.Skipped {
		reasons[skipped.Name] = skipped.Reason
	}
	for name, reason := range map[string]string{
		"picture.png": "it is not UTF-8 text", "late.bin": "it is not UTF-8 text",
		"link": "it is a link", "linked": "it is a link", "e\u0301.md": "its name is not a valid path",
	} {
		if !strings.HasPrefix(reasons[name], reason) {
			t.Errorf("skipped %s because %q; want %q", name, reasons[name], reason)
		}
	}
	if len(reasons) != 5 || sum.Memories != len(want) {
		t.Errorf("summary %+v", sum)
	}
}

func TestReadFolderRefusesLinksOut(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, map[string]string{"secret": "s"})
	for name, target := range map[string]string{
		"file":      filepath.Join(outside, "secret"),
		"directory": outside,
		"dots":      "../" + filepath.Base(outside) + "/secret",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, map[string]string{"a.md": "a"})
			link(t, target, filepath.Join(dir, "z"))
			s := newStore(t)
			_, err := archive.ReadFolder(t.Context(), dir, s, ana, nil)
			if !errors.Is(err, memento.ErrInvalid) || !strings.Contains(err.Error(), "leads out") {
				t.Errorf("error %v; want one that names the link", err)
			}
			if st := stateOf(t, s); len(st.Memories) > 0 {
				t.Errorf("it read %v", st.Memories)
			}
		})
	}
}

func TestReadFolderLimit(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": "12345", "b": "67890", "film": "\xff" + strings.Repeat("x", 100)})
	s := newStore(t)
	if _, err := archive.ReadFolder(t.Context(), dir, s, ana, &archive.ReadOptions{MaxBytes: 9}); !errors.Is(err, archive.ErrTooLarge) {
		t.Errorf("error %v; want ErrTooLarge", err)
	}
	if _, err := archive.ReadFolder(t.Context(), dir, s, ana, &archive.ReadOptions{MaxBytes: 10}); err != nil {
		t.Error(err)
	}
}

func TestReadFolderOverwrite(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": "new", "b": "new"})
	s := newStore(t)
	apply(t, s, memento.Put{Path: "/b", Content: "old"})
	if _, err := archive.ReadFolder(t.Context(), dir, s, ana, nil); !errors.Is(err, memento.ErrExist) {
		t.Errorf("error %v; want ErrExist", err)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/b": "old"}, contentsOf(t, s)); diff != "" {
		t.Errorf("a refused import changed the store:\n%s", diff)
	}
	if _, err := archive.ReadFolder(t.Context(), dir, s, ana, &archive.ReadOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[memento.Path]string{"/a": "new", "/b": "new"}, contentsOf(t, s)); diff != "" {
		t.Errorf("contents differ:\n%s", diff)
	}
}
