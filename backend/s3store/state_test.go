package s3store

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"memento"
)

// However many memories a record changes, the paths are in order afterwards.
func TestStatePaths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 18))
	s := newState()
	seq := int64(0)
	for n := range 400 {
		r := &record{N: int64(n) + 1}
		used := map[memento.Path]bool{}
		for _, h := range s.paths {
			used[h.memory.Path] = true
		}
		free := func() memento.Path {
			for {
				if p := memento.Path(fmt.Sprintf("/%03d", random.IntN(900))); !used[p] {
					used[p] = true
					return p
				}
			}
		}
		add := func(id memento.MemoryID, path memento.Path, deleted bool) {
			seq++
			v := &version{ID: memento.VersionID(fmt.Sprint("v", seq)), Seq: seq, Memory: id, Path: path, Created: 1, At: stamp(seq), Ref: &ref{N: r.N}}
			if deleted {
				v.Created, v.Ref = 0, nil
			}
			r.Versions = append(r.Versions, v)
		}
		left := slices.Clone(s.paths)
		random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		for range 1 + random.IntN(30)/(1+3*random.IntN(2)) {
			if len(left) == 0 || random.IntN(3) == 0 {
				add(memento.MemoryID(fmt.Sprint("m", seq+1)), free(), false)
				continue
			}
			h := left[0]
			left = left[1:]
			switch random.IntN(4) {
			case 0:
				add(h.memory.ID, h.memory.Path, true)
			case 1:
				add(h.memory.ID, h.memory.Path, false)
			case 2: // twice
				add(h.memory.ID, free(), false)
				add(h.memory.ID, free(), false)
			case 3: // two change places
				if len(left) == 0 {
					continue
				}
				add(h.memory.ID, left[0].memory.Path, false)
				add(left[0].memory.ID, h.memory.Path, false)
				left = left[1:]
			}
		}
		s.apply(r, false)
		want := slices.SortedFunc(maps.Values(s.byID), func(a, b *indexEntry) int { return cmp.Compare(a.memory.Path, b.memory.Path) })
		if !slices.Equal(s.paths, want) {
			t.Fatalf("after record %d, with %d versions, the paths are not those of the memories in order", r.N, len(r.Versions))
		}
	}
}

// A log that began before the index was checked has what was written meanwhile.
func TestChangeLogFill(t *testing.T) {
	s := newState()
	add := func(seq int64, id memento.MemoryID) {
		s.apply(&record{N: seq, Versions: []*version{
			{ID: memento.VersionID(fmt.Sprint("v", seq)), Seq: seq, Memory: id, Path: memento.Path("/" + id), Created: 1, At: 1, Ref: &ref{N: seq}},
		}}, false)
	}
	for seq := range int64(4) {
		add(seq+1, memento.MemoryID(fmt.Sprint("m", seq+1)))
	}
	log := newChangeLog(s)
	memories := slices.Clone(s.paths)
	add(5, "m2")
	add(6, "m6")
	log.fill(memories, 2) // the index has m1 and m2
	var got []string
	for _, e := range log.entries {
		got = append(got, fmt.Sprint(e.Memory, " ", e.Seq, " ", e.First))
	}
	if want := []string{"m3 3 true", "m4 4 true", "m2 5 false", "m6 6 true"}; !slices.Equal(got, want) || log.from != 2 {
		t.Errorf("the log has %q after %d, want %q", got, log.from, want)
	}
}
