package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// An operation is what a call does, as a row of the table names it.
type operation string

const (
	viewFile   operation = "view a file"
	viewDir    operation = "view /memories"
	create     operation = "create"
	strReplace operation = "str_replace"
	insert     operation = "insert"
	rename     operation = "rename"
	remove     operation = "delete"
)

// operations are in the order of the table.
var operations = []operation{viewFile, viewDir, create, strReplace, insert, rename, remove}

// reads reports whether the operation changes nothing. Then it can be replayed any number of times.
func (op operation) reads() bool { return op == viewFile || op == viewDir }

// A note is a file of the store before the first call.
type note struct {
	path string // with /memories
	text string
}

// An input is the input of one tool_use block.
type input struct {
	Command    string  `json:"command"`
	Path       string  `json:"path,omitempty"`
	FileText   *string `json:"file_text,omitempty"`
	OldStr     *string `json:"old_str,omitempty"`
	NewStr     *string `json:"new_str,omitempty"`
	InsertLine *int    `json:"insert_line,omitempty"`
	InsertText *string `json:"insert_text,omitempty"`
	OldPath    string  `json:"old_path,omitempty"`
	NewPath    string  `json:"new_path,omitempty"`
}

// A call is one line of a step's file.
type call struct {
	Caller int   `json:"caller"` // from 0
	Input  input `json:"input"`
}

// A step is a file of calls that is timed as a whole.
type step struct {
	op    operation
	timed bool // false for one that only restores the store
	calls []call
	file  string // where the calls are written; "" until then
}

// A workload is the notes of a store and one round of calls on them, which leaves the
// notes as they were. It is the same for the same arguments.
//
// The first writes and views of a round are not timed: caches are cold, and many
// disks are slower where nothing was written for a while, which would penalize a
// database that rewrites its log in place.
//
// No two callers change the same file: the SDK's tool loses one of two concurrent
// edits, after which the next str_replace would find nothing to replace.
type workload struct {
	callers int
	notes   []note
	round   []step
}

// counts are the numbers of calls of one step, summed over all callers.
type counts struct {
	views  int
	dirs   int
	writes int
}

func newWorkload(seed uint64, size, callers int, n counts) (*workload, error) {
	if size < callers {
		return nil, fmt.Errorf("a store of %d files is too small for %d callers: each needs a file of its own", size, callers)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(size)<<16|uint64(callers)))
	w := &workload{callers: callers, notes: make([]note, size)}
	for i := range w.notes {
		name := fmt.Sprintf("note-%05d", i)
		w.notes[i] = note{fmt.Sprintf("%s/%s.md", directory(size, i), name), newNote(rng, name)}
	}
	w.addCreateAndDelete(rng, "warm-up", false, n.writes/callers)
	w.addFileViews(rng, false, n.views/callers)
	w.addFileViews(rng, true, n.views/callers)
	w.addDirViews(max(1, n.dirs/callers))
	w.addCreateAndDelete(rng, "fresh", true, n.writes/callers)
	w.addStrReplace(rng, n.writes/callers)
	w.addInsert(rng, n.writes/callers)
	w.addRename(rng, n.writes/callers)
	return w, nil
}

// directories returns the number of directories in a store of the size: 4, 20 and
// 100 for the three default sizes.
func directories(size int) int {
	switch {
	case size < 200:
		return min(4, size)
	case size < 5000:
		return 20
	}
	return 100
}

func directory(size, i int) string {
	return fmt.Sprintf("/memories/topic-%02d", i%directories(size))
}

// add appends a step. inputs returns the calls of one caller.
func (w *workload) add(op operation, timed bool, inputs func(caller int) []input) {
	s := step{op: op, timed: timed}
	for caller := range w.callers {
		for _, in := range inputs(caller) {
			s.calls = append(s.calls, call{caller, in})
		}
	}
	w.round = append(w.round, s)
}

func (w *workload) addFileViews(rng *rand.Rand, timed bool, n int) {
	w.add(viewFile, timed, func(int) []input {
		return repeat(n, func(int) input {
			return input{Command: "view", Path: w.notes[rng.IntN(len(w.notes))].path}
		})
	})
}

func (w *workload) addDirViews(n int) {
	w.add(viewDir, true, func(int) []input {
		return repeat(n, func(int) input { return input{Command: "view", Path: "/memories"} })
	})
}

func (w *workload) addCreateAndDelete(rng *rand.Rand, prefix string, timed bool, n int) {
	fresh := make([][]string, w.callers)
	w.add(create, timed, func(caller int) []input {
		return repeat(n, func(i int) input {
			name := fmt.Sprintf("%s-%02d-%04d", prefix, caller, i)
			path := fmt.Sprintf("%s/%s.md", directory(len(w.notes), rng.IntN(len(w.notes))), name)
			fresh[caller] = append(fresh[caller], path)
			text := newNote(rng, name)
			return input{Command: "create", Path: path, FileText: &text}
		})
	})
	w.add(remove, timed, func(caller int) []input {
		rng.Shuffle(n, func(i, j int) { fresh[caller][i], fresh[caller][j] = fresh[caller][j], fresh[caller][i] })
		return repeat(n, func(i int) input { return input{Command: "delete", Path: fresh[caller][i]} })
	})
}

func (w *workload) addStrReplace(rng *rand.Rand, n int) {
	pending, done := statePending, stateDone
	w.add(strReplace, true, func(caller int) []input {
		return w.thereAndBack(rng, caller, n,
			func(f note) input {
				return input{Command: "str_replace", Path: f.path, OldStr: &pending, NewStr: &done}
			},
			func(f note) input {
				return input{Command: "str_replace", Path: f.path, OldStr: &done, NewStr: &pending}
			})
	})
}

func (w *workload) addRename(rng *rand.Rand, n int) {
	// To another directory: its own turn in the list, so that only this caller uses the name.
	moved := map[string]string{}
	for i, f := range w.notes {
		moved[f.path] = fmt.Sprintf("%s/moved-%05d.md", directory(len(w.notes), i+1), i)
	}
	w.add(rename, true, func(caller int) []input {
		return w.thereAndBack(rng, caller, n,
			func(f note) input { return input{Command: "rename", OldPath: f.path, NewPath: moved[f.path]} },
			func(f note) input { return input{Command: "rename", OldPath: moved[f.path], NewPath: f.path} })
	})
}

func (w *workload) addInsert(rng *rand.Rand, n int) {
	touched := make([][]note, w.callers)
	w.add(insert, true, func(caller int) []input {
		own := w.own(rng, caller)
		touched[caller] = own[:min(n, len(own))]
		return repeat(n, func(i int) input {
			line, text := rng.IntN(noteLines), "- "+sentence(rng)+"\n"
			return input{Command: "insert", Path: own[i%len(own)].path, InsertLine: &line, InsertText: &text}
		})
	})
	w.add(remove, false, func(caller int) []input {
		return repeat(len(touched[caller]), func(i int) input {
			return input{Command: "delete", Path: touched[caller][i].path}
		})
	})
	w.add(create, false, func(caller int) []input {
		return repeat(len(touched[caller]), func(i int) input {
			return input{Command: "create", Path: touched[caller][i].path, FileText: &touched[caller][i].text}
		})
	})
}

// own returns the notes that only this caller changes, in random order.
func (w *workload) own(rng *rand.Rand, caller int) []note {
	var own []note
	for i := caller; i < len(w.notes); i += w.callers {
		own = append(own, w.notes[i])
	}
	rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	return own
}

// thereAndBack returns n calls, or one fewer, that change the caller's notes and change them back.
func (w *workload) thereAndBack(rng *rand.Rand, caller, n int, there, back func(note) input) []input {
	var calls []input
	own := w.own(rng, caller)
	for left := n / 2; left > 0; left -= len(own) {
		own = own[:min(left, len(own))]
		for _, f := range own {
			calls = append(calls, there(f))
		}
		for _, f := range own {
			calls = append(calls, back(f))
		}
	}
	return calls
}

func repeat(n int, one func(i int) input) []input {
	calls := make([]input, n)
	for i := range calls {
		calls[i] = one(i)
	}
	return calls
}

// write writes each step's calls to a file in dir, as JSON Lines.
func (w *workload) write(dir string) error {
	for i := range w.round {
		s := &w.round[i]
		s.file = filepath.Join(dir, fmt.Sprintf("%d-files-%d-callers-%d-%s.jsonl", len(w.notes), w.callers, i, s.calls[0].Input.Command))
		if err := s.write(); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) write() error {
	f, err := os.Create(s.file)
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, c := range s.calls {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// readCalls returns the raw inputs of a step's file, by caller.
func readCalls(file string) ([][][]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var calls [][][]byte
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var c struct {
			Caller int             `json:"caller"`
			Input  json.RawMessage `json:"input"`
		}
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for len(calls) <= c.Caller {
			calls = append(calls, nil)
		}
		calls[c.Caller] = append(calls[c.Caller], slices.Clone(c.Input))
	}
	return calls, nil
}
