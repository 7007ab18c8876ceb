package lines

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name, base, ours, theirs string
		want                     string // "!" if they cannot be merged
	}{
		{"nothing", "a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n"},
		{"only ours", "a\nb\n", "a\nc\n", "a\nb\n", "a\nc\n"},
		{"only theirs", "a\nb\n", "a\nb\n", "a\nc\n", "a\nc\n"},
		{"alike", "a\nb\n", "a\nc\n", "a\nc\n", "a\nc\n"},
		{"apart", "a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n", "x\nb\ny\n"},
		{"side by side", "a\nb\n", "x\nb\n", "a\ny\n", "x\ny\n"},
		{"removed before appended", "a\nx\n", "a\n", "a\nx\ny\n", "a\ny\n"},
		{"removed after inserted", "x\na\n", "a\n", "y\nx\na\n", "y\na\n"},
		{"the same line", "a\nx\nb\n", "a\nl\nb\n", "a\ny\nb\n", "!"},
		{"removed and changed", "a\nx\nb\n", "a\nb\n", "a\ny\nb\n", "!"},
		{"within what is removed", "a\nx\nz\nb\n", "a\nb\n", "a\nx\ny\nz\nb\n", "a\ny\nb\n"},
		{"within what is replaced", "a\nx\nz\nb\n", "a\nl\nb\n", "a\nx\ny\nz\nb\n", "!"},
		{"both remove", "a\nx\ny\nz\nb\n", "a\nz\nb\n", "a\nx\nb\n", "a\nb\n"},
		{"both insert", "a\nb\n", "a\no\nb\n", "a\nt\nb\n", "a\no\nt\nb\n"},
		{"both insert the same and more", "", "l\nm\n", "l\nn\n", "l\nm\nn\n"},
		{"a part is inserted", "", "l\nm\nn\n", "m\n", "l\nm\nn\n"},
		{"one is alike, one is not", "a\nb\nc\n", "x\nb\nd\n", "x\nb\ne\n", "!"},
		{"last newline removed", "a\nb\n", "x\nb\n", "a\nb", "x\nb"},
		{"last newline put", "a\nb", "x\nb", "a\nb\n", "x\nb\n"},
		{"appended without newline", "a\nx", "a", "a\nx\ny", "a\ny"},
		{"an empty line", "a\n\n", "a\n", "b\n\n", "b\n"},
		{"all removed", "a\nb\n", "", "a\nb\nc\n", "c\n"},
		{"returns", "a\r\nb\r\n", "a\r\nx\r\n", "z\r\nb\r\n", "z\r\nx\r\n"},
	} {
		got, ok := Merge(tt.base, tt.ours, tt.theirs)
		if !ok {
			got = "!"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Changes of different lines are both in the result, wherever they are.
func TestMergeLinesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var base, ours, theirs, want []string
		for i := range rapid.IntRange(0, 30).Draw(t, "lines") {
			line := fmt.Sprint("line ", i)
			base = append(base, line)
			o, th, w := []string{line}, []string{line}, []string{line}
			switch rapid.IntRange(0, 6).Draw(t, "change") {
			case 0:
				o, w = nil, nil
			case 1:
				th, w = nil, nil
			case 2:
				o = []string{"ours " + line}
				w = o
			case 3:
				th = []string{"theirs " + line}
				w = th
			}
			// A line that stays, so that changes have their places.
			stay := fmt.Sprint("stay ", i)
			base = append(base, stay)
			ours = append(append(ours, o...), stay)
			theirs = append(append(theirs, th...), stay)
			want = append(append(want, w...), stay)
		}
		got, ok := mergeLines(base, ours, theirs)
		if !ok || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q, %v; want %q", got, ok, want)
		}
		if again, ok := mergeLines(ours, got, ours); !ok || strings.Join(again, "\n") != strings.Join(got, "\n") {
			t.Fatalf("merged with what is in it: %q", again)
		}
	})
}
