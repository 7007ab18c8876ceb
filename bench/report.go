package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A report is all that a run found. What it did not measure is nil.
type report struct {
	Machine machine `json:"machine"`
	Rounds  int     `json:"rounds"`
	Quick   bool    `json:"quick"` // the figures mean nothing

	SDK        *comparison    `json:"sdk,omitempty"`
	Postgres   *besideFigures `json:"postgres,omitempty"`
	S3         *besideFigures `json:"s3,omitempty"`
	Encryption []sealedRow    `json:"encryption,omitempty"`
	Flatness   *flatness      `json:"flatness,omitempty"`
}

// A comparison is what was found beside the SDK.
type comparison struct {
	FsyncFloors []float64     `json:"fsync_floors_per_second"` // measured before each round
	Rows        []row         `json:"rows"`
	Growth      []growth      `json:"growth"`
	Binary      binaryFigures `json:"binary"`
	HTTP        overHTTP      `json:"over_http"`
	Fleet       fleetFigures  `json:"many_stores"`
}

// A growth is how much dearer a call is on the largest store than on the smallest.
type growth struct {
	Operation operation `json:"operation"`
	Callers   int       `json:"callers"`
	From      int       `json:"from_files"`
	To        int       `json:"to_files"`
	Ratio     float64   `json:"ratio"` // of memento's cost per call
}

// The targets.
const (
	targetGrowth      = 1.5  // at most, for what does not show the whole store
	targetFirstMS     = 30.0 // at most
	targetPeakMB      = 40.0 // less
	targetPeakMaxSize = 10_000

	// Of a server.
	targetServing  = 1.0    // durable writes, against the SDK's tool in its own process
	targetOverHTTP = 0.5    // views, against a bare handler
	targetFleetMS  = 2000.0 // at most
	targetFleetMB  = 256.0  // less
	targetFleet    = 1.5    // at most
	targetFleetMin = 10_000 // stores that these are for
)

// target returns how many times the SDK's calls a second memento shall do; 0 if
// nothing is set.
func (r row) target() float64 {
	switch {
	case r.Operation == viewFile:
		return 5
	case r.Operation == viewDir && r.Files >= 1000:
		return 50
	case r.Operation == viewDir:
		return 0
	case r.Callers == 1:
		return 2
	}
	return 3
}

func (r row) ratio() float64 { return r.Memento / r.SDK }

// finish derives what needs all rows.
func (r *comparison) finish() {
	from, to := r.Rows[0].Files, r.Rows[len(r.Rows)-1].Files
	if from == to {
		return
	}
	for _, small := range r.Rows {
		for _, large := range r.Rows {
			if small.Files == from && large.Files == to && small.Operation == large.Operation && small.Callers == large.Callers {
				r.Growth = append(r.Growth, growth{small.Operation, small.Callers, from, to, small.Memento / large.Memento})
			}
		}
	}
}

func (r *report) write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nCalls a second, the median of the rounds (%d counted).\n", r.Machine, r.Rounds)
	if r.Quick {
		b.WriteString("This was a quick run: it shows that the comparison works, and nothing about speed.\n")
	}
	add := func(tables ...table) {
		for _, t := range tables {
			b.WriteByte('\n')
			if format == "markdown" {
				t.writeMarkdown(&b)
			} else {
				t.writeText(&b)
			}
		}
	}
	if r.SDK != nil {
		add(r.SDK.tables()...)
		r.SDK.writeNotes(&b)
	}
	if r.Postgres != nil {
		fmt.Fprintf(&b, "\n%s.\n", r.Postgres.Medium)
		add(r.Postgres.table("postgres"))
	}
	if r.S3 != nil {
		fmt.Fprintf(&b, "\n%s.\n", r.S3.Medium)
		add(r.S3.table("s3"))
	}
	if r.Encryption != nil {
		add(sealedTable(r.Encryption))
	}
	if r.Flatness != nil {
		add(r.Flatness.tables()...)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *comparison) tables() []table {
	tables := []table{r.callsTable()}
	if len(r.Growth) > 0 {
		tables = append(tables, r.growthTable())
	}
	return append(tables, r.binaryTable(), r.servingTable(), r.serverTable())
}

// writeNotes writes what the tables need to be understood.
func (r *comparison) writeNotes(w io.Writer) {
	fmt.Fprintf(w, "\nWriting 4 KB and fsync, over and over in one file: %s a second, the median of %d measurements\n"+
		"from %s to %s; if these differ much, other programs used the disk. No durable write of a\n"+
		"single caller can be faster. The SDK's create, str_replace and insert fsync the file, but not its\n"+
		"directory; its rename and delete fsync nothing at all.\n"+
		"\n\"put off\": what memento still does for each call once it is quiet, which is to index it for search.\n",
		rate(median(r.FsyncFloors)), len(r.FsyncFloors), rate(slices.Min(r.FsyncFloors)), rate(slices.Max(r.FsyncFloors)))
}

func (r *comparison) callsTable() table {
	t := table{
		head:  []string{"operation", "files", "callers", nameSDK, nameLibrary, "ratio", "target", "", "put off", nameCoprocess, "ratio"},
		right: []bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 8: true, 9: true, 10: true},
	}
	for _, op := range operations {
		for _, row := range r.Rows {
			if row.Operation != op {
				continue
			}
			cells := []string{string(op), thousands(row.Files), strconv.Itoa(row.Callers), rate(row.SDK), rate(row.Memento), times(row.ratio())}
			if target := row.target(); target > 0 {
				cells = append(cells, fmt.Sprintf("%gx", target), verdict(row.ratio() >= target))
			} else {
				cells = append(cells, "", "")
			}
			if op.reads() {
				cells = append(cells, "")
			} else {
				cells = append(cells, fmt.Sprintf("%.0f µs", row.PutOff))
			}
			if row.Coprocess > 0 {
				cells = append(cells, rate(row.Coprocess), times(row.Coprocess/row.SDK))
			} else {
				cells = append(cells, "", "")
			}
			t.rows = append(t.rows, cells)
		}
	}
	return t
}

func (r *comparison) growthTable() table {
	g := r.Growth[0]
	t := table{
		head: []string{"memento's cost of a call", "callers",
			fmt.Sprintf("%s files against %s", thousands(g.To), thousands(g.From)), "target", ""},
		right: []bool{1: true, 2: true, 3: true, 4: false},
	}
	for _, op := range operations {
		for _, g := range r.Growth {
			if g.Operation != op {
				continue
			}
			cells := []string{string(op), strconv.Itoa(g.Callers), times(g.Ratio)}
			if op == viewDir {
				// The answer is as long as the store is large.
				cells = append(cells, "", "")
			} else {
				cells = append(cells, fmt.Sprintf("%gx", targetGrowth), verdict(g.Ratio <= targetGrowth))
			}
			t.rows = append(t.rows, cells)
		}
	}
	return t
}

func (r *comparison) binaryTable() table {
	f := r.Binary
	t := table{
		head:  []string{fmt.Sprintf("memento tool, %s files", thousands(f.Files)), "figure", "target", ""},
		right: []bool{1: true, 2: true, 3: false},
	}
	add := func(what, unit string, value, target float64) {
		cells := []string{what, fmt.Sprintf("%.1f %s", value, unit), fmt.Sprintf("%g %s", target, unit), verdict(value <= target)}
		if value == 0 {
			cells = []string{what, "unknown", "", ""}
		} else if f.Files > targetPeakMaxSize {
			cells[2], cells[3] = "", ""
		}
		t.rows = append(t.rows, cells)
	}
	add("start to first answer, view /memories", "ms", f.FirstDirMS, targetFirstMS)
	add("start to first answer, view a file", "ms", f.FirstFileMS, targetFirstMS)
	add("peak memory after viewing /memories and 100 files", "MB", f.PeakMB, targetPeakMB)
	return t
}

// servingTable compares calls over HTTP with the SDK's tool in its own process.
func (r *comparison) servingTable() table {
	t := table{
		head:  []string{nameServing + ", tool calls over HTTP", "files", "callers", nameSDK, nameServing, "ratio", "target", ""},
		right: []bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: false},
	}
	for _, op := range operations {
		for _, row := range r.Rows {
			if row.Operation != op || row.Serving == 0 {
				continue
			}
			ratio := row.Serving / row.SDK
			cells := []string{string(op), thousands(row.Files), strconv.Itoa(row.Callers), rate(row.SDK), rate(row.Serving), times(ratio), "", ""}
			if !op.reads() {
				cells[6], cells[7] = fmt.Sprintf("%gx", targetServing), verdict(ratio >= targetServing)
			}
			t.rows = append(t.rows, cells)
		}
	}
	return t
}

// serverTable has what else is asked of a server.
func (r *comparison) serverTable() table {
	h, f := r.HTTP, r.Fleet
	t := table{head: []string{nameServing, "figure", "target", ""}, right: []bool{1: true, 2: true, 3: false}}
	t.rows = append(t.rows, []string{
		fmt.Sprintf("view of a file at %d callers, %s a second; a bare net/http handler of the same %s bytes, %s", h.Callers, rate(h.Memento), thousands(h.Bytes), rate(h.Bare)),
		times(h.Memento / h.Bare), fmt.Sprintf("%gx", targetOverHTTP), verdict(h.Memento/h.Bare >= targetOverHTTP)})
	fleet := func(what, figure, target string, ok bool) {
		cells := []string{fmt.Sprintf("%s stores of %d memories: %s", thousands(f.Stores), f.Memories, what), figure, target, verdict(ok)}
		if f.Stores < targetFleetMin {
			cells[2], cells[3] = "", ""
		}
		t.rows = append(t.rows, cells)
	}
	fleet("start to first answer", fmt.Sprintf("%.0f ms", f.StartMS), fmt.Sprintf("%g ms", targetFleetMS), f.StartMS <= targetFleetMS)
	fleet("peak memory after calls in all", fmt.Sprintf("%.0f MB", f.PeakMB), fmt.Sprintf("%g MB", targetFleetMB), f.PeakMB < targetFleetMB)
	for _, c := range f.Calls {
		fleet(fmt.Sprintf("%s, %.0f µs against %.0f µs with one store", c.Operation, c.Many, c.One), times(c.Many/c.One),
			fmt.Sprintf("%gx", targetFleet), c.Many/c.One <= targetFleet)
	}
	return t
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "short"
}

// rate writes calls a second with about three digits.
func rate(perSecond float64) string {
	switch {
	case perSecond >= 100:
		return thousands(int(perSecond + 0.5))
	case perSecond >= 10:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return strconv.FormatFloat(perSecond, 'f', 2, 64)
}

func times(ratio float64) string {
	if ratio >= 100 {
		return thousands(int(ratio+0.5)) + "x"
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64) + "x"
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// A table is rows of cells, with a headline.
type table struct {
	head  []string
	right []bool // the columns that are numbers
	rows  [][]string
}

func (t *table) isRight(column int) bool { return column < len(t.right) && t.right[column] }

func (t *table) writeText(b *strings.Builder) {
	widths := make([]int, len(t.head))
	all := append([][]string{t.head}, t.rows...)
	for _, cells := range all {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range all {
		var line strings.Builder
		for i, cell := range cells {
			if i > 0 {
				line.WriteString("  ")
			}
			width := widths[i]
			if !t.isRight(i) {
				width = -width
			}
			fmt.Fprintf(&line, "%*s", width, cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func (t *table) writeMarkdown(b *strings.Builder) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rules := make([]string, len(t.head))
	for i := range rules {
		rules[i] = "---"
		if t.isRight(i) {
			rules[i] = "---:"
		}
	}
	line(rules)
	for _, cells := range t.rows {
		line(cells)
	}
}
