package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/test/memories"
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

// credits writes each line behind its author's name, with "<" in front if it may be older.
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
			name: "deleted and made anew", changes: []memento.Change{put("one\n"), memento.Remove{Path: "/a"}, put("one\n")},
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

// linesOf splits a text by the rule that a final newline starts no further line.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// commonLines is the length of a longest common subsequence, the plain way.
func commonLines(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// keptOf annotates the second of two texts, and returns the lines that are kept
// of the first, once they are checked to be in both, in order.
func keptOf(ctx context.Context, s *memento.Store, old, new string) ([]string, error) {
	if err := rewrite(ctx, s, old, new); err != nil {
		return nil, err
	}
	lines, err := history.Annotate(ctx, s, memento.ByPath("/a"))
	if err != nil {
		return nil, err
	}
	var texts, kept []string
	for _, l := range lines {
		texts = append(texts, l.Text)
		if l.Version.CreatedBy == author(1) {
			kept = append(kept, l.Text)
		}
	}
	if diff := cmp.Diff(linesOf(new), texts); diff != "" {
		return nil, fmt.Errorf("the lines are not those of the memory (-memory +got):\n%s", diff)
	}
	rest := linesOf(old)
	for _, line := range kept {
		i := slices.Index(rest, line)
		if i < 0 {
			return nil, fmt.Errorf("of %q and %q, %q is said to be kept", old, new, kept)
		}
		rest = rest[i+1:]
	}
	return kept, nil
}

// Of texts that are not large, as many lines are kept as can be.
func TestAnnotateKeepsMost(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "a\r"})
	text := rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(line, 0, 30).Draw(t, "lines")
		return strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
	})
	rapid.Check(t, func(rt *rapid.T) {
		old, new := text.Draw(rt, "old"), text.Draw(rt, "new")
		kept, err := keptOf(t.Context(), memories.New(memento.Limits{}), old, new)
		if err != nil {
			rt.Fatal(err)
		}
		if want := commonLines(linesOf(old), linesOf(new)); len(kept) != want {
			rt.Errorf("of %q and %q, %d lines are kept: %q; want %d", old, new, len(kept), kept, want)
		}
	})
}

// Every line is in each version since the one that it is said to come from.
func TestAnnotateHistories(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f"})
	rapid.Check(t, func(rt *rapid.T) {
		s := memories.New(memento.Limits{})
		texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n")
		}), 1, 8).Draw(rt, "texts")
		if err := rewrite(t.Context(), s, texts...); err != nil {
			rt.Fatal(err)
		}
		var redacted []memento.VersionID
		versions := memories.Versions(t, s, memento.VersionListOptions{Contents: true})
		for _, v := range versions[:len(versions)-1] {
			if rapid.IntRange(0, 3).Draw(rt, "redact") == 0 {
				if _, err := s.Redact(t.Context(), v.ID, nobody); err != nil {
					rt.Fatal(err)
				}
				redacted = append(redacted, v.ID)
			}
		}
		got, err := history.Annotate(t.Context(), s, memento.ByPath("/a"))
		if err != nil {
			rt.Fatal(err)
		}
		if last := versions[len(versions)-1]; len(got) != len(linesOf(last.Content)) {
			rt.Fatalf("%d lines of %q", len(got), last.Content)
		}
		for i, l := range got {
			from := slices.IndexFunc(versions, func(v memento.Version) bool { return v.ID == l.Version.ID })
			for _, v := range versions[from:] {
				if !slices.Contains(redacted, v.ID) && !slices.Contains(linesOf(v.Content), l.Text) {
					rt.Errorf("line %d, %q, is not in %q, though said to come from %q", i+1, l.Text, v.Content, versions[from].Content)
				}
			}
			afterUnknown := from > 0 && slices.Contains(redacted, versions[from-1].ID)
			if slices.Contains(redacted, l.Version.ID) || l.MayBeOlder != afterUnknown || l.Version.Content != "" {
				rt.Errorf("line %d: %+v", i+1, l)
			}
		}
	})
}

// numberedLines returns lines, all different, of about 50 bytes.
func numberedLines(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("- %06d what was learned about this, in some words", i)
	}
	return lines
}

func shuffled(random *rand.Rand, lines []string) []string {
	lines = slices.Clone(lines)
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines
}

// Large texts with little or nothing in common take no quadratic time. The bound
// is generous, for machines that are busy with other tests: the square of these
// numbers of lines takes minutes.
func TestAnnotateLarge(t *testing.T) {
	const n = 50_000
	random := rand.New(rand.NewPCG(1, 2))
	lines := numberedLines(n)
	few := make([]string, n) // ten different lines
	for i := range few {
		few[i] = strconv.Itoa(random.IntN(10))
	}
	other := make([]string, n)
	for i := range other {
		other[i] = "x" + strconv.Itoa(i)
	}
	tests := []struct {
		name     string
		old, new []string
		kept     int // at least
	}{
		{"nothing in common", lines, other, 0},
		{"shuffled", lines, shuffled(random, lines), 2},
		{"few different lines", few, shuffled(random, few), n / 10},
		{"reversed", lines, func() []string {
			reversed := slices.Clone(lines)
			slices.Reverse(reversed)
			return reversed
		}(), 1},
		{"a large block moved", lines, slices.Concat(lines[10_000:40_000], lines[:10_000], lines[40_000:]), 40_000},
		{"every other line changed", lines, func() []string {
			changed := slices.Clone(lines)
			for i := 0; i < n; i += 2 {
				changed[i] = other[i]
			}
			return changed
		}(), n / 2},
		{"every line twice", lines, func() []string {
			var twice []string
			for _, line := range lines {
				twice = append(twice, line, line)
			}
			return twice
		}(), n},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			s := memories.New(memento.Limits{MemoryBytes: 1 << 30, Bytes: 1 << 30})
			kept, err := keptOf(t.Context(), s, strings.Join(tt.old, "\n"), strings.Join(tt.new, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			t.Logf("%d lines kept, in %v", len(kept), took)
			if len(kept) < tt.kept {
				t.Errorf("%d lines are kept; want at least %d", len(kept), tt.kept)
			}
			if took > 5*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func BenchmarkAnnotate(b *testing.B) {
	const versions = 300
	random := rand.New(rand.NewPCG(1, 2))
	lines := numberedLines(2000)
	edits := map[string]func(lines []string, n int) []string{
		"a line changed": func(lines []string, n int) []string {
			lines[random.IntN(len(lines))] = fmt.Sprintf("- changed in version %d, and here is why it was", n)
			return lines
		},
		"all lines shuffled": func(lines []string, _ int) []string { return shuffled(random, lines) },
		"all lines changed": func(lines []string, n int) []string {
			for i := range lines {
				lines[i] = fmt.Sprintf("- %06d as it was written in version %d", i, n)
			}
			return lines
		},
	}
	for name, edit := range edits {
		b.Run(name, func(b *testing.B) {
			s := memories.New(memento.Limits{MemoryBytes: 1 << 20})
			now := slices.Clone(lines)
			texts := make([]string, versions)
			for i := range texts {
				now = edit(now, i)
				texts[i] = strings.Join(now, "\n")
			}
			if err := rewrite(b.Context(), s, texts...); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if got, err := history.Annotate(b.Context(), s, memento.ByPath("/a")); err != nil || len(got) != len(lines) {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
