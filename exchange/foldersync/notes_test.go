package foldersync

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/sensitive"

	"golang.org/x/text/unicode/norm"
)

// problems returns the paths that were left alone, without those that are expected.
func (p *pair) problems() (list []string) {
	for _, x := range p.last.Problems {
		if !x.Expected {
			list = append(list, fmt.Sprintf("%s%s: %s", x.Path, strings.TrimPrefix(x.Name, strings.TrimPrefix(string(x.Path), "/")), x.Reason))
		}
	}
	return list
}

// What is no note is left alone on both sides, and so is what it stands in the way of.
func TestLeftAlone(t *testing.T) {
	p := newPair(t, newStore(t))
	p.opts.Exclude = []memento.Pattern{"*.tmp", "/drafts"}
	p.write("a.md", "a\n")
	p.write("becomes large.md", "x\n")
	p.write("becomes an image.md", "y\n")
	p.write("becomes a link.md", "z\n")
	p.write("folder/1.md", "1\n")
	p.do(p.try())
	image := "\x89PNG\x00\xff"
	p.write("picture.png", image)
	p.write(".obsidian/app.json", "{}")
	p.write("d/.git/HEAD", "ref")
	p.write("x.tmp", "temporary")
	p.write("drafts/d.md", "draft")
	p.write("becomes large.md", strings.Repeat("x", 200_000))
	p.write("becomes an image.md", image)
	p.removeFile("becomes a link.md")
	p.do(os.Symlink("a.md", filepath.Join(p.dir, "becomes a link.md")))
	p.do(os.Rename(filepath.Join(p.dir, "folder"), filepath.Join(p.dir, ".folder")))
	p.do(os.Symlink(".folder", filepath.Join(p.dir, "folder")))
	p.put("/.hidden", "hidden\n")
	p.put("/y.tmp", "temporary\n")
	p.put("/becomes large.md", "x, edited\n")
	p.put("/picture.png", "not a picture\n")
	p.put("/zero", "a\x00b")
	before := p.memories()
	p.sync()
	for path, text := range before {
		if p.memories()[path] != text {
			t.Errorf("the memory %s has changed", path)
		}
	}
	for name, text := range (texts{"picture.png": image, ".obsidian/app.json": "{}", "becomes an image.md": image, "drafts/d.md": "draft"}) {
		if got, err := os.ReadFile(filepath.Join(p.dir, name)); string(got) != text {
			t.Errorf("%s has changed: %q, %v", name, got, err)
		}
	}
	if len(p.last.Pending) > 0 {
		t.Errorf("pending: %q", p.last.Pending)
	}
	want := []string{"/becomes large.md: it is larger than a note can be", "/zero: it is not text that a file could have"}
	if got := p.problems(); !slices.Equal(got, want) {
		t.Errorf("problems %q", got)
	}
}

// Names in NFD, as of macOS, are those of memories in NFC, and stay as they are.
func TestUnicodeNames(t *testing.T) {
	if runtime.GOOS == "darwin" {
		return // the file system does not distinguish the forms
	}
	p := newPair(t, newStore(t))
	nfd := norm.NFD.String("Büro/Müller.md")
	p.write(nfd, "one\n")
	p.sync("upload /Büro/Müller.md")
	p.put("/Büro/Müller.md", "two\n")
	p.put("/Büro/Größe.md", "new\n")
	p.sync("download /Büro/Größe.md", "download /Büro/Müller.md")
	files := p.files()
	if len(files) != 2 || files["/"+nfd] != "two\n" || files["/"+norm.NFD.String("Büro")+"/Größe.md"] != "new\n" {
		t.Errorf("files %q", files)
	}
	p.sync()

	// Two files with the same name in two forms are left alone.
	p.write(norm.NFD.String("Büro")+"/Müller.md", "three\n")
	p.sync()
	if got := p.problems(); len(got) != 1 || !strings.Contains(got[0], "another file has the same name") {
		t.Errorf("problems %q", got)
	}
}

// The store masks a secret. The file keeps it, and both can be edited.
func TestMasked(t *testing.T) {
	b := memstore.New(nil)
	defer b.Close()
	store := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	p := newPair(t, store)
	secret := "ghp_" + "x7Kq2mWv9RtB4nZc8LpY1sDfG6hJ3aQe5UwE"
	p.write("a.md", "token "+secret+"\nline two\nline three\n")
	p.sync("upload /a.md")
	if text := p.memories()["/a.md"]; strings.Contains(text, secret) || !strings.Contains(text, "[REDACTED:") {
		t.Fatalf("the memory is %q", text)
	}
	p.sync()
	p.put("/a.md", strings.Replace(p.memories()["/a.md"], "line three", "line three by the agent", 1))
	p.sync("merge /a.md")
	if text := p.files()["/a.md"]; text != "token "+secret+"\nline two\nline three by the agent\n" {
		t.Errorf("the file is %q", text)
	}
	p.sync()
	p.write("a.md", strings.Replace(p.files()["/a.md"], "line two", "line two by hand", 1))
	p.sync("upload /a.md")
	text := p.memories()["/a.md"]
	if strings.Contains(text, secret) || !strings.Contains(text, "line two by hand\nline three by the agent\n") {
		t.Errorf("the memory is %q", text)
	}
	p.sync()

	// A store that rejects secrets is told apart from one that fails.
	info, err := store.Info(t.Context())
	p.do(err)
	settings := info.Settings
	settings.Sensitive.Mode = memento.Reject
	_, err = b.UpdateStore(t.Context(), memento.DefaultWorkspace, info.ID, memento.StoreUpdate{Settings: &settings})
	p.do(err)
	store = memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
	p.store = store
	p.write("b.md", secret+"\n")
	p.write("c.md", "fine\n")
	p.sync("upload /c.md")
	if got := p.problems(); len(got) != 1 || !strings.HasPrefix(got[0], "/b.md: ") || strings.Contains(got[0], secret) {
		t.Errorf("problems %q", got)
	}
}

// A store that protects a note refuses its change, and the others are synced.
func TestProtected(t *testing.T) {
	b := memstore.New(nil)
	defer b.Close()
	p := newPair(t, openStore(b))
	p.write("p/a.md", "a\n")
	p.write("p/b.md", "b\n")
	p.write("p/c.md", "c\n")
	p.do(p.try())
	info, err := p.store.Info(t.Context())
	p.do(err)
	settings := info.Settings
	settings.ReadOnly = []memento.Pattern{"/p"}
	_, err = b.UpdateStore(t.Context(), memento.DefaultWorkspace, info.ID, memento.StoreUpdate{Settings: &settings})
	p.do(err)
	p.write("p/a.md", "by hand\n")
	p.removeFile("p/b.md")
	p.do(os.Rename(filepath.Join(p.dir, "p/c.md"), filepath.Join(p.dir, "d.md")))
	p.write("e.md", "e\n")
	p.sync("upload /e.md")
	if got := p.problems(); len(got) < 3 {
		t.Errorf("problems %q", got)
	}
	if got := p.memories(); len(got) != 4 || got["/p/a.md"] != "a\n" {
		t.Errorf("memories %q", got)
	}
}

// A program empties a file before it writes its new text.
func TestEmptied(t *testing.T) {
	p := newPair(t, newStore(t))
	p.write("a.md", "a\n")
	p.do(p.try())
	full := filepath.Join(p.dir, "a.md")
	p.do(os.Truncate(full, 0))
	p.put("/b.md", "b\n")
	written := false
	p.step = func(string) {
		if !written {
			p.do(os.WriteFile(full, []byte("a, saved\n"), 0o600))
			written = true
		}
	}
	p.sync("download /b.md", "upload /a.md")
	for v, err := range p.store.Versions(t.Context(), memento.VersionListOptions{Path: "/a.md"}) {
		p.do(err)
		if v.Size == 0 {
			t.Error("the empty text is in the history")
		}
	}

	// An empty note that stays empty is a note.
	p.step = nil
	p.write("empty.md", "")
	p.do(p.try())
	p.both(texts{"/a.md": "a, saved\n", "/b.md": "b\n", "/empty.md": ""})
}

// Two machines sync their folders with one store.
func TestTwoMachines(t *testing.T) {
	store := newStore(t)
	one, two := newPair(t, store), newPair(t, store)
	two.opts.Host = "two"
	one.write("a.md", "1\n2\n3\n")
	one.write("b.md", "b\n")
	one.sync("upload /a.md", "upload /b.md")
	two.sync("download /a.md", "download /b.md")
	one.write("a.md", "one\n2\n3\n")
	two.write("a.md", "1\n2\nthree\n")
	one.write("b.md", "b of one\n")
	two.write("b.md", "b of two\n")
	one.sync("upload /a.md", "upload /b.md")
	two.sync("merge /a.md", "conflict /b.md to /b (conflict 2026-11-22 two).md", "upload /b (conflict 2026-11-22 two).md")
	one.sync("download /a.md", "download /b (conflict 2026-11-22 two).md")
	want := texts{"/a.md": "one\n2\nthree\n", "/b.md": "b of one\n", "/b (conflict 2026-11-22 two).md": "b of two\n"}
	one.both(want)
	two.both(want)
}

func TestConflictName(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	long := strings.Repeat("ü", 126) // 252 bytes
	for _, c := range []struct {
		path memento.Path
		host string
		n    int
		want memento.Path
	}{
		{"/a.md", "laptop", 1, "/a (conflict 2026-11-22 laptop).md"},
		{"/d/a.b.md", "laptop", 2, "/d/a.b (conflict 2026-11-22 laptop 2).md"},
		{"/README", "ana's mac/2", 1, "/README (conflict 2026-11-22 ana-s-mac-2)"},
		{"/v1. what is new", "h", 1, "/v1. what is new (conflict 2026-11-22 h)"},
	} {
		if got := conflictName(c.path, now, c.host, c.n); got != c.want {
			t.Errorf("%s: %s", c.path, got)
		}
	}
	got := conflictName(memento.Path("/"+long+".md"), now, strings.Repeat("é", 100), 1000)
	if _, err := memento.ParsePath(string(got)); err != nil || len(got.Base()) > 255 {
		t.Errorf("%s has %d bytes: %v", got, len(got.Base()), err)
	}
}
