package sensitive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// In comma- or tab-separated values, and in columns that programs align by spaces, the name of a
// column announces the values below it.

const (
	maxHeader      = 1 << 10  // bytes of the line with the names
	maxColumn      = 16 << 10 // bytes of the rows that are read
	maxCell        = 40       // bytes of a name
	cellSeparators = ",;\t"
)

// column adds the values of the column whose name is the announcement. It reports whether
// the name is that of a column with rows below it.
func (a *announcement) column() bool {
	for _, cell := range columnBelow(a.text, span{a.name.start, a.i}) {
		in := announcement{reader: reader{a.text, cell.start, cell.end}, what: a.what, name: a.name}
		v := in.token(own, false)
		v.alone = strings.Trim(a.text[v.end:cell.end], " \"'\r") == ""
		if s := in.judge(v); s.start < s.end {
			a.found = append(a.found, s)
		}
		a.rows = true
	}
	return a.rows
}

// columnBelow returns the cells below a name in a header of separated or aligned values, or nil
// if there is no such header.
func columnBelow(text string, name span) (cells []span) {
	if cells := alignedBelow(text, name); cells != nil {
		return cells
	}
	if name.end == len(text) || strings.IndexByte(cellSeparators+"\"'\r\n", text[name.end]) < 0 {
		return nil
	}

	line := before(text, name.start, maxHeader)
	start := name.start - len(line)
	if start > 0 && text[start-1] != '\n' {
		return nil
	}
	end := strings.IndexByte(text[name.end:min(len(text), name.end+maxHeader)], '\n')
	if end < 0 {
		return nil
	}
	end += name.end
	after := strings.TrimLeft(text[name.end:end], "\"'")
	left := strings.LastIndexAny(line, cellSeparators)
	var separator byte
	switch {
	case after != "" && strings.IndexByte(cellSeparators, after[0]) >= 0:
		separator = after[0]
	case strings.Trim(after, "\r") == "" && left >= 0:
		separator = line[left]
	default:
		return nil
	}
	if first := strings.LastIndexByte(line, separator) + 1; isProse(strings.Trim(text[start+first:name.end], "\"'")) {
		return nil // before the other cells are looked at
	}
	header := cellsOf(text, span{start, end}, separator)
	if start > 0 && isRow(text, start-1, separator, len(header)) {
		return nil // the name is in a row
	}
	column := -1
	for i, cell := range header {
		if cell.start <= name.start && name.end <= cell.end {
			column = i
		}
		if !isColumnName(text[cell.start:cell.end], separator) {
			return nil
		}
	}
	if len(header) < 2 || column < 0 {
		return nil
	}
	for from := end + 1; from < min(len(text), end+maxColumn); {
		to := len(text)
		if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
			to = from + i
		}
		row := cellsOf(text, span{from, to}, separator)
		if len(row) != len(header) {
			break
		}
		cells = append(cells, row[column])
		from = to + 1
	}
	return cells
}

// gap separates the cells of a line whose columns are aligned by spaces.
const gap = "  "

// alignedBelow returns the cells below a name in a header of columns that are aligned by
// spaces, or nil if there is no such header.
func alignedBelow(text string, name span) (cells []span) {
	hasNext := strings.HasPrefix(text[name.end:], gap)
	if !hasNext && name.end < len(text) && strings.IndexByte("\r\n", text[name.end]) < 0 {
		return nil
	}
	line := before(text, name.start, maxHeader)
	if !hasNext && !strings.Contains(line, gap) {
		return nil
	}
	start := name.start - len(line)
	end := strings.IndexByte(text[name.end:min(len(text), name.end+maxHeader)], '\n')
	if start > 0 && text[start-1] != '\n' || end < 0 {
		return nil
	}
	end += name.end
	header := alignedCells(text[start:end])
	column := -1
	for i, cell := range header {
		if cell.end == name.end-start && cell.start <= name.start-start {
			column = i
		}
		if isProse(text[start+cell.start : start+cell.end]) {
			return nil
		}
	}
	if len(header) < 2 || column < 0 || strings.IndexByte(line, '\t') >= 0 || isInBlock(before(text, max(0, start-1), maxHeader), header, column) {
		return nil
	}
	for from := end + 1; from < min(len(text), end+maxColumn); {
		to := len(text)
		if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
			to = from + i
		}
		row := strings.TrimRight(text[from:to], " \r")
		cell, ok := alignedCell(row, header, column)
		if !ok {
			if isCombination(text[name.start:name.end]) { // numbers are to the right, and this may be one of things
				break
			}
			if cell, ok = cellUnder(row, text[start:end], header, column); !ok {
				break
			}
		}
		if strings.Trim(row, "-= ") != "" { // else it is the line below the header
			cells = append(cells, span{from + cell.start, from + cell.end})
		}
		from = to + 1
	}
	return cells
}

// isInBlock reports whether a line that looks like a header is a declaration or a row, by the line
// before it.
func isInBlock(previous string, header []span, column int) bool {
	previous = strings.TrimRight(previous, " \r")
	if previous == "" {
		return false
	}
	_, aligned := alignedCell(previous, header, column)
	return aligned && strings.Contains(strings.TrimLeft(previous, " "), gap) || strings.IndexByte("{([,;", previous[len(previous)-1]) >= 0
}

// alignedCells returns the parts of a line that gaps separate.
func alignedCells(line string) (cells []span) {
	line = strings.TrimRight(line, " \r")
	for i := 0; i < len(line); {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		end := len(line)
		if n := strings.Index(line[i:], gap); n >= 0 {
			end = i + n
		}
		cells = append(cells, span{i, end})
		i = end
	}
	return cells
}

// alignedCell returns the cell of a row in a column. ok is false if the row is not aligned with
// the header.
func alignedCell(row string, header []span, column int) (cell span, ok bool) {
	for _, h := range header {
		if h.start > 0 && h.start < len(row) && row[h.start-1] != ' ' {
			return span{}, false
		}
	}
	cell = span{header[column].start, len(row)}
	if column+1 < len(header) {
		cell.end = min(cell.end, header[column+1].start)
	}
	if cell.start >= cell.end || row[cell.start] == ' ' {
		return span{}, false
	}
	cell.end = cell.start + len(strings.TrimRight(row[cell.start:cell.end], " "))
	return cell, true
}

// cellUnder is alignedCell for columns of which some are aligned to the right, or hold characters
// that are as wide as two: each cell begins or ends below the begin or end of its name.
func cellUnder(row, head string, header []span, column int) (cell span, ok bool) {
	cells := alignedCells(row)
	if len(cells) != len(header) {
		return span{}, false
	}
	for i, h := range header {
		if width(row[:cells[i].start]) != width(head[:h.start]) && width(row[:cells[i].end]) != width(head[:h.end]) {
			return span{}, false
		}
	}
	return cells[column], true
}

// isCombination reports whether s begins with a name for the code of a lock that also means one of
// several things together.
func isCombination(s string) bool { return hasPrefixFold(s, "combination") }

// width returns how many columns of a terminal s takes.
func width(s string) (n int) {
	for _, c := range s {
		switch {
		case c < utf8.RuneSelf:
			n++
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.Is(wide, c):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide are the characters that are as wide as two: those of East Asian scripts, their
// punctuation, and emoji (UAX #11).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

// isRow reports whether the line that ends at end has a number of cells.
func isRow(text string, end int, separator byte, cells int) bool {
	start := max(0, end-maxHeader)
	start += strings.LastIndexByte(text[start:end], '\n') + 1
	return len(cellsOf(text, span{start, end}, separator)) == cells
}

// isColumnName reports whether s, in a header, can be the name of a column: a few words.
func isColumnName(s string, separator byte) bool {
	s = strings.Trim(s, "\"'\r")
	return s != "" && (s[0] != ' ' || separator == '\t') && !isProse(s)
}

// isProse reports whether s, in a line, is too long for the name of a column, or has a sign
// that such names have not.
func isProse(s string) bool {
	return len(s) > maxCell || strings.Count(s, " ") >= 4 || strings.ContainsAny(s, "=:(){}<>|`$!?")
}

// cellsOf returns the cells of a line, some of which may be in quotation marks. They are at
// most 64; a longer line has none.
func cellsOf(text string, line span, separator byte) (cells []span) {
	const most = 64
	if line.end-line.start > maxHeader*4 {
		return nil
	}
	start, quoted := line.start, false
	for i := line.start; i < line.end; i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			if cells = append(cells, span{start, i}); len(cells) == most {
				return nil
			}
			start = i + 1
		}
	}
	return append(cells, span{start, line.end})
}

// columnSecrets returns the values that look random in the column that is named at w.start.
func columnSecrets(text string, w span) (found []span) {
	end := w.start
	for end < min(w.end, w.start+2*maxCell) && isNameByte(text[end]) {
		end++
	}
	if end+1 < len(text) && text[end] == ' ' && text[end+1] != ' ' && text[end+1] != '|' { // as mostly
		return nil
	}
	a := announcement{reader: reader{text, end, w.end}, what: aKey, name: span{w.start, end}}
	if a.table() {
		return a.found
	}
	for _, s := range columnBelow(text, span{w.start, end}) {
		cell := strings.Trim(text[s.start:s.end], " \"'\r")
		if cell == "" {
			continue
		}
		s.start += strings.Index(text[s.start:s.end], cell)
		s = refineSecretCell(text, span{s.start, s.start + len(cell)})
		if s.start < s.end {
			found = append(found, s)
		}
	}
	return found
}

// refineSecretCell accepts values that look random, and not like a hash or a name.
func refineSecretCell(text string, s span) span {
	found := text[s.start:s.end]
	if len(found) < minRandom || strings.ContainsAny(found, " \t") || isKnownID(found) || !isRandom(found) || isIdentifier(found) || isHash(found) || isCode(found) {
		return span{}
	}
	return s
}
