package importer_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
	"memento/exchange/importer"
	"memento/sensitive"
)

var ana = memento.Actor{Kind: memento.ActorUser, ID: "ana"}

func newStore(t testing.TB, spec memento.StoreSpec) *memento.Store {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "notes"
	}
	b := memstore.New(nil)
	t.Cleanup(func() { _ = b.Close() })
	return memento.OpenNamed(b, memento.DefaultWorkspace, spec, &memento.StoreOptions{Detector: sensitive.Default()})
}

// contents returns all memories of a store.
func contents(t testing.TB, s *memento.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range s.List(t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		all[string(e.Path)] = e.Memory.Content
	}
	return all
}

// writeFiles writes files below a new folder, and returns it.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func open(t testing.TB, name string) *importer.Source {
	t.Helper()
	src, err := importer.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// tarOf packs files in order of name, and then the further headers.
func tarOf(t testing.TB, files map[string]string, further ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range further {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// reasons returns the problems of a result as "NAME: reason".
func reasons(res importer.Result) []string {
	var list []string
	for _, p := range res.Problems {
		list = append(list, p.Name+": "+p.Reason)
	}
	return list
}

// vault returns a vault of notes, as an editor of notes and macOS leave it, and the
// memories that it has. One note is too large.
func vault(notes int) (files, memories map[string]string) {
	files, memories = map[string]string{
		".git/HEAD":               "ref: refs/heads/main\n",
		".git/objects/ab/cdef":    "x\x01\x00",
		".obsidian/app.json":      "{}",
		".obsidian/plugins/p.js":  "export default 1\n",
		".trash/old.md":           "gone\n",
		".memento/books.db":       "SQLite format 3\x00",
		".DS_Store":               "\x00\x00\x00\x01Bud1",
		"assets/photo.png":        "\x89PNG\r\n\x1a\n\x00" + strings.Repeat("p", 300<<10),
		"assets/scan.pdf":         "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n",
		"large.md":                strings.Repeat("long ", 60_000),
		"project/.obsidian/x.yml": "a: 1\n",
	}, map[string]string{}
	add := func(name, nfc, text string) {
		files[name] = text
		memories["/"+nfc] = text
	}
	add("cafe\u0301/u\u0308bersicht.md", "caf\u00e9/\u00fcbersicht.md", "NFD\n")
	add("\uac00\u11a8.md", "\uac01.md", "Hangul\n") // a syllable and a final consonant
	for i := len(memories) + 1; i < notes; i++ {
		name := fmt.Sprintf("area %d/topic-%d/note %d.md", i%7, i%31, i)
		add(name, name, fmt.Sprintf("---\ntags: [t%d]\n---\n# Note %d\n\nSee [[note %d]].\n", i%5, i, i+1))
	}
	return files, memories
}
