package foldersync

import (
	"fmt"
	"testing"

	"memento"
)

// expected says, in the words of the documentation, what both sides have after a sync, if
// they had b after the last one; "" is no note. A conflict has a copy.
func expected(b, f, m string) (note, copy string) {
	folderChanged, storeChanged := f != b, m != b
	switch {
	case f == m:
		return f, ""
	case !storeChanged: // the folder's text, deletion or creation
		return f, ""
	case !folderChanged:
		return m, ""
	case f == "": // deleted here, changed there
		return m, ""
	case m == "":
		return f, ""
	}
	return m, f
}

// Every combination of base, file and memory.
func TestEveryCombination(t *testing.T) {
	all := []string{"", "one\n", "two\n", "three\n"}
	p := newPair(t, newStore(t))
	p.opts.Force = true
	type combination struct{ b, f, m string }
	paths := map[string]combination{}
	for i, b := range all {
		for j, f := range all {
			for k, m := range all {
				// Each has texts of its own, so that there are no renames.
				own := func(text string) string {
					if text == "" {
						return ""
					}
					return fmt.Sprintf("%d%d%d %s", i, j, k, text)
				}
				paths[fmt.Sprintf("%d%d%d.md", i, j, k)] = combination{own(b), own(f), own(m)}
			}
		}
	}
	for name, c := range paths {
		if c.b != "" {
			p.write(name, c.b)
		}
	}
	p.do(p.try())
	for name, c := range paths {
		if c.f != "" {
			p.write(name, c.f)
		} else if c.b != "" {
			p.removeFile(name)
		}
		path := memento.Path("/" + name)
		if c.m != "" {
			p.put(path, c.m)
		} else if c.b != "" {
			p.apply(memento.Remove{Path: path})
		}
	}
	want := texts{}
	for name, c := range paths {
		note, copied := expected(c.b, c.f, c.m)
		if note != "" {
			want["/"+name] = note
		}
		if copied != "" {
			want[string(conflictName(memento.Path("/"+name), p.opts.Now(), "host", 1))] = copied
		}
	}
	p.do(p.try())
	p.both(want)
	if len(want) < 60 {
		t.Errorf("only %d notes", len(want))
	}
}
