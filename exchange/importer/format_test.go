package importer_test

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/exchange/importer"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// Files of other memory programs become the notes in the golden files, and are recognized
// without being told.
func TestFormats(t *testing.T) {
	for name, format := range map[string]importer.Format{
		"mem0.json":      importer.FormatMem0,
		"mem0-list.json": importer.FormatMem0,
		"graph.jsonl":    importer.FormatServerMemory,
		"assistant.txt":  importer.FormatAssistant,
		"flat.md":        importer.FormatAssistant,
		"memories.json":  importer.FormatAssistant,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			res, err := open(t, filepath.Join("testdata", name)).Import(t.Context(), s, ana, &importer.Options{Partial: true})
			if err != nil {
				t.Fatal(err)
			}
			if res.Format != format {
				t.Errorf("read as %s; want %s", res.Format, format)
			}
			got := contents(t, s)
			archive := &txtar.Archive{Comment: []byte(strings.Join(append(reasons(res), ""), "\n"))}
			for _, p := range slices.Sorted(maps.Keys(got)) {
				archive.Files = append(archive.Files, txtar.File{Name: p, Data: []byte(got[p])})
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(archive))); diff != "" {
				t.Errorf("notes differ:\n%s", diff)
			}

			// The file as it is, if that is what is asked for; and once more, unchanged.
			if _, err := open(t, filepath.Join("testdata", name)).Import(t.Context(), s, ana, &importer.Options{Format: importer.FormatNotes, Into: "/raw"}); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil || contents(t, s)["/raw/"+name] != string(raw) {
				t.Errorf("as a note: %v, other contents", err)
			}
			again, err := open(t, filepath.Join("testdata", name)).Import(t.Context(), s, ana, &importer.Options{Partial: true})
			if err != nil || again.Unchanged != len(got) || again.Created+again.Replaced > 0 {
				t.Errorf("once more: %+v, %v; want %d unchanged", again, err, len(got))
			}
		})
	}
}

// What only resembles a format is a note.
func TestNotRecognized(t *testing.T) {
	for name, text := range map[string]string{
		"package.json":   `{"name": "x", "memory": "512M"}`,
		"list.json":      `[{"id": 1, "text": "no memory"}]`,
		"log.jsonl":      `{"type":"event","name":"start"}` + "\n",
		"results.json":   `{"results": [{"id": 1}]}`,
		"checklist.md":   "- [ ] milk\n- [x] bread\n- [ ] eggs\n",
		"changes.md":     "# Changes\n\n[2026-01-01] - one dated line\n\nand much prose\nover lines\nand lines\n",
		"truncated.json": `{"results": [{"mem`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			res, err := open(t, writeFile(t, name, []byte(text))).Import(t.Context(), s, ana, nil)
			if err != nil || res.Format != importer.FormatNotes {
				t.Fatalf("import: %+v, %v; want a note", res, err)
			}
			if diff := cmp.Diff(map[string]string{"/" + name: text}, contents(t, s)); diff != "" {
				t.Errorf("memories differ:\n%s", diff)
			}
		})
	}
}

func TestMalformedDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		format importer.Format
		text   string
	}{
		"no JSON":              {importer.FormatMem0, "memories"},
		"other JSON":           {importer.FormatMem0, `{"results": "none"}`},
		"line without type":    {importer.FormatServerMemory, `{"name":"x"}`},
		"line that is no JSON": {importer.FormatServerMemory, "{\"type\":\"entity\",\"name\":\"x\"}\nrest"},
		"not text":             {importer.FormatAssistant, "\xff\xfe"},
		"Claude's, broken":     {importer.FormatAssistant, `[{"conversations_memory": 1}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			_, err := open(t, writeFile(t, "source", []byte(c.text))).Import(t.Context(), s, ana, &importer.Options{Format: c.format})
			if _, ok := errors.AsType[*importer.FormatError](err); !ok || !errors.Is(err, memento.ErrInvalid) {
				t.Errorf("import: %v; want a FormatError", err)
			}
		})
	}
	if _, err := open(t, t.TempDir()).Import(t.Context(), newStore(t, memento.StoreSpec{}), ana, &importer.Options{Format: importer.FormatMem0}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("a folder as mem0: %v; want ErrInvalid", err)
	}
}

// The folder of an SDK's local tool, or its parent, becomes the root of the store.
func TestMemoryToolFolder(t *testing.T) {
	dir := writeFiles(t, map[string]string{"memories/a.md": "a", "memories/notes/b.md": "b", ".DS_Store": "\x00"})
	want := map[string]string{"/a.md": "a", "/notes/b.md": "b"}
	for name, c := range map[string]struct {
		dir  string
		opts importer.Options
		want map[string]string
	}{
		"parent":   {dir, importer.Options{}, want},
		"itself":   {filepath.Join(dir, "memories"), importer.Options{}, want},
		"into":     {dir, importer.Options{Into: "/old"}, map[string]string{"/old/a.md": "a", "/old/notes/b.md": "b"}},
		"as it is": {dir, importer.Options{Format: importer.FormatNotes}, map[string]string{"/memories/a.md": "a", "/memories/notes/b.md": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			if _, err := open(t, c.dir).Import(t.Context(), s, ana, &c.opts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, contents(t, s)); diff != "" {
				t.Errorf("memories differ:\n%s", diff)
			}
		})
	}
}

// A note that would be larger than the store allows goes on in further ones.
func TestLongDocuments(t *testing.T) {
	var lines []string
	for range 100 {
		lines = append(lines, "[2026-01-01] - "+strings.Repeat("word ", 10))
	}
	s := newStore(t, memento.StoreSpec{Limits: memento.Limits{MemoryBytes: 1000}})
	if _, err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, writeFile(t, "export.txt", []byte(strings.Join(lines, "\n")))).Import(t.Context(), s, ana, nil); err != nil {
		t.Fatal(err)
	}
	got, entries := contents(t, s), 0
	for p, text := range got {
		entries += strings.Count(text, "\n- ")
		if len(text) > 1000 {
			t.Errorf("%s has %d bytes", p, len(text))
		}
	}
	if entries != 100 || got["/export.md"] == "" || got["/export-2.md"] == "" {
		t.Errorf("%d entries in %v; want 100 in /export.md, /export-2.md and so on", entries, slices.Sorted(maps.Keys(got)))
	}
}
