package importer_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/exchange/importer"

	"github.com/google/go-cmp/cmp"
)

// A vault comes in whole from every kind of source: no note is lost or twice there.
func TestVault(t *testing.T) {
	files, want := vault(2000)
	dir := writeFiles(t, files)
	packed := tarOf(t, files)
	for name, source := range map[string]func() *importer.Source{
		"folder":       func() *importer.Source { return open(t, dir) },
		"tar":          func() *importer.Source { return open(t, writeFile(t, "vault.tar", packed)) },
		"tar.gz":       func() *importer.Source { return open(t, writeFile(t, "vault.tgz", gzipped(t, packed))) },
		"zip":          func() *importer.Source { return open(t, writeFile(t, "vault.zip", zipOf(t, files))) },
		"piped tar.gz": func() *importer.Source { return importer.OpenReader(bytes.NewReader(gzipped(t, packed)), "") },
		"piped zip":    func() *importer.Source { return importer.OpenReader(bytes.NewReader(zipOf(t, files)), "") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			first := source()
			res, err := first.Import(t.Context(), s, ana, nil)
			if !errors.Is(err, importer.ErrProblems) || !errors.Is(err, memento.ErrTooLarge) {
				t.Fatalf("with a note that is too large: %v; want ErrProblems and ErrTooLarge", err)
			}
			if diff := cmp.Diff([]string{"large.md: it is larger than a memory of this store can be, 102400 bytes"}, reasons(res)); diff != "" {
				t.Errorf("problems differ:\n%s", diff)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if got := contents(t, s); len(got) != 0 {
				t.Fatalf("a refused import has written %d memories", len(got))
			}

			second := source()
			res, err = second.Import(t.Context(), s, ana, &importer.Options{Partial: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, contents(t, s)); diff != "" {
				t.Errorf("memories differ:\n%s", diff)
			}
			if res.Created != len(want) || res.Replaced+res.Unchanged != 0 || len(res.Problems) != 1 || res.Hidden == 0 {
				t.Errorf("result %+v; want %d created, one problem and something hidden", res, len(want))
			}
			if diff := cmp.Diff(map[string]int{".png": 1, ".pdf": 1}, res.Other); diff != "" {
				t.Errorf("other files differ:\n%s", diff)
			}
			if err := second.Close(); err != nil {
				t.Fatal(err)
			}

			third := source()
			defer third.Close()
			res, err = third.Import(t.Context(), s, ana, &importer.Options{Partial: true})
			if err != nil || res.Unchanged != len(want) || res.Created+res.Replaced != 0 {
				t.Errorf("once more: %+v, %v; want all %d unchanged", res, err, len(want))
			}
		})
	}
}

func TestOptions(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.md": "one", "drafts/b.md": "two", "c.tmp": "three", ".github/d.md": "four", ".memento/x": "own"})
	for name, c := range map[string]struct {
		opts importer.Options
		want map[string]string
	}{
		"into": {importer.Options{Into: "/vault/x"}, map[string]string{
			"/vault/x/a.md": "one", "/vault/x/drafts/b.md": "two", "/vault/x/c.tmp": "three"}},
		"exclude": {importer.Options{Exclude: []memento.Pattern{"*.tmp", "/drafts"}}, map[string]string{"/a.md": "one"}},
		"hidden": {importer.Options{Hidden: true, Exclude: []memento.Pattern{"*.tmp", "/drafts"}}, map[string]string{
			"/a.md": "one", "/.github/d.md": "four"}},
		"dry run": {importer.Options{DryRun: true}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			if _, err := open(t, dir).Import(t.Context(), s, ana, &c.opts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, contents(t, s)); diff != "" {
				t.Errorf("memories differ:\n%s", diff)
			}
		})
	}
}

// All problems are listed at once, and nothing is written because of them.
func TestProblems(t *testing.T) {
	settings := memento.DefaultSettings()
	settings.ReadOnly = []memento.Pattern{"/fixed"}
	settings.Sensitive.Mode = memento.Reject
	s := newStore(t, memento.StoreSpec{Settings: &settings, Limits: memento.Limits{MemoryBytes: 2000}})
	_, err := s.Apply(t.Context(), ana, memento.Put{Path: "/same", Content: "same"}, memento.Put{Path: "/other", Content: "theirs"},
		memento.Put{Path: "/dir/x", Content: "x"}, memento.Put{Path: "/file", Content: "x"})
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, s)
	secret := "token ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	dir := writeFiles(t, map[string]string{
		"same": "same", "other": "ours", "dir": "x", "file/below": "x", "fixed/a": "x", "bad\u200ename": "x",
		"secret.md": secret, "big": strings.Repeat("x", 2001), "fine": "fine",
	})
	opts := &importer.Options{}
	res, err := open(t, dir).Import(t.Context(), s, ana, opts)
	for _, want := range []error{importer.ErrProblems, memento.ErrExist, memento.ErrIsDir, memento.ErrNotDir, memento.ErrProtected,
		memento.ErrInvalidPath, memento.ErrSensitive, memento.ErrTooLarge} {
		if !errors.Is(err, want) {
			t.Errorf("error %v is not %v", err, want)
		}
	}
	want := []string{
		"bad\u200ename: its name is not a valid path: it has a control or format character, or a line separator",
		"big: it is larger than a memory of this store can be, 2000 bytes",
		"dir: /dir is a directory",
		"file/below: /file is a memory, not a directory",
		"fixed/a: /fixed/a is read-only in the store",
		"other: /other exists with other contents",
		"secret.md: holds sensitive information: github-pat on line 1",
	}
	if diff := cmp.Diff(want, reasons(res)); diff != "" {
		t.Errorf("problems differ:\n%s", diff)
	}
	if diff := cmp.Diff(before, contents(t, s)); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
	opts.Partial, opts.Overwrite = true, true
	res, err = open(t, dir).Import(t.Context(), s, ana, opts)
	if err != nil || res.Created != 1 || res.Replaced != 1 || res.Unchanged != 1 || len(res.Problems) != len(want)-1 {
		t.Errorf("partial import: %+v, %v; want 1 created, 1 replaced, 1 unchanged", res, err)
	}
	before["/fine"], before["/other"] = "fine", "ours"
	if diff := cmp.Diff(before, contents(t, s)); diff != "" {
		t.Errorf("memories differ:\n%s", diff)
	}
}

// A note with a secret is stored masked, and is unchanged the next time.
func TestMaskedIsUnchanged(t *testing.T) {
	s := newStore(t, memento.StoreSpec{})
	dir := writeFiles(t, map[string]string{"a.md": "token ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a\n"})
	dry, err := open(t, dir).Import(t.Context(), s, ana, &importer.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	res, err := open(t, dir).Import(t.Context(), s, ana, nil)
	if err != nil || res.Masked["github-pat"] != 1 || dry.Masked["github-pat"] != 1 {
		t.Errorf("import: %+v, %v, after the dry run %+v; want one token masked", res, err, dry)
	}
	if text := contents(t, s)["/a.md"]; strings.Contains(text, "ghp_") {
		t.Errorf("stored %q", text)
	}
	res, err = open(t, dir).Import(t.Context(), s, ana, nil)
	if err != nil || res.Unchanged != 1 {
		t.Errorf("once more: %+v, %v; want it unchanged", res, err)
	}
}

func TestSingleFile(t *testing.T) {
	s := newStore(t, memento.StoreSpec{})
	if _, err := open(t, writeFile(t, "todo.md", []byte("- milk\n"))).Import(t.Context(), s, ana, &importer.Options{Into: "/lists"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"/lists/todo.md": "- milk\n"}, contents(t, s)); diff != "" {
		t.Errorf("memories differ:\n%s", diff)
	}
	if _, err := importer.OpenReader(strings.NewReader("- milk\n"), "").Import(t.Context(), s, ana, nil); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("a text without a name: %v; want ErrInvalid", err)
	}
}

func TestLimitsOfTheStore(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a": "1", "b": "22", "c": "333"})
	s := newStore(t, memento.StoreSpec{Limits: memento.Limits{Memories: 2}})
	if _, err := s.Apply(t.Context(), ana, memento.Put{Path: "/z", Content: "z"}); err != nil {
		t.Fatal(err)
	}
	limit := func(opts *importer.Options) *memento.LimitError {
		_, err := open(t, dir).Import(t.Context(), s, ana, opts)
		at, _ := errors.AsType[*memento.LimitError](err)
		return at
	}
	if at := limit(nil); at == nil || at.Want != 3 {
		t.Errorf("three notes for two places: %+v", at)
	}
	if at := limit(&importer.Options{Exclude: []memento.Pattern{"/a"}}); at == nil || at.Want != 3 {
		t.Errorf("two notes for the last place: %+v", at)
	}
	res, err := open(t, dir).Import(t.Context(), s, ana, &importer.Options{Exclude: []memento.Pattern{"/a", "/b"}})
	if err != nil || res.Usage.Memories != 2 || res.Limits.Memories != 2 {
		t.Errorf("one note: %+v, %v; want the usage and the limit", res, err)
	}
}

// What others write while an import compares is compared again.
func TestRace(t *testing.T) {
	s := newStore(t, memento.StoreSpec{})
	dir := writeFiles(t, map[string]string{"a": "ours", "b": "ours"})
	raced := false
	res, err := open(t, dir).Import(t.Context(), s, ana, &importer.Options{Progress: func(done, total int) {
		if total == 2 && !raced { // after the store was listed
			raced = true
			if _, err := s.Apply(t.Context(), ana, memento.Put{Path: "/a", Content: "theirs"}); err != nil {
				t.Error(err)
			}
		}
	}})
	if !errors.Is(err, memento.ErrExist) || len(res.Problems) != 1 {
		t.Errorf("import: %+v, %v; want the other's memory as a problem", res, err)
	}
	if diff := cmp.Diff(map[string]string{"/a": "theirs"}, contents(t, s)); diff != "" {
		t.Errorf("memories differ:\n%s", diff)
	}
}

// Nothing leads out of a source, and nothing hostile in it is written or costs much.
func TestHostile(t *testing.T) {
	good := map[string]string{"a.md": "fine"}
	for name, c := range map[string]struct {
		data    []byte
		problem string // of an import that goes on without it
		want    error
	}{
		"traversal in tar":   {data: tarOf(t, map[string]string{"a.md": "fine", "../../up": "x"}), problem: "../../up"},
		"absolute in tar":    {data: tarOf(t, map[string]string{"a.md": "fine", "/etc/passwd": "x"}), problem: "/etc/passwd"},
		"traversal in zip":   {data: zipOf(t, map[string]string{"a.md": "fine", "x/../../up": "x"}), problem: "x/../../up"},
		"backslashes in zip": {data: zipOf(t, map[string]string{"a.md": "fine", `..\up`: "x"}), problem: "../up"},
		"links": {data: tarOf(t, good,
			tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
			tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
			tar.Header{Name: "fifo", Typeflag: tar.TypeFifo},
			tar.Header{Name: "device", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3})},
		"bomb in gzip":      {data: gzipped(t, tarOf(t, map[string]string{"a.md": strings.Repeat("a", 9<<20)})), want: memento.ErrTooLarge},
		"bomb in zip":       {data: zipOf(t, map[string]string{"a.md": "fine", "z.md": strings.Repeat("a", 9<<20)}), problem: "z.md"},
		"truncated gzip":    {data: gzipped(t, tarOf(t, good))[:40], want: memento.ErrInvalid},
		"truncated zip":     {data: zipOf(t, good)[:40], want: memento.ErrInvalid},
		"file below a file": {data: tarOf(t, map[string]string{"a.md": "fine", "a.md/b": "x"}), problem: "a.md/b"},
		"twice":             {data: append(tarOf(t, good)[:1024], tarOf(t, map[string]string{"a.md": "again"})...), problem: "a.md"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, memento.StoreSpec{})
			opts := &importer.Options{MaxBytes: 1 << 20, Partial: true}
			res, err := open(t, writeFile(t, "source", c.data)).Import(t.Context(), s, ana, opts)
			if c.want != nil {
				if !errors.Is(err, c.want) {
					t.Errorf("import: %v; want %v", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.problem != "" && (len(res.Problems) != 1 || res.Problems[0].Name != c.problem) {
				t.Errorf("problems %v; want one of %s", reasons(res), c.problem)
			}
			if diff := cmp.Diff(map[string]string{"/a.md": "fine"}, contents(t, s)); diff != "" {
				t.Errorf("memories differ:\n%s", diff)
			}
		})
	}
}

func TestLinksInFolders(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.md": "fine"})
	outside := writeFiles(t, map[string]string{"secret.md": "not ours"})
	for name, target := range map[string]string{"out": outside, "out.md": filepath.Join(outside, "secret.md"), "in.md": "a.md"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("links need a privilege here:", err)
		}
	}
	s := newStore(t, memento.StoreSpec{})
	res, err := open(t, dir).Import(t.Context(), s, ana, nil)
	if err != nil || res.Links != 3 {
		t.Errorf("import: %+v, %v; want 3 links left alone", res, err)
	}
	if diff := cmp.Diff(map[string]string{"/a.md": "fine"}, contents(t, s)); diff != "" {
		t.Errorf("memories differ:\n%s", diff)
	}
}
