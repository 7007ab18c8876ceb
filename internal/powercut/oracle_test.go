//go:build linux

package powercut

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"memento"
)

// An oracle knows, from what writers tell, what a store may have after a cut.
type oracle struct {
	files  files                     // as acknowledged
	stores map[string]bool           // likewise
	open   map[int]operation         // by writer: those of which nobody knows whether they have happened
	made   map[int][]effect          // by writer: versions that were acknowledged since the last look
	lines  map[string]int            // of shared logs, by store and line: how often, as acknowledged
	logged int                       // versions of shared logs that were acknowledged since the last look
	seq    map[memento.StoreID]int64 // as of the last look
	acked  int                       // operations in all
}

func newOracle() *oracle {
	return &oracle{
		files: files{}, stores: map[string]bool{}, open: map[int]operation{}, made: map[int][]effect{},
		lines: map[string]int{}, seq: map[memento.StoreID]int64{},
	}
}

// begins notes an operation that may happen from now on.
func (o *oracle) begins(op operation) { o.open[op.Writer] = op }

// done notes an operation that was acknowledged.
func (o *oracle) done(writer int) {
	op := o.open[writer]
	delete(o.open, writer)
	o.acked++
	o.settle(op)
}

// settle takes an operation for done.
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

// look compares what was found with what may be there, and then takes it for what
// is there. It returns what does not agree.
func (o *oracle) look(f *found) (wrong []string) {
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
	// Lines of logs first: whether an open one is there decides what else to expect.
	o.lookAtLogs(f, complain)
	for w := range writers + 2 {
		o.lookAtWriter(f, w, made[w], complain)
	}
	if logged != o.logged {
		complain("the shared logs have %d new versions, want %d", logged, o.logged)
	}
	for key, text := range f.Files {
		_, path, _ := strings.Cut(key, ":")
		if w := writerOf(path); path != sharedLog && (w < 0 || w > catalogueWriter) {
			complain("%s is nobody's: %q", key, text)
		}
	}
	o.lookAtStores(f, complain)
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

// lookAtLogs compares the lines of shared logs.
func (o *oracle) lookAtLogs(f *found, complain func(string, ...any)) {
	got := map[string]int{}
	for key, text := range f.Files {
		if store, path, _ := strings.Cut(key, ":"); path == sharedLog {
			for line := range strings.Lines(text) {
				got[store+":"+strings.TrimSuffix(line, "\n")]++
			}
		}
	}
	for w, op := range o.open {
		if op.Kind == opLog {
			if got[op.Store+":"+op.Text] > 0 {
				o.settle(op)
			}
			delete(o.open, w)
		}
	}
	for line, n := range o.lines {
		if got[line] != n {
			complain("line %q was acknowledged, and is there %d times", line, got[line])
		}
	}
	for line, n := range got {
		if o.lines[line] == 0 {
			complain("line %q is there %d times, and was never written", line, n)
		}
	}
}

// lookAtWriter compares what one writer has: its operation under way, if there is
// one, is there wholly or not at all, in the memories and in the history.
func (o *oracle) lookAtWriter(f *found, w int, made map[effect]int, complain func(string, ...any)) {
	got, without := f.Files.ofWriter(w), o.files.ofWriter(w)
	fits := func(want files, effects []effect) bool {
		if !maps.Equal(got, want) {
			return false
		}
		if w == catalogueWriter {
			return true // the history went with its stores
		}
		count := map[effect]int{}
		for _, e := range effects {
			count[e]++
		}
		return maps.Equal(count, made)
	}
	if fits(without, o.made[w]) {
		return
	}
	op, open := o.open[w]
	if open {
		with := maps.Clone(without)
		effects := op.apply(with)
		if fits(with, slices.Concat(o.made[w], effects)) {
			o.settle(op)
			delete(o.open, w)
			return
		}
	}
	complain("writer %d, under way: %t %+v", w, open, op)
	for key, text := range got {
		if want, there := without[key]; !there {
			complain("writer %d: %s is there, and was not acknowledged, or was deleted: %q", w, key, text)
		} else if want != text {
			complain("writer %d: %s is %q, acknowledged was %q", w, key, text, want)
		}
	}
	for key := range without {
		if _, there := got[key]; !there {
			complain("writer %d: %s was acknowledged, and is lost", w, key)
		}
	}
	if w != catalogueWriter {
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
}

// lookAtStores compares which stores there are.
func (o *oracle) lookAtStores(f *found, complain func(string, ...any)) {
	uncertain := map[string]bool{}
	for _, op := range o.open {
		uncertain[op.Store] = true
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
