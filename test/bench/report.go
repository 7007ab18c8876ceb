package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The contenders, by the names of their columns.
const (
	nameSDK       = "SDK"
	nameLibrary   = "memento"
	nameCoprocess = "memento tool"
	nameServer    = "memento serve"

	namePlain     = "plain"
	nameEncrypted = "encrypted"
)

// A report is all that a run has measured. What it has not measured is nil.
type report struct {
	machine machine
	rounds  int
	quick   bool

	sdk        []row
	fsyncs     []float64 // writes and fsyncs a second, before each round of each comparison
	startup    *startupFigures
	http       *httpFigures
	encryption []row
	mcp        *mcpFigures
	search     []searchRow
	large      []largeRow
}

// write writes the report as Markdown.
func (r *report) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nRates are calls a second, the median of the rounds (%d counted).\n", r.machine, r.rounds)
	if r.quick {
		b.WriteString("This was a quick run: it shows that the benchmark works, and nothing about speed.\n")
	}
	if r.sdk != nil {
		t := callsTable(r.sdk)
		t.write(&b)
		fmt.Fprintf(&b, "\nWriting 4 KB and fsync, over and over in one file: %s a second, the median of %d measurements\n"+
			"from %s to %s; if these differ much, other programs used the disk.\n"+
			"\n\"deferred\": what memento does for each call later, when it is idle: indexing it for search.\n",
			rate(median(r.fsyncs)), len(r.fsyncs), rate(slices.Min(r.fsyncs)), rate(slices.Max(r.fsyncs)))
	}
	if f := r.startup; f != nil {
		peak := "unknown"
		if f.peakMB > 0 {
			peak = fmt.Sprintf("%.1f MB", f.peakMB)
		}
		t := table{numbers: []bool{1: true}, rows: [][]string{
			{fmt.Sprintf("memento tool, %s files", thousands(f.files)), "figure"},
			{"start to first answer, view /memories", fmt.Sprintf("%.1f ms", f.firstDir)},
			{"start to first answer, view a file", fmt.Sprintf("%.1f ms", f.firstFile)},
			{"peak memory after viewing /memories and 100 files", peak}}}
		t.write(&b)
	}
	if f := r.http; f != nil {
		t := table{numbers: []bool{1: true, 2: true, 3: true}, rows: [][]string{
			{"view a file over HTTP", "callers", "a second", "ratio to the baseline"},
			{fmt.Sprintf("baseline: a net/http handler that sends the same %s bytes", thousands(f.bytes)), strconv.Itoa(f.callers), rate(f.baseline), ""},
			{nameServer, strconv.Itoa(f.callers), rate(f.server), times(f.server / f.baseline)},
			{nameServer, "1", rate(f.ofOneCaller), ""}}}
		t.write(&b)
	}
	if r.encryption != nil {
		t := encryptionTable(r.encryption)
		t.write(&b)
	}
	if r.mcp != nil {
		r.mcp.write(&b)
	}
	if r.search != nil {
		t := searchTable(r.search)
		t.write(&b)
	}
	if r.large != nil {
		t := largeTable(r.large)
		t.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *mcpFigures) write(b *strings.Builder) {
	calls := table{numbers: []bool{1: true, 2: true, 3: true, 4: true}, rows: [][]string{{"over MCP", "calls in flight", nameFiles, nameMCP, "ratio"}}}
	for _, r := range f.calls {
		calls.rows = append(calls.rows, []string{string(r.op), strconv.Itoa(r.inFlight), rate(r.rates[nameFiles]), rate(r.rates[nameMCP]), times(r.rates[nameMCP] / r.rates[nameFiles])})
	}
	calls.write(b)
	perCall := table{numbers: []bool{1: true, 2: true}, rows: [][]string{
		{"one call in flight", "median", "processor time of the server"},
		{nameMCP + ", view a file", fmt.Sprintf("%.0f µs", f.view.took), fmt.Sprintf("%.0f µs", f.view.processor)},
		{"a server of the same SDK that does nothing", fmt.Sprintf("%.0f µs", f.echo.took), fmt.Sprintf("%.0f µs", f.echo.processor)},
		{"difference", fmt.Sprintf("%.0f µs", f.view.took-f.echo.took), fmt.Sprintf("%.0f µs", f.view.processor-f.echo.processor)}}}
	perCall.write(b)
	figures := table{numbers: []bool{1: true}, rows: [][]string{
		{nameMCP, "figure"},
		{"start to first answer, initialize", fmt.Sprintf("%.1f ms", f.started)},
		{"start to first view of a file", fmt.Sprintf("%.1f ms", f.firstView)}}}
	figures.write(b)
	if f.each == 0 { // the system does not report it
		return
	}
	idle := table{numbers: []bool{1: true, 2: true}, rows: [][]string{{"idle memory", "its own", "with pages of files"}}}
	for _, i := range f.idle {
		idle.rows = append(idle.rows, []string{i.name, fmt.Sprintf("%.1f MB", i.own), fmt.Sprintf("%.1f MB", i.resident)})
	}
	idle.rows = append(idle.rows, []string{fmt.Sprintf("%s, each of %d at once, shared pages divided", nameMCP, f.shared), "", fmt.Sprintf("%.1f MB", f.each)})
	idle.write(b)
}

func callsTable(rows []row) *table {
	t := &table{numbers: []bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true},
		rows: [][]string{{"operation", "files", "callers", nameSDK, nameLibrary, "ratio", "deferred", nameCoprocess, "ratio", nameServer, "ratio"}}}
	for _, op := range operations {
		for _, r := range rows {
			if r.op != op {
				continue
			}
			cells := []string{string(op), thousands(r.files), strconv.Itoa(r.callers), rate(r.rates[nameSDK]), rate(r.rates[nameLibrary]), r.ratio(nameLibrary, nameSDK), ""}
			if !op.reads() {
				cells[6] = fmt.Sprintf("%.0f µs", r.deferred[nameLibrary])
			}
			for _, name := range []string{nameCoprocess, nameServer} {
				if r.rates[name] > 0 {
					cells = append(cells, rate(r.rates[name]), r.ratio(name, nameSDK))
				} else {
					cells = append(cells, "", "")
				}
			}
			t.rows = append(t.rows, cells)
		}
	}
	return t
}

func encryptionTable(rows []row) *table {
	t := &table{numbers: []bool{1: true, 2: true, 3: true, 4: true}, rows: [][]string{{"encryption", "callers", namePlain, nameEncrypted, "cost"}}}
	for _, r := range rows {
		t.rows = append(t.rows, []string{string(r.op), strconv.Itoa(r.callers), rate(r.rates[namePlain]), rate(r.rates[nameEncrypted]), r.ratio(namePlain, nameEncrypted)})
	}
	return t
}

func searchTable(rows []searchRow) *table {
	t := &table{numbers: []bool{3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: true, 12: true, 13: true},
		rows: [][]string{{"search", "engine", "kind", "any@1", "any@5", "any@10", "recall@10", "MRR", "nDCG@10", "MAP", "bytes to the answer", "p50", "p99", "index"}}}
	for _, r := range rows {
		f, cells := r.figures, []string{r.data, r.engine, r.kind}
		for _, mean := range []float64{f.Any1, f.Any5, f.Any10, f.Recall10, f.MRR, f.NDCG10, f.MAP} {
			cells = append(cells, strconv.FormatFloat(mean, 'f', 3, 64))
		}
		index := ""
		if r.indexBytes > 0 {
			index = fmt.Sprintf("%.1f MB", float64(r.indexBytes)/1e6)
		}
		t.rows = append(t.rows, append(cells, thousands(int(f.BytesToAnswer+0.5)), milliseconds(f.P50), milliseconds(f.P99), index))
	}
	return t
}

// largeTable has a column for each store.
func largeTable(rows []largeRow) *table {
	t := &table{rows: [][]string{
		{"large store"}, {"load"}, {"processor time of it"}, {"versions not indexed then"}, {"first search then"}, {"processor time of it"},
		{"create meanwhile, p50 / p99"}, {"search of six words meanwhile, p50 / p99"}, {"until the index has all"},
		{"questions, p50 / p90 / p99"}, {"six words, p50 / p90 / p99"}, {"three words in half of all, p50 / p99"},
		{"the same in a directory of 100, p50 / p99"}, {"view of /memories, p50 / p99"}, {"index"}}}
	t.numbers = make([]bool, 1+len(rows))
	for i, r := range rows {
		two := func(q quantiles) string { return milliseconds(q.p50) + " / " + milliseconds(q.p99) }
		three := func(q quantiles) string {
			return milliseconds(q.p50) + " / " + milliseconds(q.p90) + " / " + milliseconds(q.p99)
		}
		seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
		t.numbers[i+1] = true
		for row, cell := range []string{r.engine + ", " + thousands(r.memories), seconds(r.load), seconds(r.loadProcessor), thousands(int(r.behind)),
			milliseconds(r.first), milliseconds(r.firstProcessor), two(r.creates), two(r.searches), seconds(r.caughtUp),
			three(r.queries), three(r.random), two(r.halves), two(r.few), two(r.view), fmt.Sprintf("%.1f MB", float64(r.indexBytes)/1e6)} {
			t.rows[row] = append(t.rows[row], cell)
		}
	}
	return t
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) + " ms"
}

// ratio returns how many times the calls of the other a contender makes.
func (r row) ratio(name, other string) string { return times(r.rates[name] / r.rates[other]) }

// rate formats calls a second with about three digits.
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

// A table is rows of cells, of which the first is the head.
type table struct {
	numbers []bool // by column
	rows    [][]string
}

// write writes the table as Markdown, after an empty line, with its columns aligned
// for reading in a terminal.
func (t *table) write(b *strings.Builder) {
	widths := make([]int, len(t.rows[0]))
	for _, cells := range t.rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), len("---:"))
		}
	}
	isNumber := func(column int) bool { return column < len(t.numbers) && t.numbers[column] }
	b.WriteByte('\n')
	for i, cells := range t.rows {
		for column, cell := range cells {
			width := widths[column]
			if !isNumber(column) {
				width = -width
			}
			fmt.Fprintf(b, "| %*s ", width, cell)
		}
		b.WriteString("|\n")
		if i > 0 {
			continue
		}
		for column, width := range widths {
			rule := strings.Repeat("-", width)
			if isNumber(column) {
				rule = rule[1:] + ":"
			}
			fmt.Fprintf(b, "| %s ", rule)
		}
		b.WriteString("|\n")
	}
}
