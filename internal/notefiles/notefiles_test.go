package notefiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	rules := Rules{Exclude: []memento.Pattern{"*.tmp", "/drafts"}, MaxBytes: 10}
	for _, c := range []struct {
		name string
		mode fs.FileMode
		size int64
		path memento.Path
		left Reason
	}{
		{"a.md", 0, 10, "/a.md", ""},
		{"notes", fs.ModeDir, 4096, "/notes", ""},
		{"a.md", 0, 11, "/a.md", TooLarge},
		{".git", fs.ModeDir, 0, "/.git", Hidden},
		{"x/.obsidian/app.json", 0, 1, "/x/.obsidian/app.json", Hidden},
		{"node_modules", fs.ModeDir, 0, "/node_modules", Hidden},
		{"x/y.tmp", 0, 1, "/x/y.tmp", Excluded},
		{"drafts/a.md", 0, 1, "/drafts/a.md", Excluded},
		{"x/drafts/a.md", 0, 1, "/x/drafts/a.md", ""},
		{"link", fs.ModeSymlink, 1, "/link", NotRegular},
		{"u\u0308ber.md", 0, 1, "/\u00fcber.md", ""},
		{"a\x01b", 0, 1, "", BadName},
		{"../up", 0, 1, "", BadName},
		{"a/../../up", 0, 1, "", BadName},
		{"a//b", 0, 1, "", BadName},
		{"/abs", 0, 1, "", BadName},
	} {
		p, left := rules.Judge(c.name, c.mode, c.size)
		if p != c.path || left != c.left {
			t.Errorf("Judge(%q) = %q, %q; want %q, %q", c.name, p, left, c.path, c.left)
		}
	}
	rules = Rules{Hidden: true}
	if _, left := rules.Judge(".github/a.md", 0, 1); left != "" {
		t.Errorf("a hidden name is left out though Hidden is set: %s", left)
	}
	if _, left := rules.Judge(".memento/books.db", 0, 1); left != Hidden {
		t.Errorf("memento's own folder is not left out")
	}
}

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]memento.Pattern{
		"*.tmp": "*.tmp", "drafts/": "/drafts", "/drafts": "/drafts", "a/*/b": "/a/*/b",
		"./a/b": "/a/b", "**/old": "/**/old", "u\u0308": "\u00fc",
	} {
		got, err := ParsePattern(text)
		if err != nil || got != want {
			t.Errorf("ParsePattern(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/", "[a", "./"} {
		if got, err := ParsePattern(text); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("ParsePattern(%q) = %q, %v; want ErrInvalid", text, got, err)
		}
	}
}

func TestWalkAndRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.md": "one", "d/b.md": "two", ".git/HEAD": "ref", "d/.obsidian/app.json": "{}",
		"pic.png": "\x89PNG\x00", "large.md": strings.Repeat("x", 100), "bad\u200ename.md": "x",
	} {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]Reason{
		"a.md": "", "d/b.md": "", ".git": Hidden, "d/.obsidian": Hidden, "pic.png": "",
		"large.md": TooLarge, "bad\u200ename.md": BadName,
	}
	if runtime.GOOS == "linux" { // where both forms can be names
		for _, name := range []string{"u\u0308.md", "\u00fc.md"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want["u\u0308.md"], want["\u00fc.md"] = "", SameName
		if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		want["link"] = NotRegular
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got := map[string]Reason{}
	err = Walk(t.Context(), root, &Rules{MaxBytes: 50}, func(f File) error {
		got[f.Name] = f.Left
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("walk differs:\n%s", diff)
	}

	if text, err := Read(root, "d/b.md", 3); err != nil || text != "two" {
		t.Errorf("Read = %q, %v", text, err)
	}
	if _, err := Read(root, "d/b.md", 2); !errors.Is(err, memento.ErrTooLarge) {
		t.Errorf("read of too much = %v; want ErrTooLarge", err)
	}
	if _, err := Read(root, "pic.png", 1000); !errors.Is(err, ErrNotText) {
		t.Errorf("read of an image = %v; want ErrNotText", err)
	}
	if _, err := Read(root, "none", 1000); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read of nothing = %v; want ErrNotExist", err)
	}
}
