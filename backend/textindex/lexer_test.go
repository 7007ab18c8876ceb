package textindex

import (
	"fmt"
	"strings"
	"testing"
)

// A lexer counts what there is in a text, whatever it has read before, and for however many
// spellings its table has room.
func TestLexerCountsWords(t *testing.T) {
	x := newLexer(nil)
	var texts []string
	for n := range 200 {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "w%d Word%d a%s Ünïcode%d 北京%c, %s\n", i*n, n, strings.Repeat("b", (i+n)%70), i%3, rune(0x4e00+n), "\u0301")
		}
		texts = append(texts, b.String()+"ab", strings.Repeat("x", 15)+" "+strings.Repeat("x", 16)+" "+strings.Repeat("x", 17))
	}
	for _, text := range texts {
		want := map[string]int{}
		length := 0
		var before Word
		for w := range Words(text) {
			length++
			want[term(w.Text)]++
			if pair := pairOf(before, w); pair != "" {
				want[pair]++
			}
			before = w
		}
		d := x.read("", text)
		if d.length != length {
			t.Errorf("%d words are counted as %d in %q", length, d.length, text)
		}
		for _, f := range d.forms {
			if want[f.form] != int(f.body) {
				t.Errorf("%q is counted %d times instead of %d in %q", f.form, f.body, want[f.form], text)
			}
			delete(want, f.form)
		}
		if len(want) > 0 {
			t.Errorf("forms are missing: %v", want)
		}
	}
}
