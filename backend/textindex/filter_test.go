package textindex

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
)

// An inspected index counts what searches look up.
type inspected struct {
	texts
	seqs             map[string]int64 // by path
	parts            []Part
	contents, asked  int
	paths            int // that were read
	made             func(seq int64) (time.Time, memento.Actor)
	withoutCondition bool
}

// newInspected returns memories of which few are below /few/rare.
func newInspected(t *testing.T, n int) *inspected {
	x := &inspected{texts: texts{}, seqs: map[string]int64{}}
	recent, stored := NewRecent(), NewRecent()
	for i := range n {
		dir := []string{"/notes", "/few", "/rare/few", "/few rare"}[i%4]
		if i%(n/50) == 0 {
			dir = "/few/rare"
		}
		path := fmt.Sprintf("%s/%d.md", dir, i)
		text := Text{Seq: int64(i + 1), Path: memento.Path(path), Contents: "words that are everywhere, few rare " + strings.Repeat("x ", i%17)}
		x.texts[path], x.seqs[path] = text.Contents, text.Seq
		if i%5 == 0 {
			recent.Put(path, text)
		} else {
			stored.Put(path, text)
		}
	}
	recent.Sort()
	segment := store(t, stored.Source())
	x.parts = []Part{inspectedPart{segment.parse(t, nil).Part(segment.read), x}, inspectedPart{recent, x}}
	return x
}

type inspectedPart struct {
	Part
	x *inspected
}

func (p inspectedPart) Entries(ctx context.Context, docs []uint32) ([]Entry, error) {
	p.x.paths += len(docs)
	return p.Part.Entries(ctx, docs)
}

func (x *inspected) search(t *testing.T, query string) (paths []string) {
	t.Helper()
	lookup := func(ctx context.Context, ids []memento.MemoryID, actors bool) (map[memento.MemoryID]Found, error) {
		x.contents += len(ids)
		found, err := x.lookup(ctx, ids, actors)
		for id, f := range found {
			f.Memory.UpdatedAt, f.Actor = x.made(x.seqs[string(id)])
			found[id] = f
		}
		return found, err
	}
	meeting := func(_ context.Context, c Condition, seqs []int64) (meet []int64, err error) {
		if !slices.IsSorted(seqs) {
			t.Error("seqs are not in order")
		}
		x.asked += len(seqs)
		for _, seq := range seqs {
			if c.Accepts(x.made(seq)) {
				meet = append(meet, seq)
			}
		}
		return meet, nil
	}
	if x.withoutCondition {
		meeting = nil
	}
	found, err := searchParts(t.Context(), x.parts, memento.SearchOptions{Query: query}, lookup, meeting)
	if err != nil {
		t.Fatal(err)
	}
	return order(found)
}

// Contents are read of memories that are below the directory, and meet the condition.
func TestFiltersBeforeContents(t *testing.T) {
	const n = 5000
	x := newInspected(t, n)
	x.made = func(seq int64) (time.Time, memento.Actor) { // times do not rise
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(seq*7919%n))
		if seq%125 == 0 {
			return at, memento.Actor{Kind: memento.ActorUser, ID: "rare"}
		}
		return at, memento.Actor{Kind: memento.ActorUser, ID: "usual"}
	}
	since := "since:" + time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n-40).Format(time.DateOnly)
	for _, test := range []struct {
		filter      string
		want, asked int
	}{
		{"dir:/few/rare", 20, 0},
		{"dir:/notes", 20, 0},
		{"by:rare", 20, n},
		{since, 20, n},
		{"dir:/few/rare by:usual", 20, n}, // the words of the path are those of others, too
		{"by:usual", 20, 8 * 64},
		{"by:nobody", 0, n},
		{"dir:/none by:usual", 0, 0},
	} {
		x.contents, x.asked, x.paths = 0, 0, 0
		got := x.search(t, test.filter+" words that are everywhere")
		contents, asked, paths := x.contents, x.asked, x.paths
		x.withoutCondition = true
		want := x.search(t, test.filter+" words that are everywhere")
		x.withoutCondition = false
		if len(got) != test.want || !slices.Equal(got, want) {
			t.Errorf("%s: %d found, want %d as without a condition: %d", test.filter, len(got), test.want, len(want))
		}
		if contents > 2*readAtOnce || asked > test.asked || paths > n*3/5 {
			t.Errorf("%s: %d contents and %d paths read, %d versions asked for", test.filter, contents, paths, asked)
		}
	}
}

func TestIsDense(t *testing.T) {
	for _, test := range []struct {
		seqs []int64
		want bool
	}{
		{nil, false}, {[]int64{5}, false}, {[]int64{1, 1 << 60}, false},
	} {
		if IsDense(test.seqs) != test.want {
			t.Errorf("%v: %v", test.seqs, !test.want)
		}
	}
	var few, most []int64
	for i := range int64(100) {
		few, most = append(few, 10*i), append(most, 2*i)
	}
	if IsDense(few) || !IsDense(most) {
		t.Errorf("%v, %v", IsDense(few), IsDense(most))
	}
}
