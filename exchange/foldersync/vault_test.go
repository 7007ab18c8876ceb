package foldersync

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/test/race"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// fillVault makes a vault of notes in directories, with the other files that vaults have.
// It returns the notes by their paths.
func (p *pair) fillVault(notes int) texts {
	want := texts{}
	for i := range notes {
		dir := []string{"", "Projekte/", "Büro/Ablage/", "日記/2026/", "people/"}[i%5]
		name := fmt.Sprintf("%sNotiz %04d.md", dir, i)
		text := fmt.Sprintf("# Notiz %d\n\n%s\n- one\n- two\n", i, strings.Repeat("Text über etwas. ", i%40))
		want["/"+name] = text
		if i%2 == 0 {
			name = norm.NFD.String(name)
		}
		p.write(name, text)
	}
	p.write(".obsidian/app.json", "{}")
	p.write(".obsidian/plugins/x/main.js", "x")
	p.write("people/.trash/old.md", "old")
	p.write("Anhang/bild.png", "\x89PNG\x00\xff")
	p.write("Anhang/foto.jpg", "\xff\xd8\xff")
	p.write("too large.md", strings.Repeat("large ", 20_000))
	return want
}

// notesOf returns the files of a folder that are notes, by their paths.
func (p *pair) notesOf() texts {
	got := texts{}
	for name, text := range p.files() {
		switch filepath.Base(name) {
		case "bild.png", "foto.jpg", "too large.md":
			continue
		}
		path := norm.NFC.String(name)
		if _, twice := got[path]; twice {
			p.t.Errorf("%s is there twice", path)
		}
		got[path] = text
	}
	return got
}

// A vault of many notes is synced to a store and from there to another folder, and then
// both change. No note is lost or twice, and all other files are left alone.
func TestVault(t *testing.T) {
	notes := race.Scaled(2000, 400)
	store := newStore(t)
	one, two := pairIn(t, t.TempDir(), store), pairIn(t, t.TempDir(), store)
	want := one.fillVault(notes)
	others := map[string]string{}
	for _, name := range []string{".obsidian/app.json", ".obsidian/plugins/x/main.js", "people/.trash/old.md", "Anhang/bild.png", "Anhang/foto.jpg", "too large.md"} {
		text, err := os.ReadFile(filepath.Join(one.dir, name))
		one.do(err)
		others[name] = string(text)
	}
	one.do(one.try())
	if one.last.Uploaded != notes || one.last.Actions() != notes {
		t.Errorf("the first sync: %+v", one.last)
	}
	if got := one.problems(); len(got) != 1 || !strings.HasPrefix(got[0], "/too large.md: ") {
		t.Errorf("problems %q", got)
	}
	two.do(two.try())
	if two.last.Downloaded != notes || two.last.Actions() != notes {
		t.Errorf("the sync of the second folder: %+v", two.last)
	}

	// Each machine edits, renames, deletes and adds notes.
	for i := range 60 {
		path := fmt.Sprintf("/Büro/Ablage/Notiz %04d.md", i*5+2)
		text := want[path]
		switch i % 6 {
		case 0: // both edit
			one.write(nameOnDisk(one, path[1:]), strings.Replace(text, "- one", "- ONE", 1))
			two.write(path[1:], text+"- three\n")
			want[path] = strings.Replace(text, "- one", "- ONE", 1) + "- three\n"
		case 1:
			one.do(os.Rename(filepath.Join(one.dir, nameOnDisk(one, path[1:])), filepath.Join(one.dir, fmt.Sprintf("renamed %d.md", i))))
			two.write(path[1:], text+"edited\n")
			delete(want, path)
			want[fmt.Sprintf("/renamed %d.md", i)] = text + "edited\n"
		case 2:
			two.removeFile(path[1:])
			delete(want, path)
		case 3:
			one.write(fmt.Sprintf("new/%d.md", i), "new\n")
			want[fmt.Sprintf("/new/%d.md", i)] = "new\n"
		case 4:
			two.write(path[1:], "rewritten\n")
			want[path] = "rewritten\n"
		}
	}
	for range 2 {
		one.do(one.try())
		two.do(two.try())
	}
	if n := one.last.Conflicts + two.last.Conflicts; n != 0 {
		t.Errorf("%d conflicts", n)
	}
	for side, got := range map[string]texts{"first folder": one.notesOf(), "second folder": two.notesOf(), "store": one.memories()} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", side, diff)
		}
	}
	for name, text := range others {
		if got, err := os.ReadFile(filepath.Join(one.dir, name)); err != nil || string(got) != text {
			t.Errorf("%s has changed: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(two.dir, name)); err == nil {
			t.Errorf("%s is in the second folder", name)
		}
	}
	one.sync()
	two.sync()
	one.noLeftovers()
	two.noLeftovers()
	ids := map[memento.MemoryID]bool{}
	for e, err := range store.List(t.Context(), memento.ListOptions{}) {
		one.do(err)
		ids[e.Memory.ID] = true
	}
	if len(ids) != len(want) || len(want) < notes-10 {
		t.Errorf("%d memories for %d notes", len(ids), len(want))
	}
}

// nameOnDisk returns the name of a note in a folder, in the form that it has there.
func nameOnDisk(p *pair, name string) string {
	if nfd := norm.NFD.String(name); nfd != name {
		if _, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(nfd))); err == nil {
			return nfd
		}
	}
	return name
}
