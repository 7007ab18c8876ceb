package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"

	"github.com/google/go-cmp/cmp"
)

// folding makes a backend assume that its file system folds names, so that the test runs
// on every file system.
func folding(t *testing.T) *site {
	s := newSite(t)
	s.do(s.b.Close())
	s.b = s.open(&Options{traits: &traits{folds: true, composes: true, reserved: reservedNames}})
	return s
}

// Of names that the file system does not tell apart, the second is refused, and the first
// stays as it is.
func TestFolding(t *testing.T) {
	s := folding(t)
	s.put("/a", "first")
	s.put("/dir/x", "first")
	s.put("/stra\u00dfe", "first")
	s.put("/\u00e9t\u00e9", "first")
	s.put("/move", "m")
	before := s.versions()
	for _, tt := range []struct {
		change memento.Change
		at     memento.Path
	}{
		{memento.Put{Path: "/A", Content: "x"}, "/a"},
		{memento.Put{Path: "/A", Content: "x", If: memento.IfAbsent()}, "/a"},
		{memento.Put{Path: "/A/b", Content: "x"}, "/a"},
		{memento.Put{Path: "/DIR/y", Content: "x"}, "/dir"},
		{memento.Put{Path: "/Dir", Content: "x"}, "/dir"},
		{memento.Put{Path: "/dir/X", Content: "x"}, "/dir/x"},
		{memento.Put{Path: "/STRASSE", Content: "x"}, "/stra\u00dfe"},
		{memento.Put{Path: "/\u00c9T\u00c9", Content: "x"}, "/\u00e9t\u00e9"},
		{memento.Move{From: "/move", To: "/A"}, "/a"},
		{memento.Move{From: "/move", To: "/Dir/m"}, "/dir"},
		{memento.Move{From: "/dir", To: "/A"}, "/a"},
	} {
		err := s.try(tt.change)
		at, _ := errors.AsType[*memento.Error](err)
		if !errors.Is(err, memento.ErrExist) || at == nil || at.Path != tt.at {
			t.Errorf("%+v: %v; want ErrExist about %s", tt.change, err, tt.at)
		}
	}
	if err := s.try(memento.Put{Path: "/new/p"}, memento.Put{Path: "/New/q"}); !errors.Is(err, memento.ErrExist) {
		t.Errorf("two names at once: %v", err)
	}
	s.getError("/A", memento.ErrNotExist)
	s.wantVersions(before...)
	s.mirrored()

	// The name is accepted once the other one is gone.
	id := s.get("/a").ID
	s.apply(memento.Move{From: "/a", To: "/A"})
	if got := s.get("/A"); got.ID != id || got.Content != "first" {
		t.Errorf("after a change of case: %+v", got)
	}
	s.apply(memento.Remove{Path: "/dir"}, memento.Put{Path: "/DIR/z", Content: "new"})
	s.apply(memento.Move{From: "/DIR", To: "/dir"})
	s.holds(map[memento.Path]string{"/A": "first", "/dir/z": "new", "/stra\u00dfe": "first", "/\u00e9t\u00e9": "first", "/move": "m"})
	s.mirrored()
}

// On the file system of this test, whatever it does with names.
func TestAlike(t *testing.T) {
	s := newSite(t)
	s.put("/readme", "first")
	s.put("/\u00e9", "composed")
	err := s.try(memento.Put{Path: "/README", Content: "second"})
	want := map[memento.Path]string{"/readme": "first", "/\u00e9": "composed"}
	switch {
	case s.b.traits.folds && errors.Is(err, memento.ErrExist):
	case !s.b.traits.folds && err == nil:
		want["/README"] = "second"
	default:
		t.Errorf("the file system folds names: %v, and Put says %v", s.b.traits.folds, err)
	}
	s.holds(want)
	s.reopen()
	s.holds(want)
	s.mirrored()
	if !s.b.traits.folds {
		return
	}
	// A change of case by hand is a rename.
	id := s.get("/readme").ID
	s.do(os.Rename(s.file("readme"), s.file("Readme")))
	if got := s.get("/Readme"); got.ID != id {
		t.Errorf("renamed by hand, it is %s, was %s", got.ID, id)
	}
	s.apply(memento.Move{From: "/Readme", To: "/README"})
	s.holds(map[memento.Path]string{"/README": "first", "/\u00e9": "composed"})
	s.mirrored()
}

// On a file system that returns names in another Unicode form, there is only one é.
func TestComposing(t *testing.T) {
	b := &Backend{traits: traits{composes: true}}
	root := &node{}
	root.put(b.traits, &row{path: "/\u00e9/a"})
	p, known, ok := b.pathOf(memento.Root, root, "e\u0301", nil)
	if p != "/\u00e9" || known == nil || !ok {
		t.Errorf("pathOf: %q, known %v, %v", p, known != nil, ok)
	}
	b.traits.composes = false
	if p, _, ok := b.pathOf(memento.Root, root, "e\u0301", nil); ok {
		t.Errorf("a name that can be no path became %q", p)
	}
}

// Names that no file can have are shortened on disk, but not in paths.
func TestLongNames(t *testing.T) {
	s := newSite(t)
	long := strings.Repeat("name ", 60)
	p := memento.Path("/" + long + "/" + long + "x")
	twin := memento.Path("/" + long + "/" + long + "y")
	temp := memento.Path("/" + tempPrefix + "0123456789abcdef" + tempSuffix)
	s.apply(memento.Put{Path: p, Content: "1"}, memento.Put{Path: twin, Content: "2"}, memento.Put{Path: temp, Content: "3"})
	want := map[memento.Path]string{p: "1", twin: "2", temp: "3"}
	s.holds(want)
	s.reopen()
	s.holds(want)
	name := s.b.traits.diskPath(p)
	s.write(name, "edited")
	want[p] = "edited"
	s.holds(want)
	s.apply(memento.Remove{Path: p.Parent()}, memento.Remove{Path: temp})
	s.onDisk(map[string]string{})
	// A file that really has such a name keeps it.
	s.write(name, "by hand")
	s.holds(map[memento.Path]string{memento.Path("/" + name): "by hand"})
	if err := s.try(memento.Put{Path: p, Content: "x"}); !errors.Is(err, memento.ErrExist) {
		t.Errorf("Put into the place of another memory: %v", err)
	}
	s.mirrored()
}

func TestReservedNames(t *testing.T) {
	on := traits{reserved: true}
	seen := map[string]string{}
	for _, name := range []string{"con", "CON", "con.txt", "nul", "a:b", "a?b", "a*b", `a\b`, "a|b", "dot.", "space ", "com1", "LPT9.md", "<>"} {
		got := on.diskName(name)
		if got == name || isReserved(got) {
			t.Errorf("%q would be called %q on disk", name, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q would both be called %q", name, other, got)
		}
		seen[got] = name
	}
	for _, name := range []string{"a", "console", "a.b", ".hidden", "com", "com10", "é", "a~b"} {
		if got := on.diskName(name); got != name {
			t.Errorf("%q would be called %q on disk", name, got)
		}
	}
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"Team notes": "team-notes", "../../etc/passwd": "etc-passwd", "日本語": "store", "CON": "store-con", "": "store",
		" a  b ": "a-b", "x/y\\z": "x-y-z", ".memento": "memento", strings.Repeat("long", 30): strings.Repeat("long", 10),
	} {
		if got := slug(name); got != want {
			t.Errorf("slug(%q) = %q, want %q", name, got, want)
		}
	}
}

// Each store has a folder of its own; only one has that of the SDKs' tools.
func TestLocations(t *testing.T) {
	s := newSite(t)
	s.put("/a", "default")
	create := func(ws memento.Workspace, name string) memento.StoreID {
		info, err := s.b.CreateStore(t.Context(), ws, memento.StoreSpec{Name: name})
		s.do(err)
		s.store = info.ID
		s.put("/a", string(ws)+" "+name)
		return info.ID
	}
	first := s.store
	second := create(memento.DefaultWorkspace, "Team notes")
	create(memento.DefaultWorkspace, "team-notes")
	create("elsewhere", "default")
	create(memento.DefaultWorkspace, "default") // names may repeat
	_, err := s.b.UpdateStore(t.Context(), memento.DefaultWorkspace, second, memento.StoreUpdate{Name: new("renamed")})
	s.do(err)
	s.reopen()
	want := map[string]string{
		"memories/a":                     "default",
		"stores/team-notes/memories/a":   "default Team notes",
		"stores/team-notes-2/memories/a": "default team-notes",
		"stores/default/memories/a":      "elsewhere default",
		"stores/default-2/memories/a":    "default default",
	}
	visible := func() map[string]string {
		got := map[string]string{}
		for name, text := range tree(t, s.base) {
			if !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, hiddenFolder) {
				got[name] = text
			}
		}
		return got
	}
	if diff := cmp.Diff(want, visible()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	s.do(s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, second))
	s.do(s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, first))
	delete(want, "memories/a")
	delete(want, "stores/team-notes/memories/a")
	if diff := cmp.Diff(want, visible()); diff != "" {
		t.Errorf("files after deleting (-want +got):\n%s", diff)
	}
	for _, gone := range []string{"memories", "stores/team-notes"} {
		if _, err := os.Lstat(filepath.Join(s.base, gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}

// With more stores than are kept open, all of them still work.
func TestManyStores(t *testing.T) {
	s := newSite(t)
	var ids []memento.StoreID
	for range maxFolders + 20 {
		info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "many"})
		s.do(err)
		s.store = info.ID
		s.put("/a", string(info.ID))
		ids = append(ids, info.ID)
	}
	if n := len(s.b.folders); n > maxFolders {
		t.Errorf("%d folders are open", n)
	}
	for _, s.store = range ids {
		s.holds(map[memento.Path]string{"/a": string(s.store)})
	}
}

// A store whose maker died before it assigned a location gets one.
func TestLocationLost(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct{ name, location string }{{"default", "memories"}, {"other", "stores/other/memories"}} {
		name, location := tt.name, tt.location
		info, err := s.b.db.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: name})
		s.do(err)
		if name == "default" {
			s.do(s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, s.store))
		}
		s.store = info.ID
		s.put("/a", name)
		got, err := os.ReadFile(filepath.Join(s.base, location, "a"))
		if err != nil || string(got) != name {
			t.Errorf("in %s: %q, %v", location, got, err)
		}
	}
}
