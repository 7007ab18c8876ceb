package main

import (
	"context"
	"encoding/json"
	"fmt"

	"memento"
)

// teamSize is the number of callers of those comparisons that are about servers.
const teamSize = 16

// teamNotes is the number of notes in each store of a team.
const teamNotes = 20

// A team is callers with a store each, in one backend.
type team struct {
	tools []*memento.Tool
	notes []note   // that each store holds
	views [][]byte // a call for each note
	there [][]byte // a call for each note
	back  [][]byte
	text  []byte // of new notes, as JSON, without the first quote

	edits []int // calls of str_replace so far, by caller
	made  []int // notes made so far, by caller
}

// screenedToo ends the name of an operation whose contents are searched for secrets, as
// they are by default. What they are compared with does not do so.
const screenedToo = ", screened"

// newTeams makes two teams. What the second one writes is searched for secrets.
func newTeams(ctx context.Context, backend memento.Backend, seed uint64) (plain, screened *team, err error) {
	if plain, err = newTeam(ctx, backend, seed, false); err == nil {
		screened, err = newTeam(ctx, backend, seed, true)
	}
	return plain, screened, err
}

// newTeam makes the stores, and fills them. With screened, what is written to them is
// searched for secrets.
func newTeam(ctx context.Context, backend memento.Backend, seed uint64, screened bool) (*team, error) {
	w, err := newWorkload(seed, teamNotes, 1, counts{})
	if err != nil {
		return nil, err
	}
	t := &team{notes: w.notes, edits: make([]int, teamSize), made: make([]int, teamSize)}
	text, err := json.Marshal(w.notes[0].text)
	if err != nil {
		return nil, err
	}
	t.text = text[1:]
	for _, n := range w.notes {
		t.views = append(t.views, viewLine(n.path))
		t.there = append(t.there, replaceLine(n.path, statePending, stateDone))
		t.back = append(t.back, replaceLine(n.path, stateDone, statePending))
	}
	settings := memento.DefaultSettings()
	if !screened {
		settings.Sensitive.Mode = memento.Off
	}
	for i := range teamSize {
		store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{
			Name:     fmt.Sprintf("caller %d, screened %t", i, screened),
			Limits:   memento.Limits{Memories: 1_000_000, Bytes: 10 << 30}, // for what the callers create
			Settings: &settings,
		}, &memento.StoreOptions{Detector: detector()})
		if err := fill(ctx, store, w.notes); err != nil {
			return nil, err
		}
		t.tools = append(t.tools, memento.NewTool(store, nil))
	}
	return t, nil
}

func (t *team) run(ctx context.Context, caller int, in []byte) error {
	if r := t.tools[caller].Run(ctx, in); r.IsError {
		return fmt.Errorf("memento refused %.200s: %s", in, r.Content)
	}
	return nil
}

func (t *team) view(ctx context.Context, caller, i int) error {
	return t.run(ctx, caller, t.views[i%len(t.views)])
}

// strReplace changes all notes, one after the other, and then all back.
func (t *team) strReplace(ctx context.Context, caller, _ int) error {
	i := t.edits[caller]
	t.edits[caller]++
	calls := t.there
	if i/len(t.there)%2 == 1 {
		calls = t.back
	}
	return t.run(ctx, caller, calls[i%len(calls)])
}

// create makes a note of some 2 KB, unlike any other.
func (t *team) create(ctx context.Context, caller, _ int) error {
	i := t.made[caller]
	t.made[caller]++
	in := fmt.Appendf(nil, `{"command":"create","path":"/memories/fresh-%03d/note-%06d.md","file_text":"Note %d of caller %d. `, i/100, i, i, caller)
	return t.run(ctx, caller, append(append(in, t.text...), '}'))
}
