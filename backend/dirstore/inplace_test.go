package dirstore

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento"

	"github.com/google/go-cmp/cmp"
)

// vaultSite is a site over a folder of notes of another program.
func vaultSite(t *testing.T, files map[string]string, opts *Options) *site {
	t.Helper()
	s := &site{T: t, base: t.TempDir(), by: memento.Actor{Kind: memento.ActorSession, ID: "sesn_test"}}
	s.memories = s.base
	for name, text := range files {
		s.write(name, text)
	}
	s.b = s.open(opts)
	s.store = s.storeNamed("default")
	return s
}

func (s *site) storeNamed(name string) memento.StoreID {
	s.Helper()
	for info, err := range s.b.ListStores(s.Context(), memento.DefaultWorkspace, memento.StoreListOptions{Name: name}) {
		if err != nil {
			s.Fatal(err)
		}
		return info.ID
	}
	s.Fatalf("there is no store %s", name)
	return ""
}

// present returns the memories, and the other files that are listed.
func (s *site) present() (memories map[string]string, foreign []string) {
	s.Helper()
	memories = map[string]string{}
	for e, err := range s.b.List(s.Context(), s.store, memento.ListOptions{Contents: true}) {
		switch {
		case err != nil:
			s.Fatal(err)
		case e.Foreign:
			foreign = append(foreign, string(e.Path))
		default:
			memories[string(e.Path)] = e.Memory.Content
		}
	}
	return memories, foreign
}

func (s *site) wantPresent(want map[string]string, foreign ...string) {
	s.Helper()
	memories, others := s.present()
	if diff := cmp.Diff(want, memories); diff != "" {
		s.Errorf("memories differ:\n%s", diff)
	}
	if diff := cmp.Diff(foreign, others); diff != "" {
		s.Errorf("other files differ:\n%s", diff)
	}
}

// A vault is a store as it is: notes are memories, and nothing else is touched.
func TestVaultInPlace(t *testing.T) {
	files := map[string]string{
		"Daily/2026-01-01.md": "# New year\n", "Ideas.md": "ideas\n", "memories/of.md": "not the SDK's\n",
		".obsidian/app.json": "{}", ".git/HEAD": "ref", ".trash/old.md": "old", "pic.png": "\x89PNG\xff",
	}
	var notes []string
	s := vaultSite(t, files, &Options{Layout: LayoutRoot, Note: func(text string) { notes = append(notes, text) }})
	want := map[string]string{"/Daily/2026-01-01.md": "# New year\n", "/Ideas.md": "ideas\n", "/memories/of.md": "not the SDK's\n"}
	s.wantPresent(want, "/pic.png")
	if len(notes) != 0 {
		t.Errorf("said %q although the layout was given", notes)
	}

	s.put("/Daily/2026-01-02.md", "by the agent\n")
	s.apply(memento.Put{Path: "/Ideas.md", Content: "more\n"}, memento.Remove{Path: "/memories/of.md"})
	s.write("Daily/2026-01-01.md", "by hand\n")
	want["/Daily/2026-01-02.md"], want["/Ideas.md"], want["/Daily/2026-01-01.md"] = "by the agent\n", "more\n", "by hand\n"
	delete(want, "/memories/of.md")
	s.wantPresent(want, "/pic.png")
	s.reopen() // the layout is found
	s.wantPresent(want, "/pic.png")
	if text, err := os.ReadFile(filepath.Join(s.base, "Ideas.md")); err != nil || string(text) != "more\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	for _, name := range []string{".obsidian/app.json", ".git/HEAD", ".trash/old.md", "pic.png"} {
		if text, err := os.ReadFile(filepath.Join(s.base, name)); err != nil || string(text) != files[name] {
			t.Errorf("%s has %q, %v; want it untouched", name, text, err)
		}
	}
	for _, name := range []string{".memento/books.db", "stores"} {
		if _, err := os.Lstat(filepath.Join(s.base, name)); err == nil {
			t.Errorf("%s exists, where earlier versions would look", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.base, ".memento", ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf(".gitignore has %q, %v", text, err)
	}
}

// What is hidden belongs to other programs, or is the history itself: an agent that could
// write there could run programs.
func TestHiddenNamesInPlace(t *testing.T) {
	s := vaultSite(t, map[string]string{"a.md": "a", ".git/hooks/x": "x"}, &Options{Layout: LayoutRoot})
	for _, p := range []memento.Path{"/.git/hooks/pre-commit", "/.memento/root/books.db", "/d/.obsidian/plugins/p.js", "/node_modules/x"} {
		if err := s.try(memento.Put{Path: p, Content: "x"}); !errors.Is(err, memento.ErrForeign) {
			t.Errorf("put %s: %v; want ErrForeign", p, err)
		}
		if err := s.try(memento.Move{From: "/a.md", To: p}); !errors.Is(err, memento.ErrForeign) {
			t.Errorf("move to %s: %v; want ErrForeign", p, err)
		}
	}
	v := memento.Version{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/.git/config", Content: "x", SHA256: memento.HashContent("x"), Size: 1, CreatedBy: s.by}
	if err := s.b.Import(t.Context(), s.store, []memento.Version{v}); !errors.Is(err, memento.ErrForeign) {
		t.Errorf("import: %v; want ErrForeign", err)
	}
	s.wantPresent(map[string]string{"/a.md": "a"})
}

// Other stores are beside the history, not among the notes. The store that is the folder
// itself is not deleted.
func TestStoresInPlace(t *testing.T) {
	s := vaultSite(t, map[string]string{"a.md": "a"}, &Options{Layout: LayoutRoot})
	info, err := s.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.b.Apply(t.Context(), info.ID, s.by, []memento.Change{memento.Put{Path: "/x", Content: "x"}}); err != nil {
		t.Fatal(err)
	}
	s.wantPresent(map[string]string{"/a.md": "a"})
	s.reopen()
	if m, err := s.b.Get(t.Context(), info.ID, memento.ByPath("/x")); err != nil || m.Content != "x" {
		t.Errorf("the other store has %+v, %v", m, err)
	}
	if err := s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, info.ID); err != nil {
		t.Error(err)
	}
	if err := s.b.DeleteStore(t.Context(), memento.DefaultWorkspace, s.store); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("delete the folder's own store: %v; want ErrUnsupported", err)
	}
	s.wantPresent(map[string]string{"/a.md": "a"})
}

func TestLayoutFound(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		inPlace bool
		note    string // part of what Open says
	}{
		"empty":            {nil, false, ""},
		"vault":            {map[string]string{".obsidian/app.json": "{}", "notes.txt": "x", "script.py": "x"}, true, "is a folder of notes"},
		"agent's memories": {map[string]string{"MEMORY.md": "index", "debugging.md": "x"}, true, "is a folder of notes"},
		"nested notes":     {map[string]string{"people/ana.md": "x", "people/ana.png": "x"}, true, "is a folder of notes"},
		"program":          {map[string]string{"README.md": "x", "main.go": "package main"}, false, "?root=."},
		"program, nested":  {map[string]string{"README.md": "x", "src/main.rs": "x"}, false, "?root=."},
		"SDK's":            {map[string]string{"memories/a.md": "x"}, false, ""},
		"SDK's, and notes": {map[string]string{"memories/a.md": "x", "README.md": "x"}, false, ""},
		"hidden only":      {map[string]string{".env": "x"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{T: t, base: t.TempDir()}
			s.memories = s.base
			for name, text := range c.files {
				s.write(name, text)
			}
			said := ""
			s.b = s.open(&Options{Note: func(text string) { said = text }})
			if s.b.place.inPlace != c.inPlace || !strings.Contains(said, c.note) || c.note == "" && said != "" {
				t.Errorf("in place: %v, said %q; want %v, %q", s.b.place.inPlace, said, c.inPlace, c.note)
			}
			said = ""
			s.b = s.open(&Options{Note: func(text string) { said = text }})
			if s.b.place.inPlace != c.inPlace || c.inPlace && said != "" {
				t.Errorf("opened again: in place %v, said %q", s.b.place.inPlace, said)
			}
		})
	}
}

// A folder keeps the layout it has.
func TestLayoutStays(t *testing.T) {
	s := newSite(t)
	s.put("/a", "x")
	if _, err := Open(t.Context(), s.base, &Options{Layout: LayoutRoot}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("all of a folder that has its own memories: %v; want ErrInvalid", err)
	}
	v := vaultSite(t, map[string]string{"a.md": "x"}, nil)
	if _, err := Open(t.Context(), v.base, &Options{Layout: LayoutMemories}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("the folder memories of a vault: %v; want ErrInvalid", err)
	}
	if _, err := Restore(t.Context(), v.base, filepath.Join(v.base, "a.md"), &RestoreOptions{Replace: true}); !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("restore over a vault: %v; want ErrUnsupported", err)
	}
	v.wantPresent(map[string]string{"/a.md": "x"})
}

// Names in another Unicode form become memories at the path in NFC, in files of that name.
func TestDecomposedNames(t *testing.T) {
	s := vaultSite(t, map[string]string{"cafe\u0301/u\u0308ber.md": "one\n", "\u00e9.md": "composed\n"}, &Options{Layout: LayoutRoot})
	want := map[string]string{"/caf\u00e9/\u00fcber.md": "one\n", "/\u00e9.md": "composed\n"}
	s.wantPresent(want)
	s.put("/caf\u00e9/\u00fcber.md", "two\n")
	s.write("nai\u0308ve.md", "added\n")
	want["/caf\u00e9/\u00fcber.md"], want["/na\u00efve.md"] = "two\n", "added\n"
	s.wantPresent(want)
	s.reopen()
	s.wantPresent(want)
	if runtime.GOOS != "linux" { // elsewhere the two are one file
		return
	}
	// Of two files with the same name, one is a memory and both stay.
	s.write("e\u0301.md", "decomposed\n")
	s.wantPresent(want)
	s.put("/\u00e9.md", "changed\n")
	want["/\u00e9.md"] = "changed\n"
	s.wantPresent(want)
	if text, err := os.ReadFile(filepath.Join(s.base, "e\u0301.md")); err != nil || string(text) != "decomposed\n" {
		t.Errorf("the other file has %q, %v", text, err)
	}
}
