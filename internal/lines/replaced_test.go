package lines_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento/internal/lines"
)

func TestReplaced(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []lines.Replacement
	}{
		{"equal", "a\nb\n", "a\nb\n", nil},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", []lines.Replacement{{2, "b", "B"}}},
		{"two changed parts", "a\nb\nc\n", "A\nb\nC\n", []lines.Replacement{{1, "a", "A"}, {3, "c", "C"}}},
		{"more lines than before", "a\nb\nc\n", "a\nB\nnew\nc\n", []lines.Replacement{{2, "b", "B"}}},
		{"fewer lines than before", "a\nb\ngone\nc\n", "a\nB\nc\n", []lines.Replacement{{2, "b", "B"}}},
		{"added", "a\n", "a\nb\n", nil},
		{"removed", "a\nb\n", "a\n", nil},
		{"everything", "", "a\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines.Replaced(c.old, c.new)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
