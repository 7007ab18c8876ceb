package main

import (
	"fmt"
	"strconv"
)

// A besideRow is one operation of an engine, beside what the medium itself can do.
type besideRow struct {
	Operation operation `json:"operation"`
	Callers   int       `json:"callers"`
	Beside    string    `json:"beside"`
	Other     float64   `json:"other_per_second"`
	Memento   float64   `json:"memento_per_second"`
	Target    float64   `json:"target"` // times the other's calls, at least; 0 if nothing is set
}

func (r besideRow) ratio() float64 { return r.Memento / r.Other }

// besideFigures are an engine's.
type besideFigures struct {
	Medium string      `json:"medium"` // with what makes it fast or slow
	Rows   []besideRow `json:"rows"`
}

func (f *besideFigures) table(name string) table {
	t := table{
		head:  []string{name, "callers", "beside", "it", "memento", "ratio", "target", ""},
		right: []bool{1: true, 3: true, 4: true, 5: true, 6: true, 7: false},
	}
	for _, r := range f.Rows {
		cells := []string{string(r.Operation), strconv.Itoa(r.Callers), r.Beside, rate(r.Other), rate(r.Memento), times(r.ratio()), "", ""}
		if r.Target > 0 {
			cells[6], cells[7] = fmt.Sprintf("%gx", r.Target), verdict(r.ratio() >= r.Target)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// targetEncryption is how many times dearer a call may be with encryption.
const targetEncryption = 1.25

// A sealedRow is what encryption costs one operation.
type sealedRow struct {
	Engine    engineName `json:"engine"`
	Operation operation  `json:"operation"`
	Callers   int        `json:"callers"`
	Clear     float64    `json:"clear_per_second"`
	Sealed    float64    `json:"sealed_per_second"`
}

func (r sealedRow) cost() float64 { return r.Clear / r.Sealed }

func sealedTable(rows []sealedRow) table {
	t := table{
		head:  []string{"encryption", "callers", "engine", "in clear", "encrypted", "cost", "target", ""},
		right: []bool{1: true, 3: true, 4: true, 5: true, 6: true, 7: false},
	}
	for _, r := range rows {
		cells := []string{string(r.Operation), strconv.Itoa(r.Callers), string(r.Engine), rate(r.Clear), rate(r.Sealed), times(r.cost()), "", ""}
		if r.Operation != remove {
			cells[6], cells[7] = fmt.Sprintf("%gx", targetEncryption), verdict(r.cost() <= targetEncryption)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// tables returns one for stores and one for workspaces, with a column for each engine.
func (f *flatness) tables() []table {
	return []table{
		f.table(ofMemories, fmt.Sprintf("a store of %s memories against one of %s", thousands(f.Memories[1]), thousands(f.Memories[0]))),
		f.table(ofStores, fmt.Sprintf("a workspace of %s stores against one of %s", thousands(f.Stores[1]), thousands(f.Stores[0]))),
	}
}

func (f *flatness) table(of, title string) table {
	t := table{head: []string{title}}
	lines := map[operation]int{}
	column := map[engineName]int{}
	for _, c := range f.Calls {
		if c.Of != of {
			continue
		}
		if column[c.Engine] == 0 {
			column[c.Engine] = len(t.head)
			t.head = append(t.head, string(c.Engine))
		}
		if _, seen := lines[c.Operation]; !seen {
			lines[c.Operation] = len(t.rows)
			t.rows = append(t.rows, []string{string(c.Operation)})
		}
	}
	for i := range t.rows {
		t.rows[i] = append(t.rows[i], make([]string, len(t.head)-1)...)
	}
	for _, c := range f.Calls {
		if c.Of == of {
			t.rows[lines[c.Operation]][column[c.Engine]] = c.cell()
		}
	}
	return t
}

func (c flatCall) cell() string {
	cell := fmt.Sprintf("%s → %s, %s", micros(c.Small), micros(c.Large), times(c.ratio()))
	if !c.free() && c.ratio() > targetFlat {
		cell += " short"
	}
	return cell
}

// micros writes a time with about three digits.
func micros(m float64) string {
	if m >= 10_000 {
		return fmt.Sprintf("%.1f ms", m/1000)
	}
	return fmt.Sprintf("%.0f µs", m)
}
