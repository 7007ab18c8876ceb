package main

import (
	"io"
	"strings"
	"testing"
)

// On a terminal the words that match are coloured, and nothing else; what is harmful is escaped.
func TestHighlight(t *testing.T) {
	a := newApp(strings.NewReader(""), io.Discard, io.Discard)
	for _, test := range []struct {
		text  string
		words []string
		want  string
	}{
		{"Refund, refunds; REFUND\r", []string{"refund"}, "<Refund>, refunds; <REFUND>"},
		{"Zürich und Zug", []string{"zürich", "zug"}, "<Zürich> und <Zug>"},
		{"東京都の天気", []string{"東京", "天"}, "<東京>都の<天>気"},
		{"\x1b]owned\x07", []string{"owned"}, `\x1b]<owned>\x07`},
		{"nothing", nil, "nothing"},
	} {
		for _, colour := range []bool{true, false} {
			a.colour = colour
			got, want := a.highlight(test.text, test.words), strings.NewReplacer("<", "", ">", "").Replace(test.want)
			if colour {
				want = strings.NewReplacer("<", "\x1b[31m", ">", "\x1b[0m").Replace(test.want)
			}
			if got != want {
				t.Errorf("%q is shown as %q; want %q", test.text, got, want)
			}
		}
	}
}
