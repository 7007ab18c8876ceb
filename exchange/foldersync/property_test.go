package foldersync

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
	"memento/test/longtest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A world is a store and two folders, and what must be in them. Every line that is ever
// written is another word. A word must be there at the end unless somebody has removed it.
type world struct {
	t     *rapid.T
	pairs [2]*pair
	words int             // that were written
	gone  map[string]bool // words that were removed on purpose
}

// newWord returns a word that nobody has written yet.
func (w *world) newWord() string {
	w.words++
	return fmt.Sprintf("word-%d.", w.words)
}

// A place is one of the three sides of a world, as somebody edits it.
type place struct {
	read   func() texts // by path
	write  func(path, text string)
	remove func(path string)
	rename func(from, to string)
}

func (w *world) place(n int) place {
	if n < 2 {
		p := w.pairs[n]
		full := func(path string) string { return filepath.Join(p.dir, filepath.FromSlash(path)) }
		return place{
			read:  p.files,
			write: func(path, text string) { p.write(path, text) },
			remove: func(path string) {
				p.do(os.Remove(full(path)))
				p.removeEmptied(path)
			},
			rename: func(from, to string) {
				p.do(os.MkdirAll(filepath.Dir(full(to)), 0o700))
				p.do(os.Rename(full(from), full(to)))
				p.removeEmptied(from)
			},
		}
	}
	p := w.pairs[0]
	return place{
		read:   p.memories,
		write:  func(path, text string) { p.put(memento.Path(path), text) },
		remove: func(path string) { p.apply(memento.Remove{Path: memento.Path(path)}) },
		rename: func(from, to string) { p.apply(memento.Move{From: memento.Path(from), To: memento.Path(to)}) },
	}
}

// removeEmptied removes the folders of a path, as far as they are empty.
func (p *pair) removeEmptied(path string) {
	for dir := memento.Path(path).Parent(); !dir.IsRoot(); dir = dir.Parent() {
		_ = os.Remove(filepath.Join(p.dir, filepath.FromSlash(string(dir))))
	}
}

// An edit is what somebody does at a place, drawn before it is done.
type edit struct {
	place, kind, note, line int
	to                      string
}

var notes = []string{"/a.md", "/b.md", "/c.md", "/d/a.md", "/d/e/b.md"}

func drawEdit(t *rapid.T, label string) edit {
	return edit{
		place: rapid.IntRange(0, 2).Draw(t, label+" place"),
		kind:  rapid.IntRange(0, 6).Draw(t, label+" kind"),
		note:  rapid.IntRange(0, 9).Draw(t, label+" note"),
		line:  rapid.IntRange(0, 9).Draw(t, label+" line"),
		to:    rapid.SampledFrom(notes).Draw(t, label+" path"),
	}
}

// do makes an edit.
func (w *world) do(e edit) {
	at := w.place(e.place)
	all := at.read()
	paths := slices.Sorted(maps.Keys(all))
	if len(paths) == 0 || e.kind == 0 { // write a note whole
		w.removed(all[e.to])
		if blocked(all, e.to) {
			return
		}
		at.write(e.to, w.newWord()+"\n"+w.newWord()+"\n"+w.newWord()+"\n")
		return
	}
	path := paths[e.note%len(paths)]
	lines := strings.SplitAfter(all[path], "\n")
	lines = lines[:len(lines)-1]
	n := e.line % (len(lines) + 1)
	switch {
	case e.kind == 1:
		w.removed(all[path])
		at.remove(path)
	case e.kind == 2:
		if _, taken := all[e.to]; !taken && !blocked(all, e.to) {
			at.rename(path, e.to)
		}
	case e.kind == 3 && n < len(lines): // replace a line
		w.removed(lines[n])
		lines[n] = w.newWord() + "\n"
		at.write(path, strings.Join(lines, ""))
	case e.kind == 4 && n < len(lines): // remove a line
		w.removed(lines[n])
		at.write(path, strings.Join(slices.Delete(lines, n, n+1), ""))
	default:
		at.write(path, strings.Join(slices.Insert(lines, n, w.newWord()+"\n"), ""))
	}
}

// blocked reports whether a path leads through a note, or is a directory.
func blocked(all texts, path string) bool {
	for other := range all {
		if memento.Path(other).Contains(memento.Path(path)) || memento.Path(path).Contains(memento.Path(other)) {
			return true
		}
	}
	return false
}

// removed notes that the words of a text were removed.
func (w *world) removed(text string) {
	for line := range strings.Lines(text) {
		w.gone[strings.TrimSpace(line)] = true
	}
}

// settled syncs until nothing is left to do, and checks the result.
func (w *world) settled() {
	for range 4 {
		for _, p := range w.pairs {
			p.opts.Force = true
			p.do(p.try())
		}
	}
	one, two := w.pairs[0], w.pairs[1]
	files := one.files()
	if diff := cmp.Diff(files, one.memories()); diff != "" {
		w.t.Errorf("the first folder and the store differ:\n%s", diff)
	}
	if diff := cmp.Diff(files, two.files()); diff != "" {
		w.t.Errorf("the folders differ:\n%s", diff)
	}
	all := strings.Join(slices.Collect(maps.Values(files)), "\n")
	for n := range w.words {
		if word := fmt.Sprintf("word-%d.", n+1); !w.gone[word] && !strings.Contains(all, word) {
			w.t.Errorf("%s is lost; the notes are %q", word, files)
		}
	}
	for _, p := range w.pairs {
		p.sync()
		p.noLeftovers()
	}
}

// Whatever is written, renamed and removed in two folders and their store, before, between
// and during syncs that are interrupted at any step: no word is lost, and all are the same
// in the end.
func TestRandomEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		temp, err := os.MkdirTemp(shm(), "foldersync-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(temp)
		b := memstore.New(nil)
		defer b.Close()
		w := &world{t: t, gone: map[string]bool{}}
		for i := range w.pairs {
			w.pairs[i] = pairIn(t, filepath.Join(temp, fmt.Sprint(i)), openStore(b))
			w.pairs[i].opts.Host = fmt.Sprint("host", i)
			w.pairs[i].opts.Force = true
		}
		for n := range rapid.IntRange(1, longtest.Scaled(12, 40)).Draw(t, "number") {
			label := fmt.Sprint(n)
			p := w.pairs[rapid.IntRange(0, 1).Draw(t, label+" machine")]
			switch rapid.IntRange(0, 6).Draw(t, label+" action") {
			case 0:
				p.do(p.try())
			case 1:
				p.crash(rapid.IntRange(0, 20).Draw(t, label+" step"))
			case 2: // somebody edits meanwhile
				e := drawEdit(t, label)
				left := rapid.IntRange(0, 20).Draw(t, label+" step")
				p.step = func(string) {
					if left--; left == 0 {
						w.do(e)
					}
				}
				p.do(p.try())
				p.step = nil
			default:
				w.do(drawEdit(t, label))
			}
		}
		w.settled()
	})
}
