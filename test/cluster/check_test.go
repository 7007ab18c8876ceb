package cluster

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"memento"
)

// A verdict is what is wrong with a recording.
type verdict struct {
	problems []string
	illegal  map[int]porcupine.LinearizationInfo // arenas whose histories are not linearizable
	happened int                                 // number of calls with unknown outcome that took effect
}

func (v *verdict) add(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// evidence is everything that is known at the end.
type evidence struct {
	records  []record
	versions []memento.Version     // of the store, oldest first
	final    map[int]arena         // as all servers show them
	readAt   time.Duration         // when they were read, after all calls
	others   func(id string) bool  // whether versions with this actor ID do not belong to a call
	limit    time.Duration         // for checking each arena's history
	groups   map[int]*versionGroup // by call; filled in by check
}

// A versionGroup has the versions that one call has written.
type versionGroup struct {
	op       int
	versions []memento.Version
}

// check returns what is wrong.
func (e *evidence) check() *verdict {
	v := &verdict{illegal: map[int]porcupine.LinearizationInfo{}}
	calls := map[int]record{}
	for _, r := range e.records {
		calls[r.Op.ID] = r
	}
	order := e.group(v, calls)
	e.replay(v, calls, order)
	e.acknowledged(v)
	e.inOrder(v, calls, order)
	e.linearizable(v)
	return v
}

// group finds out which call made which versions, in order.
func (e *evidence) group(v *verdict, calls map[int]record) (order []*versionGroup) {
	e.groups = map[int]*versionGroup{}
	var last *versionGroup
	for _, x := range e.versions {
		var id int
		if _, err := fmt.Sscanf(x.CreatedBy.ID, "op-%d", &id); err != nil || x.CreatedBy.Kind != memento.ActorSession {
			if !e.others(x.CreatedBy.ID) {
				v.add("version %s of %s is by %+v, who made no call", x.ID, x.Path, x.CreatedBy)
			}
			last = nil
			continue
		}
		if last != nil && last.op == id {
			last.versions = append(last.versions, x)
			continue
		}
		last = &versionGroup{op: id, versions: []memento.Version{x}}
		order = append(order, last)
		r, known := calls[id]
		switch {
		case !known:
			v.add("version %s of %s is of call %d, which nobody made", x.ID, x.Path, id)
		case e.groups[id] != nil:
			v.add("it took effect twice, or not as one: %v", r)
		case r.Fate == failed:
			v.add("it took effect, and was said not to: %v", r)
		case r.Fate == done && r.Result.Refused != "":
			v.add("it took effect, and was refused: %v", r)
		case r.Fate == unknown:
			v.happened++
		}
		if e.groups[id] == nil {
			e.groups[id] = last
		}
	}
	return order
}

// replay applies the history to the model. It compares the versions with what each call
// should have written, and the end with the actual state.
func (e *evidence) replay(v *verdict, calls map[int]record, order []*versionGroup) {
	states := map[int]arena{}
	for _, g := range order {
		r, known := calls[g.op]
		if !known {
			continue
		}
		before := states[r.Op.Arena]
		after, answer := r.Op.step(before)
		if answer.Refused != "" {
			v.add("by the history it took effect where it should be refused (%s): %v", answer.Refused, r)
		}
		if want, got := wantVersions(r.Op, before, after), gotVersions(g); !slices.Equal(want, got) {
			v.add("it wrote %v where it should write %v: %v", got, want, r)
		}
		states[r.Op.Arena] = after
	}
	maps.DeleteFunc(states, func(_ int, s arena) bool { return s == arena{} })
	for n, want := range states {
		if got := e.final[n]; got != want {
			v.add("arena %d holds %q; by the history it should hold %q", n, got, want)
		}
	}
	for n, got := range e.final {
		if _, ok := states[n]; !ok && got != (arena{}) {
			v.add("arena %d holds %q; by the history it should be empty", n, got)
		}
	}
}

// wantVersions returns the versions that a call should make, as texts, in order.
func wantVersions(o op, before, after arena) (want []string) {
	for cell := range after {
		at := cellPath(o.Arena, cell)
		switch {
		case after[cell] != before[cell] && after[cell] != "":
			want = append(want, fmt.Sprintf("%s %.8s", at, memento.HashContent(lengthen(after[cell]))))
		case after[cell] == "" && before[cell] != "" && strings.HasPrefix(o.Kind, "remove"):
			want = append(want, fmt.Sprintf("%s deleted", at))
		}
	}
	slices.Sort(want)
	return want
}

func gotVersions(g *versionGroup) (got []string) {
	for _, x := range g.versions {
		if x.Operation == memento.Deleted {
			got = append(got, fmt.Sprintf("%s deleted", x.Path))
		} else {
			got = append(got, fmt.Sprintf("%s %.8s", x.Path, x.SHA256))
		}
	}
	slices.Sort(got)
	return got
}

// acknowledged checks that no acknowledged write is lost.
func (e *evidence) acknowledged(v *verdict) {
	for _, r := range e.records {
		if r.Fate != done || r.Op.reads() || r.Result.Refused != "" {
			continue
		}
		g := e.groups[r.Op.ID]
		if g == nil {
			v.add("it was acknowledged, and is lost: %v", r)
			continue
		}
		for _, id := range r.Versions {
			if !slices.ContainsFunc(g.versions, func(x memento.Version) bool { return string(x.ID) == id }) {
				v.add("version %s was acknowledged, and is lost: %v", id, r)
			}
		}
	}
}

// inOrder checks that a call made after another one was acknowledged is after it in the
// history, across all arenas.
func (e *evidence) inOrder(v *verdict, calls map[int]record, order []*versionGroup) {
	var first *record // of the following ones, the one that returned first
	for _, g := range slices.Backward(order) {
		r, known := calls[g.op]
		if !known {
			continue
		}
		if first != nil && first.Return < r.Call {
			v.add("the history has it after what was called later, %v: %v", r, *first)
		}
		if r.Fate == done && (first == nil || r.Return < first.Return) {
			first = &r
		}
	}
}

// linearizable checks each arena's history. The outcome of calls for which it is unknown
// is taken from the history of versions, which was read after all calls: a call that is
// not in it took effect later, if ever, and nobody saw it.
func (e *evidence) linearizable(v *verdict) {
	histories := map[int][]porcupine.Operation{}
	for _, r := range e.records {
		o := porcupine.Operation{ClientId: r.Client, Input: r.Op, Output: r.Result, Call: r.Call.Nanoseconds(), Return: r.Return.Nanoseconds()}
		if r.Fate != done {
			if r.Op.reads() || e.groups[r.Op.ID] == nil {
				continue
			}
			o.Output, o.Return = result{}, math.MaxInt64
		}
		histories[r.Op.Arena] = append(histories[r.Op.Arena], o)
	}
	for n := range histories {
		histories[n] = append(histories[n], porcupine.Operation{
			Input: op{Kind: "list", Arena: n}, Output: result{Cells: e.final[n]},
			Call: e.readAt.Nanoseconds(), Return: e.readAt.Nanoseconds(),
		})
	}
	const enough = 3 // illegal histories to report: each takes a search through all orders
	for _, n := range slices.Sorted(maps.Keys(histories)) {
		if len(v.illegal) == enough {
			v.add("the histories from arena %d on were not looked at", n)
			return
		}
		got, info := porcupine.CheckOperationsVerbose(model, histories[n], e.limit)
		if got != porcupine.Ok {
			v.add("the history of arena %d, of %d calls, is not linearizable: %s", n, len(histories[n]), got)
			v.illegal[n] = info
		}
	}
}

// model is the arena for porcupine.
var model = porcupine.Model{
	Init: func() any { return arena{} },
	Step: func(state, input, output any) (bool, any) {
		next, want := input.(op).step(state.(arena))
		return want == output.(result), next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v: %+v", input, output) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%q", state) },
}
