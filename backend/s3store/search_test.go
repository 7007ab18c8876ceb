package s3store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/textindex"

	"github.com/google/go-cmp/cmp"
)

// Whatever other processes write, and whether the state is loaded again or was evicted, a
// search with the index finds what one finds that reads all contents.
func TestSearchFollows(t *testing.T) {
	prefix := fmt.Sprintf("search-%d", time.Now().UnixNano())
	ours, other := openHasty(t, prefix, nil, maxAge), openHasty(t, prefix, nil, maxAge)
	ours.keepLog, other.keepLog = keepLog, keepLog // numbers of the log are not free before
	info, err := ours.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "notes", Limits: memento.Limits{Memories: 10_000}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the team met about budget release deploy server customer Häuser running runs database backups on Friday")
	text := func() string {
		var b strings.Builder
		for range 3 + r.IntN(12) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		return b.String()
	}
	path := func() memento.Path { return memento.Path(fmt.Sprintf("/%c/note%d", 'a'+rune(r.IntN(3)), r.IntN(700))) }
	exists := func() memento.Path {
		for {
			if m, err := other.Get(t.Context(), info.ID, memento.ByPath(path())); err == nil {
				return m.Path
			}
		}
	}
	var first []memento.Change
	for i := range 1500 {
		first = append(first, memento.Put{Path: memento.Path(fmt.Sprintf("/%c/note%d", 'a'+rune(i%3), i/3)), Content: text()})
	}
	if _, err := ours.Apply(t.Context(), info.ID, memento.Actor{}, first); err != nil {
		t.Fatal(err)
	}
	found, reloads, evictions, segments := 0, 0, 0, 0
	for round := range 30 {
		b := ours
		if r.IntN(2) == 0 {
			b = other
		}
		var changes []memento.Change
		for range 1 + r.IntN(40) {
			changes = append(changes, memento.Put{Path: path(), Content: text()})
		}
		switch r.IntN(4) {
		case 0:
			changes = []memento.Change{memento.Remove{Path: exists()}}
		case 1:
			changes = []memento.Change{memento.Move{From: exists(), To: memento.Path(fmt.Sprintf("/moved/%d", round))}}
		}
		if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
			t.Fatal(err)
		}
		switch r.IntN(5) {
		case 0:
			reloads++
			expireState(t, ours, info.ID)
			var meanwhile []memento.Change
			for range 30 {
				meanwhile = append(meanwhile, memento.Put{Path: exists(), Content: text()})
			}
			if _, err := other.Apply(t.Context(), info.ID, memento.Actor{}, meanwhile); err != nil {
				t.Fatal(err)
			}
		case 1:
			evictions++
			ours.mu.Lock()
			ours.removeLocked(info.ID)
			ours.mu.Unlock()
		default:
			if _, err := ours.index.Keep(t.Context(), info.ID); err != nil && !errors.Is(err, textindex.ErrRevised) {
				t.Fatal(err)
			}
			segments = max(segments, len(ours.indexes.get(info.ID).stored.Segments))
		}
		query := words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
		opts := memento.SearchOptions{Query: query, Limit: 200}
		var want []memento.Match
		err := ours.indexes.view(t.Context(), info.ID, ours.indexes.snapshot, func(ctx context.Context, now *searchSnapshot) (err error) {
			want, err = scan(ctx, now, opts)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ours.Search(t.Context(), info.ID, opts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d, %q (-want +got):\n%s", round, query, diff)
		}
		found += len(got)
	}
	if found < 2000 || reloads < 3 || evictions < 3 || segments == 0 {
		t.Errorf("%d matches, %d reloads, %d evictions, %d segments", found, reloads, evictions, segments)
	}
}

// expireState makes that the state of a store is loaded again, as if it was not used for long.
func expireState(t *testing.T, b *Backend, id memento.StoreID) {
	t.Helper()
	s, done, err := b.use(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmed = time.Time{}
}
