package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/history"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

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
