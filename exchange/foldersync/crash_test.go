package foldersync

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"

	"github.com/google/go-cmp/cmp"
)

// errCrashed is the panic of a sync that a test interrupts.
var errCrashed = errors.New("crashed")

// crash syncs, and stops at the step with the given number, from 0. Nothing is cleaned up,
// as when the process is killed. It reports whether there was such a step.
func (p *pair) crash(at int) (crashed bool) {
	p.t.Helper()
	s, err := Open(p.dir, p.store, p.state, &p.opts)
	p.do(err)
	defer s.Close() // releases the lock, as the end of a process does
	s.settling, s.folder.plain = 0, p.plain
	n := 0
	s.step = func(string) {
		if n++; n > at {
			panic(errCrashed)
		}
	}
	defer func() {
		if fault := recover(); fault != nil {
			if fault != errCrashed {
				panic(fault)
			}
			crashed = true
		}
	}()
	_, err = s.Sync(p.t.Context())
	p.do(err)
	return false
}

// A scenario needs every kind of action.
func (p *pair) scenario() {
	for _, name := range []string{"merge.md", "clash.md", "up.md", "down.md", "gone here.md", "gone there.md", "d/here.md", "there.md", "kept here.md"} {
		p.write(name, name+"\none\ntwo\nthree\nfour\n")
	}
	p.do(p.try())
	p.write("merge.md", "merge.md\nONE\ntwo\nthree\nfour\nmore by hand\n")
	p.put("/merge.md", "merge.md\none\nTWO\nthree\nfour\nmore by agent\n")
	p.write("clash.md", "by hand\n")
	p.put("/clash.md", "by agent\n")
	p.write("up.md", "up\n")
	p.put("/down.md", "down\n")
	p.removeFile("gone here.md")
	p.apply(memento.Remove{Path: "/gone there.md"})
	p.do(os.Rename(filepath.Join(p.dir, "d/here.md"), filepath.Join(p.dir, "moved here.md")))
	p.put("/d/here.md", "changed\n")
	p.apply(memento.Move{From: "/there.md", To: "/e/f/there.md"})
	p.removeFile("kept here.md")
	p.put("/kept here.md", "kept\n")
	p.write("new.md", "new\n")
	p.put("/g/new.md", "new there\n")
}

// Wherever a sync is interrupted, the next one completes it, with the same result.
func TestCrash(t *testing.T)       { testCrash(t, false) }
func TestEditBetween(t *testing.T) { testEditBetween(t, false) }

// The same on systems that cannot exchange two files.
func TestCrashWithoutExchange(t *testing.T)       { testCrash(t, true) }
func TestEditBetweenWithoutExchange(t *testing.T) { testEditBetween(t, true) }

func testCrash(t *testing.T, plain bool) {
	whole := newPair(t, newStore(t))
	whole.plain = plain
	whole.scenario()
	whole.do(whole.try())
	want := whole.files()
	whole.both(want)
	if len(want) != 10 || !strings.Contains(fmt.Sprint(want), "ONE") {
		t.Fatalf("the scenario ends with %q", want)
	}
	steps := 0
	for at := 0; ; at++ {
		p := newPair(t, newStore(t))
		p.plain = plain
		p.scenario()
		if !p.crash(at) {
			break
		}
		steps++
		// Another one may be interrupted as well.
		p.crash(at % 3)
		p.do(p.try())
		if diff := cmp.Diff(want, p.files()); diff != "" {
			t.Errorf("after a crash at step %d (-want +got)\n%s", at, diff)
		}
		p.both(want)
	}
	if steps < 15 {
		t.Errorf("only %d steps", steps)
	}
}

// Edits of all notes that are made between any two steps are not lost, in the folder or
// in the store.
func testEditBetween(t *testing.T, plain bool) {
	names := []string{"merge.md", "clash.md", "up.md", "down.md", "gone here.md", "gone there.md", "moved here.md", "e/f/there.md", "there.md", "d/here.md", "kept here.md", "g/new.md"}
	for _, side := range []string{"folder", "store"} {
		t.Run(side, func(t *testing.T) {
			for at, ended := 0, false; !ended; at++ {
				p := newPair(t, newStore(t))
				p.plain = plain
				p.scenario()
				n := 0
				p.step = func(string) {
					if n++; n != at+1 {
						return
					}
					for _, name := range names {
						text := "edited between: " + name + "\n"
						if side == "folder" {
							p.write(name, text)
						} else {
							p.put(memento.Path("/"+name), text)
						}
					}
				}
				p.do(p.try())
				ended = n <= at
				p.do(p.try()) // for edits of what was synced before the step
				got := fmt.Sprint(p.files())
				for _, name := range names {
					if !ended && !strings.Contains(got, "edited between: "+name) {
						t.Errorf("the edit of %s at step %d is lost: %s", name, at, got)
					}
				}
				p.both(p.files())
			}
		})
	}
}

// A program that has opened a file before it was replaced or removed writes to it later.
func TestEditOfOpenFile(t *testing.T) {
	for _, change := range []memento.Change{memento.Put{Path: "/a.md", Content: "by agent\n"}, memento.Remove{Path: "/a.md"}} {
		p := newPair(t, newStore(t))
		p.write("a.md", "a\n")
		p.do(p.try())
		p.apply(change)
		f, err := os.OpenFile(filepath.Join(p.dir, "a.md"), os.O_WRONLY, 0)
		p.do(err)
		written := false
		p.step = func(name string) {
			if name == "file replaced" || name == "file removed" {
				written = true
			}
			if name == "settle" && written {
				_, err := f.WriteString("by hand, late\n")
				p.do(err)
				p.do(f.Close())
				written = false
			}
		}
		p.do(p.try())
		if text := fmt.Sprint(p.files()); !strings.Contains(text, "by hand, late") {
			t.Errorf("after %T, the edit is lost: %s", change, text)
		}
		p.both(p.files())
	}
}
