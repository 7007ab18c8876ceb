package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

// author is who makes the change of that number, from 1.
func author(n int) memento.Actor {
	return memento.Actor{Kind: memento.ActorUser, ID: strconv.Itoa(n)}
}

// rewrite writes texts to /a, one after the other, each by its author.
func rewrite(ctx context.Context, s *memento.Store, texts ...string) error {
	for i, text := range texts {
		if _, err := s.Apply(ctx, author(i+1), memento.Put{Path: "/a", Content: text}); err != nil {
			return err
		}
	}
	return nil
}

// credits writes each line after its author's name, with "<" in front if it may be older.
func credits(lines []history.AnnotatedLine) (credited []string) {
	for _, l := range lines {
		mark := ""
		if l.MayBeOlder {
			mark = "<"
		}
		credited = append(credited, fmt.Sprintf("%s%s %q", mark, l.Version.CreatedBy.ID, l.Text))
	}
	return credited
}

func TestAnnotate(t *testing.T) {
	put := func(text string) memento.Change { return memento.Put{Path: "/a", Content: text} }
	tests := []struct {
		name    string
		changes []memento.Change // each by its author
		redact  []int            // versions, from 1, once the changes are made
		at      memento.Path     // of the memory then; "/a" if ""
		want    []string
	}{
		{
			name: "one version", changes: []memento.Change{put("one\ntwo\n")},
			want: []string{`1 "one"`, `1 "two"`},
		},
		{
			name: "nothing in it", changes: []memento.Change{put("")},
		},
		{
			name: "emptied and written again", changes: []memento.Change{put("one\n"), put(""), put("one\n")},
			want: []string{`3 "one"`},
		},
		{
			name: "an edit in the middle", changes: []memento.Change{put("one\ntwo\nthree\n"), put("one\nzwei\nthree\n")},
			want: []string{`1 "one"`, `2 "zwei"`, `1 "three"`},
		},
		{
			name: "on top and at the end", changes: []memento.Change{put("one\n"), put("zero\none\n"), put("zero\none\ntwo\n")},
			want: []string{`2 "zero"`, `1 "one"`, `3 "two"`},
		},
		{
			name: "a deletion", changes: []memento.Change{put("one\ntwo\nthree\n"), put("one\nthree\n")},
			want: []string{`1 "one"`, `1 "three"`},
		},
		{
			name: "an edit undone", changes: []memento.Change{put("one\ntwo\n"), put("one\nzwei\n"), put("one\ntwo\n")},
			want: []string{`1 "one"`, `3 "two"`},
		},
		{
			name: "a block moved down", changes: []memento.Change{put("a\nb\nc\nd\ne\n"), put("c\nd\ne\na\nb\n")},
			want: []string{`1 "c"`, `1 "d"`, `1 "e"`, `2 "a"`, `2 "b"`},
		},
		{
			name: "a block moved up", changes: []memento.Change{put("a\nb\nc\nd\ne\n"), put("d\ne\na\nb\nc\n")},
			want: []string{`2 "d"`, `2 "e"`, `1 "a"`, `1 "b"`, `1 "c"`},
		},
		{
			name: "one more of the same", changes: []memento.Change{put("- x\n- x\n"), put("- x\n- x\n- x\n")},
			want: []string{`1 "- x"`, `1 "- x"`, `2 "- x"`},
		},
		{
			name: "one less of the same", changes: []memento.Change{put("x\n"), put("x\nx\n"), put("x\nx\nx\n"), put("x\nx\n")},
			want: []string{`1 "x"`, `2 "x"`},
		},
		{
			name: "a paragraph between paragraphs", changes: []memento.Change{put("# A\n\na\n\n# B\n\nb\n"), put("# A\n\na\n\n# X\n\nx\n\n# B\n\nb\n")},
			want: []string{
				`1 "# A"`, `1 ""`, `1 "a"`, `1 ""`, `2 "# X"`, `2 ""`, `2 "x"`, `2 ""`, `1 "# B"`, `1 ""`, `1 "b"`,
			},
		},
		{
			name: "two edits at once", changes: []memento.Change{put("a\nb\nc\nd\ne\nf\n"), put("A\nb\nc\nnew\nd\ne\n")},
			want: []string{`2 "A"`, `1 "b"`, `1 "c"`, `2 "new"`, `1 "d"`, `1 "e"`},
		},
		{
			name: "lines without a final newline", changes: []memento.Change{put("one"), put("one\ntwo"), put("one\ntwo\nthree")},
			want: []string{`1 "one"`, `2 "two"`, `3 "three"`},
		},
		{
			name: "a final newline more and less", changes: []memento.Change{put("one\ntwo"), put("one\ntwo\n"), put("one\ntwo")},
			want: []string{`1 "one"`, `1 "two"`},
		},
		{
			name: "an empty last line", changes: []memento.Change{put("one\n"), put("one\n\n")},
			want: []string{`1 "one"`, `2 ""`},
		},
		{
			name: "carriage returns are part of the line", changes: []memento.Change{put("one\r\ntwo\r\n"), put("one\r\ntwo\n"), put("one\r\ntwo\nthree\r\n")},
			want: []string{`1 "one\r"`, `2 "two"`, `3 "three\r"`},
		},
		{
			name: "other separators are not", changes: []memento.Change{put("a\rb\u2028c\vd\n"), put("a\rb\u2028c\vd\ne\n")},
			want: []string{`1 "a\rb\u2028c\vd"`, `2 "e"`},
		},
		{
			name: "renamed", changes: []memento.Change{put("one\n"), memento.Move{From: "/a", To: "/d/b"}, memento.Put{Path: "/d/b", Content: "one\ntwo\n"}},
			at: "/d/b", want: []string{`1 "one"`, `3 "two"`},
		},
		{
			name: "another memory was there before", changes: []memento.Change{put("one\n"), memento.Move{From: "/a", To: "/b"}, put("one\ntwo\n")},
			want: []string{`3 "one"`, `3 "two"`},
		},
		{
			name: "deleted and created again", changes: []memento.Change{put("one\n"), memento.Remove{Path: "/a"}, put("one\n")},
			want: []string{`3 "one"`},
		},
		{
			name: "the first is redacted", changes: []memento.Change{put("one\n"), put("one\ntwo\n"), put("one\ntwo\nthree\n")}, redact: []int{1},
			want: []string{`<2 "one"`, `<2 "two"`, `3 "three"`},
		},
		{
			name: "one between is redacted", changes: []memento.Change{put("one\n"), put("one\ntwo\n"), put("one\ntwo\nthree\n"), put("one\ntwo\nthree\nfour\n")}, redact: []int{2},
			want: []string{`1 "one"`, `<3 "two"`, `<3 "three"`, `4 "four"`},
		},
		{
			name: "all but the last are redacted", changes: []memento.Change{put("one\n"), put("one\ntwo\n"), put("one\ntwo\nthree\n")}, redact: []int{1, 2},
			want: []string{`<3 "one"`, `<3 "two"`, `<3 "three"`},
		},
		{
			name: "a rename is redacted", changes: []memento.Change{put("one\n"), memento.Move{From: "/a", To: "/b"}, memento.Move{From: "/b", To: "/a"}, put("one\ntwo\n")}, redact: []int{2},
			want: []string{`1 "one"`, `4 "two"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := memories.New(memento.Limits{})
			for i, c := range tt.changes {
				if _, err := s.Apply(t.Context(), author(i+1), c); err != nil {
					t.Fatal(err)
				}
			}
			versions := memories.Versions(t, s, memento.VersionListOptions{})
			for _, n := range tt.redact {
				if _, err := s.Redact(t.Context(), versions[n-1].ID, nobody); err != nil {
					t.Fatal(err)
				}
			}
			if tt.at == "" {
				tt.at = "/a"
			}
			got, err := history.Annotate(t.Context(), s, memento.ByPath(tt.at))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, credits(got)); diff != "" {
				t.Error("lines (-want +got):\n" + diff)
			}
			for _, l := range got {
				if i := slices.IndexFunc(versions, func(v memento.Version) bool { return v.ID == l.Version.ID }); i < 0 || l.Version != versions[i] {
					t.Errorf("line %q has the version %+v, which is not as it is listed", l.Text, l.Version)
				}
			}
			m, err := s.Get(t.Context(), memento.ByPath(tt.at))
			if err != nil {
				t.Fatal(err)
			}
			byID, err := history.Annotate(t.Context(), s, memento.ByID(m.ID))
			if diff := cmp.Diff(got, byID); diff != "" || err != nil {
				t.Errorf("by ID: %v (-by path +by ID):\n%s", err, diff)
			}
		})
	}
}

// An imported history need not have its beginning, as one that was pruned has not.
func TestAnnotateImported(t *testing.T) {
	const redacted = "redacted"
	type entry struct {
		op   memento.Operation
		text string // or redacted
	}
	tests := []struct {
		name    string
		entries []entry // each by its author
		want    []string
	}{
		{"from the beginning", []entry{{memento.Created, "one\n"}, {memento.Modified, "one\ntwo\n"}}, []string{`1 "one"`, `2 "two"`}},
		{"without its beginning", []entry{{memento.Modified, "one\n"}, {memento.Modified, "one\ntwo\n"}}, []string{`<1 "one"`, `2 "two"`}},
		{"nothing but its end", []entry{{memento.Modified, "one\n"}}, []string{`<1 "one"`}},
		{"empty at first", []entry{{memento.Modified, ""}, {memento.Modified, "one\n"}}, []string{`2 "one"`}},
		{"a beginning that is redacted", []entry{{memento.Modified, redacted}, {memento.Modified, "one\n"}, {memento.Modified, "one\ntwo\n"}}, []string{`<2 "one"`, `3 "two"`}},
		{"a memory that came back", []entry{{memento.Created, "one\n"}, {memento.Deleted, ""}, {memento.Created, "one\n"}}, []string{`3 "one"`}},
		{"a memory that came back in an unknown way", []entry{{memento.Created, "one\n"}, {memento.Deleted, ""}, {memento.Modified, "one\n"}}, []string{`<3 "one"`}},
		{"a deletion that is redacted", []entry{{memento.Created, "one\n"}, {memento.Deleted, redacted}, {memento.Created, "one\n"}}, []string{`3 "one"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var versions []memento.Version
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, e := range tt.entries {
				v := memento.Version{
					ID: memento.VersionID(fmt.Sprintf("memver_%d", i+1)), Memory: "mem_a", Operation: e.op, CreatedBy: author(i + 1), CreatedAt: at,
				}
				if e.text == redacted {
					v.RedactedAt = at
				} else if v.Path = "/a"; e.op != memento.Deleted {
					v.Content, v.SHA256, v.Size = e.text, memento.HashContent(e.text), int64(len(e.text))
				}
				versions = append(versions, v)
			}
			s := memories.New(memento.Limits{})
			if _, err := s.Import(t.Context(), versions); err != nil {
				t.Fatal(err)
			}
			got, err := history.Annotate(t.Context(), s, memento.ByPath("/a"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, credits(got)); diff != "" {
				t.Error("lines (-want +got):\n" + diff)
			}
		})
	}
}

func TestAnnotateVersion(t *testing.T) {
	s := memories.New(memento.Limits{})
	if err := rewrite(t.Context(), s, "one\n", "zero\none\n", "zero\none\ntwo\n", "", "new\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), author(6), memento.Remove{Path: "/a"}); err != nil {
		t.Fatal(err)
	}
	versions := memories.Versions(t, s, memento.VersionListOptions{})
	if _, err := s.Redact(t.Context(), versions[4].ID, nobody); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{`1 "one"`}, {`2 "zero"`, `1 "one"`}, {`2 "zero"`, `1 "one"`, `3 "two"`}, nil} {
		got, err := history.AnnotateVersion(t.Context(), s, versions[i].ID)
		if diff := cmp.Diff(want, credits(got)); diff != "" || err != nil {
			t.Errorf("version %d: %v (-want +got):\n%s", i+1, err, diff)
		}
	}
	for id, want := range map[memento.VersionID]error{
		versions[4].ID: memento.ErrInvalid, versions[5].ID: memento.ErrInvalid, "memver_none": memento.ErrNotExist, "": memento.ErrNotExist,
	} {
		if got, err := history.AnnotateVersion(t.Context(), s, id); !errors.Is(err, want) || got != nil {
			t.Errorf("version %q: %v, %v; want %v", id, got, err, want)
		}
	}
}

func TestAnnotateErrors(t *testing.T) {
	s := memories.New(memento.Limits{})
	if _, err := history.Annotate(t.Context(), s, memento.ByPath("/a")); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("before the store is made: %v", err)
	}
	memories.Put(t, s, "/d/a", "one")
	for ref, want := range map[memento.Ref]error{
		memento.ByPath("/a"):         memento.ErrNotExist,
		memento.ByPath("/d"):         memento.ErrIsDir,
		memento.ByPath(memento.Root): memento.ErrIsDir,
		memento.ByPath("/d/../a"):    memento.ErrInvalidPath,
		memento.ByID("mem_none"):     memento.ErrNotExist,
	} {
		if got, err := history.Annotate(t.Context(), s, ref); !errors.Is(err, want) || got != nil {
			t.Errorf("%+v: %v, %v; want %v", ref, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := history.Annotate(ctx, s, memento.ByPath("/d/a")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}

// listMeddler is a backend on which others act just before the next listing of versions.
type listMeddler struct {
	memento.Backend
	meddle func()
}

func (b *listMeddler) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	if f := b.meddle; f != nil {
		b.meddle = nil
		f()
	}
	return b.Backend.ListVersions(ctx, id, opts)
}

// What others do between the look at the memory and the look at its history counts.
func TestAnnotateMeetsOthers(t *testing.T) {
	b := memstore.New(nil)
	m := &listMeddler{Backend: b}
	spec := memento.StoreSpec{Name: "notes"}
	s, other := memento.OpenNamed(m, workspace, spec, memories.Guarded()), memento.OpenNamed(b, workspace, spec, memories.Guarded())
	do := func(by memento.Actor, changes ...memento.Change) {
		if _, err := other.Apply(t.Context(), by, changes...); err != nil {
			t.Error(err)
		}
	}
	do(author(1), memento.Put{Path: "/a", Content: "one\n"})

	m.meddle = func() { do(author(2), memento.Put{Path: "/a", Content: "zero\none\n"}) }
	got, err := history.Annotate(t.Context(), s, memento.ByPath("/a"))
	if diff := cmp.Diff([]string{`2 "zero"`, `1 "one"`}, credits(got)); diff != "" || err != nil {
		t.Errorf("changed meanwhile: %v (-want +got):\n%s", err, diff)
	}
	m.meddle = func() {
		do(author(3), memento.Move{From: "/a", To: "/b"}, memento.Put{Path: "/a", Content: "another\n"})
	}
	got, err = history.Annotate(t.Context(), s, memento.ByPath("/a"))
	if diff := cmp.Diff([]string{`2 "zero"`, `1 "one"`}, credits(got)); diff != "" || err != nil {
		t.Errorf("renamed meanwhile: %v (-want +got):\n%s", err, diff)
	}
	m.meddle = func() { do(author(4), memento.Remove{Path: "/a"}) }
	if got, err := history.Annotate(t.Context(), s, memento.ByPath("/a")); !errors.Is(err, memento.ErrNotExist) || got != nil {
		t.Errorf("deleted meanwhile: %v, %v", got, err)
	}
}

func TestAnnotateIsARead(t *testing.T) {
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/a", "one")
	memories.Put(t, s, "/b", "one")
	if _, err := history.Annotate(t.Context(), s, memento.ByPath("/a")); err != nil {
		t.Fatal(err)
	}
	read := map[memento.Path]bool{}
	for e, err := range s.List(t.Context(), memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		read[e.Path] = !e.Memory.ReadAt.IsZero()
	}
	if diff := cmp.Diff(map[memento.Path]bool{"/a": true, "/b": false}, read); diff != "" {
		t.Error("read (-want +got):\n" + diff)
	}
}
