//go:build linux

package powercut

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"memento"
)

// An oracle derives from the reports of writers which contents a store may have after a
// cut.
type oracle struct {
	files  files                     // as acknowledged
	stores map[string]bool           // likewise
	open   map[int][]operation       // by writer: operations whose outcome is unknown; some of the first have happened
	made   map[int][]effect          // by writer: versions that were acknowledged since the last inspection
	lines  map[string]int            // of shared logs, by store and line: how often, as acknowledged
	logged int                       // versions of shared logs that were acknowledged since the last inspection
	seq    map[memento.StoreID]int64 // as of the last inspection
	acked  int                       // operations in all
}

func newOracle() *oracle {
	return &oracle{
		files: files{}, stores: map[string]bool{}, open: map[int][]operation{}, made: map[int][]effect{},
		lines: map[string]int{}, seq: map[memento.StoreID]int64{},
	}
}

func (o *oracle) clone() *oracle {
	return &oracle{
		files: maps.Clone(o.files), stores: maps.Clone(o.stores), open: maps.Clone(o.open), made: maps.Clone(o.made),
		lines: maps.Clone(o.lines), logged: o.logged, seq: maps.Clone(o.seq), acked: o.acked,
	}
}

// begins records an operation that may happen from now on.
func (o *oracle) begins(op operation) { o.open[op.Writer] = append(o.open[op.Writer], op) }

// done records that the oldest open operation of a writer was acknowledged.
func (o *oracle) done(writer int) {
	op := o.open[writer][0]
	o.open[writer] = o.open[writer][1:]
	o.acked++
	o.settle(op)
}

// settle records that an operation has happened.
func (o *oracle) settle(op operation) {
	switch op.Kind {
	case opLog:
		o.lines[op.Store+":"+op.Text]++
		o.logged++
	case opDeleteStore:
		delete(o.stores, op.Store)
		op.apply(o.files)
		return
	default:
		o.made[op.Writer] = append(o.made[op.Writer], op.apply(o.files)...)
	}
	o.stores[op.Store] = true
}

// inspect compares the contents found with those that are possible, and adopts them. It
// returns the differences.
func (o *oracle) inspect(f *found) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, p := range f.Problems {
		complain("%s", p)
	}
	names := map[memento.StoreID]string{}
	for name, id := range f.Stores {
		names[id] = name
	}
	made := map[int]map[effect]int{}
	logged := 0
	for _, v := range f.Versions {
		if v.By != actorID {
			complain("version %d of %s was made by %q: %s %s", v.Seq, names[v.Store], v.By, v.Operation, v.Path)
		}
		o.seq[v.Store] = max(o.seq[v.Store], v.Seq)
		if v.Path == sharedLog {
			logged++
			continue
		}
		w := writerOf(v.Path)
		if made[w] == nil {
			made[w] = map[effect]int{}
		}
		made[w][effect{names[v.Store], v.Path, v.SHA256}]++
	}
	lines := logLines(f)
	for w := range writers + 2 {
		o.inspectWriter(f, w, made[w], lines, complain)
	}
	for line, n := range o.lines {
		if lines[line] != n {
			complain("line %q was acknowledged, and is there %d times", line, lines[line])
		}
	}
	for line, n := range lines {
		if o.lines[line] == 0 {
			complain("line %q is there %d times, and was never written", line, n)
		}
	}
	if logged != o.logged {
		complain("the shared logs have %d new versions, want %d", logged, o.logged)
	}
	for key, text := range f.Files {
		_, path, _ := strings.Cut(key, ":")
		if w := writerOf(path); path != sharedLog && (w < 0 || w > catalogueWriter) {
			complain("%s belongs to no writer: %q", key, text)
		}
	}
	o.inspectStores(f, complain)
	o.logged = 0
	clear(o.made)
	clear(o.open)
	return wrong
}

func writerOf(path string) int {
	w := -1
	if _, err := fmt.Sscanf(path, "/w%d/", &w); err != nil {
		return -1
	}
	return w
}

// logLines counts the lines of shared logs, by store and line.
func logLines(f *found) map[string]int {
	lines := map[string]int{}
	for key, text := range f.Files {
		if store, path, _ := strings.Cut(key, ":"); path == sharedLog {
			for line := range strings.Lines(text) {
				lines[store+":"+strings.TrimSuffix(line, "\n")]++
			}
		}
	}
	return lines
}

// inspectWriter compares the files of one writer. Some of its open operations may have
// happened, the first ones, each wholly: in the memories and in the history.
func (o *oracle) inspectWriter(f *found, w int, made map[effect]int, lines map[string]int, complain func(string, ...any)) {
	got, want := f.Files.ofWriter(w), o.files.ofWriter(w)
	effects := slices.Clone(o.made[w])
	open := o.open[w]
	for n := 0; ; n++ {
		if maps.Equal(got, want) && logged(open[:n], open[n:], lines) && (w == catalogueWriter || sameEffects(effects, made)) {
			for _, op := range open[:n] {
				o.settle(op)
			}
			o.open[w] = open[n:]
			return
		}
		if n == len(open) {
			break
		}
		effects = append(effects, open[n].apply(want)...)
	}
	complain("writer %d: what is there is not what was acknowledged, with none or some of %+v", w, open)
	o.explain(w, got, made, complain)
}

// logged reports whether the lines of operations that have happened are there, and none
// of the others.
func logged(happened, not []operation, lines map[string]int) bool {
	for _, op := range happened {
		if op.Kind == opLog && lines[op.Store+":"+op.Text] == 0 {
			return false
		}
	}
	return !slices.ContainsFunc(not, func(op operation) bool { return op.Kind == opLog && lines[op.Store+":"+op.Text] > 0 })
}

// sameEffects compares versions without their order. A deleted store
// has no history, so those of the writer that deletes stores are not compared.
func sameEffects(want []effect, made map[effect]int) bool {
	count := map[effect]int{}
	for _, e := range want {
		count[e]++
	}
	return maps.Equal(count, made)
}

// explain reports how the contents found differ from the acknowledged operations.
func (o *oracle) explain(w int, got files, made map[effect]int, complain func(string, ...any)) {
	want := o.files.ofWriter(w)
	for key, text := range got {
		if acknowledged, there := want[key]; !there {
			complain("writer %d: %s is there, and was not acknowledged, or was deleted: %q", w, key, text)
		} else if acknowledged != text {
			complain("writer %d: %s is %q, acknowledged was %q", w, key, text, acknowledged)
		}
	}
	for key := range want {
		if _, there := got[key]; !there {
			complain("writer %d: %s was acknowledged, and is lost", w, key)
		}
	}
	if w == catalogueWriter {
		return
	}
	for e, n := range made {
		if !slices.Contains(o.made[w], e) {
			complain("writer %d: version %+v is there %d times, and was not acknowledged", w, e, n)
		}
	}
	for _, e := range o.made[w] {
		if made[e] == 0 {
			complain("writer %d: version %+v was acknowledged, and is lost", w, e)
		}
	}
}

// inspectStores compares which stores exist.
func (o *oracle) inspectStores(f *found, complain func(string, ...any)) {
	uncertain := map[string]bool{}
	for _, ops := range o.open {
		for _, op := range ops {
			uncertain[op.Store] = true
		}
	}
	for name := range o.stores {
		if f.Stores[name] == "" {
			if !uncertain[name] {
				complain("store %q was acknowledged, and is lost", name)
			}
			delete(o.stores, name)
		}
	}
	for name := range f.Stores {
		if !o.stores[name] && !uncertain[name] {
			complain("store %q is there, and was not acknowledged, or was deleted", name)
		}
		o.stores[name] = true
	}
}
