package dirstore

import (
	"testing"

	"memento"
)

// TestDirtyState covers what can happen between acquiring the lock and releasing it.
func TestDirtyState(t *testing.T) {
	type step func(*testing.T, *dirtyState)
	load := func(mark uint64, unknown bool) step {
		return func(t *testing.T, d *dirtyState) {
			if got := d.load(mark); got != unknown {
				t.Errorf("load(%d) = %v", mark, got)
			}
		}
	}
	begin := func(newMark uint64, set bool) step {
		return func(t *testing.T, d *dirtyState) {
			if got := d.begin(newMark); got != set {
				t.Errorf("begin(%d) = %v", newMark, got)
			}
		}
	}
	do := func(do func(*dirtyState)) step { return func(_ *testing.T, d *dirtyState) { do(d) } }
	cancel := do((*dirtyState).cancel)
	end := do(func(d *dirtyState) { d.end(true) })
	endVolatile := do(func(d *dirtyState) { d.end(false) })
	stale := func(p memento.Path) step { return do(func(d *dirtyState) { d.stale[p] = struct{}{} }) }
	fresh := func(p memento.Path) step { return do(func(d *dirtyState) { delete(d.stale, p) }) }
	incomplete := func(is bool) step { return do(func(d *dirtyState) { d.scanIncomplete = is }) }

	// This process made a change with mark 1, after which /a was still stale.
	leftAThen := func(then ...step) []step {
		return append([]step{load(0, false), begin(1, true), stale("/a"), end}, then...)
	}

	for _, tt := range []struct {
		what  string
		steps []step
		mark  uint64 // at the end
		acked uint64
	}{
		{"only looked", []step{load(0, false)}, 0, 0},
		{"a change, files up to date", []step{load(0, false), begin(1, true), end}, 0, 0},
		{"two changes under one lock", []step{load(0, false), begin(1, true), begin(2, false), end}, 0, 0},
		{"one change after the other", []step{load(0, false), begin(1, true), end, begin(2, true), end}, 0, 0},
		{"a change under way", []step{load(0, false), begin(1, true)}, 1, 0},
		{"the mark could not be set", []step{load(0, false), begin(1, true), cancel}, 0, 0},

		{"another process died", []step{load(7, true)}, 7, 0},
		{"another process died, finished", []step{load(7, true), begin(1, false), end}, 0, 0},
		{"another process died, a file stays stale", []step{load(7, true), begin(1, false), stale("/a"), end}, 7, 7},
		{"another process died, a folder could not be read", []step{load(7, true), incomplete(true), begin(1, false), end}, 7, 7},
		{"another process died, found again before it was finished", []step{load(7, true), load(7, true)}, 7, 0},

		{"a file stays stale", leftAThen(), 1, 1},
		{"a file stays stale, found again", leftAThen(load(1, false)), 1, 1},
		{"a file stays stale, then is written", leftAThen(load(1, false), begin(2, true), fresh("/a"), end), 0, 0},
		{"a file stays stale, another change", leftAThen(load(1, false), begin(2, true), end), 1, 1},
		{"a file stays stale, another change under way", leftAThen(load(1, false), begin(2, true)), 2, 1},
		{"a file stays stale, another mark could not be set", leftAThen(load(1, false), begin(2, true), cancel), 1, 1},
		{"a file stays stale, and a second", leftAThen(load(1, false), begin(2, true), stale("/b"), end), 2, 2},
		{"a file stays stale, and another takes its place", leftAThen(load(1, false), begin(2, true), fresh("/a"), stale("/b"), end), 2, 2},
		{"two files stay stale, one is written", leftAThen(load(1, false), begin(2, true), stale("/b"), end, load(2, false), begin(3, true), fresh("/a"), end), 2, 2},
		{"a file stays stale, another process made a change", leftAThen(load(7, true)), 7, 1},
		{"a file stays stale, another process wrote it", leftAThen(load(0, false), fresh("/a"), end), 0, 0},
		{"a file stays stale, another process cleared the mark, it still is", leftAThen(load(0, false), begin(2, true), end), 2, 2},

		{"index not written", []step{load(0, false), begin(1, true), endVolatile}, 1, 1},
		{"index not written, then written", []step{load(0, false), begin(1, true), endVolatile, load(1, false), begin(2, true), end}, 0, 0},
		{"index not written, twice", []step{load(0, false), begin(1, true), endVolatile, load(1, false), begin(2, true), endVolatile}, 2, 2},
		{"a file stays stale, index not written", leftAThen(load(1, false), begin(2, true), endVolatile), 2, 2},
		{"a folder could not be read", []step{load(0, false), incomplete(true), begin(1, true), end}, 1, 1},
		{"a folder could not be read, then could", []step{load(0, false), incomplete(true), begin(1, true), end, load(1, false), incomplete(false), begin(2, true), end}, 0, 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			d := dirtyState{stale: map[memento.Path]struct{}{}}
			for _, step := range tt.steps {
				step(t, &d)
			}
			if d.mark != tt.mark || d.ackedMark != tt.acked {
				t.Errorf("mark %d, acknowledged %d; want %d, %d", d.mark, d.ackedMark, tt.mark, tt.acked)
			}
		})
	}
}
