// Package recording draws what commands print on a terminal as an animated SVG, for
// documents. The picture is complete where SVG is not animated.
package recording

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Step is a command, and what it printed on a terminal.
type Step struct {
	Command string // without the prompt
	Output  string // with escape sequences of colours, and no others
}

// Sizes in pixels.
const (
	columnWidth = 8
	lineHeight  = 18
	margin      = 16
	fontSize    = 13
)

// Times in seconds.
const (
	beforeCommand = 1.2
	afterCommand  = 0.6
	perLine       = 0.12
)

// A look is how text is drawn: the SGR parameter that is in force, and none at first.
type look string

// styles are the looks that memento's output has, as CSS classes.
var styles = map[look]string{
	"1": "bold", "2": "dim", "31": "red", "32": "green", "36": "cyan", "34;1": "blue",
}

// A run is text of one look in a line.
type run struct {
	look look
	text string
}

// SVG draws steps on a terminal with that many columns. Longer lines are wrapped.
//
// Errors: an escape sequence that is not a known colour.
func SVG(title string, columns int, steps []Step) ([]byte, error) {
	var body bytes.Buffer
	y, at := margin+fontSize, 0.0
	for _, s := range steps {
		at += beforeCommand
		lines := wrap([]run{{"32", "$ "}, {"1", s.Command}}, columns)
		commandLines := len(lines)
		printed, err := parse(s.Output)
		if err != nil {
			return nil, fmt.Errorf("output of %s: %w", s.Command, err)
		}
		for _, line := range printed {
			lines = append(lines, wrap(line, columns)...)
		}
		for i, line := range append(lines, nil) { // with an empty line at the end
			if i == commandLines {
				at += afterCommand
			}
			drawLine(&body, line, y, at)
			y += lineHeight
			if i >= commandLines {
				at += perLine
			}
		}
	}
	width, height := columns*columnWidth+2*margin, y-fontSize-lineHeight+margin
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>%s</title>
<style>
text { font: %dpx ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre }
.bold { font-weight: bold } .dim { fill: #8b95a7 } .red { fill: #f28b82 } .green { fill: #8fd19e } .cyan { fill: #7fd1e0 } .blue { fill: #8ab4f8; font-weight: bold }
@keyframes wait { from, to { visibility: hidden } }
@media (prefers-reduced-motion: no-preference) { g { animation: wait var(--at) } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#20242c"/>
`, width, height, width, height, escape(title), fontSize)
	svg.Write(body.Bytes())
	svg.WriteString("</svg>\n")
	return svg.Bytes(), nil
}

// drawLine draws a line that appears after some seconds.
func drawLine(svg *bytes.Buffer, line []run, y int, at float64) {
	if len(line) == 0 {
		return
	}
	fmt.Fprintf(svg, `<g style="--at:%.2fs">`, at)
	column := 0
	for _, r := range line {
		length := utf8.RuneCountInString(r.text)
		if strings.TrimSpace(r.text) != "" {
			class := ""
			if r.look != "" {
				class = ` class="` + styles[r.look] + `"`
			}
			// With its length, columns are aligned in every font.
			fmt.Fprintf(svg, `<text x="%d" y="%d" textLength="%d"%s>%s</text>`,
				margin+column*columnWidth, y, length*columnWidth, class, escape(r.text))
		}
		column += length
	}
	svg.WriteString("</g>\n")
}

// parse returns the lines of a terminal's output.
func parse(output string) (lines [][]run, err error) {
	output = strings.TrimRight(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	var now look
	for text := range strings.SplitSeq(output, "\n") {
		var line []run
		for text != "" {
			before, after, escaped := strings.Cut(text, "\x1b")
			if before != "" {
				line = append(line, run{now, before})
			}
			if !escaped {
				break
			}
			parameter, rest, isColour := strings.Cut(strings.TrimPrefix(after, "["), "m")
			if now = look(parameter); now == "0" {
				now = ""
			}
			if _, known := styles[now]; !isColour || !known && now != "" {
				return nil, fmt.Errorf("unknown escape sequence in %s", strconv.Quote(text))
			}
			text = rest
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// wrap splits a line into lines with at most so many columns, as a terminal does.
func wrap(line []run, columns int) (lines [][]run) {
	lines = [][]run{nil}
	left := columns
	for _, r := range line {
		text := []rune(r.text)
		for len(text) > 0 {
			if left == 0 {
				lines, left = append(lines, nil), columns
			}
			n := min(left, len(text))
			last := len(lines) - 1
			lines[last] = append(lines[last], run{r.look, string(text[:n])})
			text, left = text[n:], left-n
		}
	}
	return lines
}

// escape returns text for XML.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
