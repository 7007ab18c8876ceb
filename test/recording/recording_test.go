package recording

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drawn returns the texts of a picture, with their positions and classes.
func drawn(t *testing.T, svg []byte) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "text" {
			continue
		}
		at := map[string]string{}
		for _, a := range start.Attr {
			at[a.Name.Local] = a.Value
		}
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, at["x"]+","+at["y"]+" "+at["class"]+" "+text)
	}
}

func TestSVG(t *testing.T) {
	svg, err := SVG("a & b", 10, []Step{
		{"ls <x>", "\x1b[2mhead\x1b[0m\r\nplain \x1b[34;1mdir/\x1b[0m\r\n"},
		{"a long one", "\r\nöäü 345 789 x\r\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"16,29 green $ ", "32,29 bold ls <x>",
		"16,47 dim head",
		"16,65  plain ", "64,65 blue dir/",
		"16,101 green $ ", "32,101 bold a long o", // wrapped, as is what it printed
		"16,119 bold ne",
		"16,155  öäü 345 78",
		"16,173  9 x",
	}
	if diff := cmp.Diff(want, drawn(t, svg)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(svg), "<title>a &amp; b</title>") {
		t.Error("it has no title")
	}
}

func TestUnknownSequences(t *testing.T) {
	for _, output := range []string{"\x1b[2Jcleared", "\x1b]0;title\x07", "\x1b[35mpurple\x1b[0m", "\x1b"} {
		if _, err := SVG("", 80, []Step{{"x", output}}); err == nil {
			t.Errorf("%q is drawn", output)
		}
	}
}
