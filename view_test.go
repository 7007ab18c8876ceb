package memento

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestHumanSize(t *testing.T) {
	for size, want := range map[int64]string{
		0: "0B", 1: "1B", 512: "512B", 1023: "1023B", 1024: "1.0K", 1536: "1.5K", 4096: "4.0K", 5632: "5.5K",
		1024 * 1024: "1.0M", 1024*1024 - 1: "1.0M", 1258291: "1.2M", 1 << 30: "1.0G", 1 << 40: "1.0T", 1 << 50: "1024.0T",
	} {
		if got := humanSize(size); got != want {
			t.Errorf("humanSize(%d) = %q, want %q", size, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 102400: "102,400", 1234567: "1,234,567", -1: "-1", -100: "-100", -1000: "-1,000",
	} {
		if got := groupDigits(n); got != want {
			t.Errorf("groupDigits(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestByName(t *testing.T) {
	names := []string{"b", "a.md", "a/", "a/x", "a/x/", "a-b/", "a-b/c", "a b"}
	slices.SortFunc(names, byName)
	want := []string{"a/", "a/x", "a/x/", "a b", "a-b/", "a-b/c", "a.md", "b"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error("depth-first order (-want +got):\n" + diff)
	}
}

func TestLineNumbers(t *testing.T) {
	text := strings.Repeat("x\n", 999_999)
	for n, want := range map[int]string{
		1: "     1\tx", 99: "    99\tx", 100_000: "100000\tx", 999_999: "999999\tx",
	} {
		if got := numbered(text, n, n, 100); got != want {
			t.Errorf("line %d: %q, want %q", n, got, want)
		}
	}
}

func TestSnippet(t *testing.T) {
	const text = "1\n2\n3\n4\n5\n6\n7\n"
	tests := []struct {
		name    string
		at, end int // bytes
		want    string
	}{
		{"the middle", 6, 7, "     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6"},
		{"the top", 0, 1, "     1\t1\n     2\t2\n     3\t3"},
		{"the end", 12, 14, "     5\t5\n     6\t6\n     7\t7"},
		{"several lines", 4, 9, "     1\t1\n     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6\n     7\t7"},
		{"something deleted", 6, 6, "     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6"},
		{"something deleted at the end", 14, 14, "     5\t5\n     6\t6\n     7\t7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, snippet(text, tt.at, tt.end, 1000)); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
	if got := snippet("", 0, 0, 1000); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

var (
	moreLines   = regexp.MustCompile(`^\[Lines (\d+) to (\d+) of (\d+) are shown\. To continue, use view_range \[(\d+), -1\]\.\]$`)
	cutLast     = regexp.MustCompile(`^\[Only the first (\d+) of (\d+) characters of line (\d+) are shown\.\]$`)
	cutWithMore = regexp.MustCompile(`^\[Only the first (\d+) of (\d+) characters of line (\d+) are shown, of (\d+) lines\. To continue, use view_range \[(\d+), -1\]\.\]$`)
)

// page is one view, taken apart.
type page struct {
	body string
	next int // where the notice says to go on; 0 if nothing is left
	cut  int // the line that is cut; 0 if none
}

// readPage takes apart what numbered returned for the lines from first on. A
// line of text never starts with a bracket, because of its number.
func readPage(t *testing.T, shown string, first, total int) page {
	t.Helper()
	i := strings.LastIndexByte(shown, '\n')
	if notice := shown[i+1:]; strings.HasPrefix(notice, "[") {
		numbers := func(re *regexp.Regexp) (n []int) {
			for _, s := range re.FindStringSubmatch(notice) {
				v, _ := strconv.Atoi(s)
				n = append(n, v)
			}
			return n
		}
		if n := numbers(moreLines); n != nil {
			if n[1] != first || n[2] != n[4]-1 || n[3] != total || n[4] > total {
				t.Fatalf("from %d of %d: notice %q", first, total, notice)
			}
			return page{shown[:i], n[4], 0}
		}
		if n := numbers(cutWithMore); n != nil {
			if n[3] != first || n[4] != total || n[5] != first+1 || n[1] >= n[2] {
				t.Fatalf("from %d of %d: notice %q", first, total, notice)
			}
			return page{shown[:i], n[5], first}
		}
		if n := numbers(cutLast); n != nil {
			if n[3] != first || first != total || n[1] >= n[2] {
				t.Fatalf("from %d of %d: notice %q", first, total, notice)
			}
			return page{shown[:i], 0, first}
		}
		t.Fatalf("unknown notice %q", notice)
	}
	return page{body: shown}
}

// Following the notices gives every line, each page within its bounds.
func FuzzPaging(f *testing.F) {
	f.Add("a\nb\nc\n", uint8(8))
	f.Add("a\nb\nc", uint8(20))
	f.Add("\n\n\n", uint8(0))
	f.Add("a very long line that no page can hold\nb\n", uint8(10))
	f.Add("[Lines 1 to 2 of 3 are shown. To continue, use view_range [3, -1].]\n\u2028é\U0001f600", uint8(30))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = strings.ToValidUTF8(text, "?")
		chars := int(size) + 8
		want := modelLines(text)
		total := len(want)
		if total == 0 {
			return
		}
		for first := 1; first != 0; {
			p := readPage(t, numbered(text, first, total, chars), first, total)
			if n := utf8.RuneCountInString(p.body); n > chars {
				t.Fatalf("a page has %d characters, at most %d were asked for", n, chars)
			}
			last := p.next - 1
			if p.next == 0 {
				last = total
			}
			if last < first {
				t.Fatalf("no progress from line %d", first)
			}
			var lines []string
			for i, line := range want[first-1 : last] {
				lines = append(lines, fmt.Sprintf("%6d\t%s", first+i, line))
			}
			full := strings.Join(lines, "\n")
			if p.cut != 0 && (!strings.HasPrefix(full, p.body) || p.body == full) || p.cut == 0 && p.body != full {
				t.Fatalf("lines %d to %d are %q, want %q", first, last, p.body, full)
			}
			first = p.next
		}
	})
}
